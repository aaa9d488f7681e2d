#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kill -9 of the recorder, 20 times at random moments: the target lives on, the trace opens and
# lacks at most its last second and nothing before, and nothing is left in the kernel.
# timeout: 300
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
target=
trap 'kill -9 $target 2>/dev/null; wait; rm -f trace out err events ids' EXIT
bpftool=$(PATH=$PATH:/usr/sbin:/sbin command -v bpftool) || { echo "needs bpftool"; exit 77; }

fail() {
	echo "FAIL: $*"
	cat err
	exit 1
}

# ids of what the recorder holds in the kernel, "prog 12"
ids_of() {
	cat /proc/"$1"/fdinfo/* 2>/dev/null | sed -n 's/^\(prog\|map\|link\)_id:[[:space:]]*/\1 /p' | sort -u
}

gone() {
	local kind
	for kind in prog map link; do
		"$bpftool" -j $kind show | jq -r --arg k $kind '.[] | "\($k) \(.id)"'
	done | sort | comm -12 - ids | grep -q . && return 1
	return 0
}

worst=0
for run in $(seq 20); do
	rm -f trace out
	"$XPUGAP" record -o trace -- sh -c "echo \$\$; exec '$BUILD/tests/bench/ioctl_loop' 60 -1 20000" >out 2>err &
	recorder=$!
	for _ in $(seq 200); do
		target=$(cat out 2>/dev/null)
		[ -n "$target" ] && [ "$(cat /proc/"$target"/comm 2>/dev/null)" = ioctl_loop ] && break
		sleep 0.05
	done
	[ -n "$target" ] || fail "the target did not start"
	read -r begin _ </proc/uptime
	[ "$run" = 1 ] || sleep 0.$((RANDOM % 90 + 10)) # once at once
	ids_of $recorder >ids
	[ "$(grep -c prog ids)" -ge 8 ] || fail "holds only $(cat ids)"
	read -r now _ </proc/uptime # right before: a program that tells the time may take a second
	kill -9 $recorder
	wait $recorder 2>/dev/null
	sleep 0.2
	kill -0 "$target" || fail "run $run: the target died too"
	for _ in $(seq 50); do
		gone && break
		sleep 0.1
	done
	gone || fail "run $run: left in the kernel: $(cat ids)"
	kill "$target"
	"$XPUGAP" dump --json -t "ioctl,lost" trace >events 2>err
	grep -q "has no end" err || fail "run $run: the trace does not open"
	missing=$(python3 - "$begin" "$now" 2>&1 <<'PY'
import json, sys

begin, now = (round(float(a) * 1e9) for a in sys.argv[1:])
last, n = begin, 0 # before, there was nothing that could be missing
for line in open("events"):
    r = json.loads(line)
    if r["type"] == "lost" and r["fields"]["hook"] != "lock":
        sys.exit("lost records")
    if r["type"] == "ioctl" and r["comm"] == "ioctl_loop" and r["fields"]["cmd"] == "0x5401":
        if int(r["fields"]["arg"], 0) != n:
            sys.exit(f"call {n} is missing before the end")
        n += 1
    last = max(last, r["time_ns"])
print(now - last)
PY
	) || fail "run $run: $missing"
	[ "$missing" -lt 1000000000 ] || fail "run $run: $missing ns are missing"
	[ "$missing" -gt "$worst" ] && worst=$missing
done
echo "at most the last $((worst / 1000000)) ms were missing"
