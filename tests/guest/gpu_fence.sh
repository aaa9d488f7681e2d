#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Fences of vgem against the clock of the program that has them signalled.
# kernels: 6.1 6.12
# timeout: 120
set -u
# shellcheck source=tests/common.sh
. "$SRC/tests/common.sh"

cd "$TMPDIR" || exit 1
trap 'rm -f trace out events' EXIT
modprobe vgem || exit 1
for ((i = 0; i < 50; i++)); do
	[ -e /dev/dri/card0 ] && break
	mkdir -p /dev/dri
	# no udev here: what the kernel calls it
	[ -e /sys/class/drm/card0/dev ] && mknod /dev/dri/card0 c "$(cut -d: -f1 </sys/class/drm/card0/dev)" \
		"$(cut -d: -f2 </sys/class/drm/card0/dev)"
	sleep 0.1
done

check() {
	python3 - "$@" <<'PY'
import json, sys

rung, way = int(sys.argv[1]), sys.argv[2]
MADE, WAITED, DROPPED = 1, 2, 4
fail = []

def check(ok, *what):
    if not ok:
        fail.append(" ".join(map(str, what)))

recs = [json.loads(line) for line in open("events")]
names = {r["fields"]["id"]: r["fields"]["name"] for r in recs if r["type"] == "name"}
name = lambda v: names.get(v, v)
hook = [r["fields"] for r in recs if r["type"] == "hook" and r["fields"]["hook"] == "gpu"][-1]
check((hook["rung"], hook["way"]) == (rung, "fence " + way), "attached:", hook)
check(not any(r["type"] == "lost" and r["fields"]["hook"] == "gpu" for r in recs), "lost")
main = [r["tid"] for r in recs if r["type"] == "task_exec"][-1]
flags = lambda r: int(str(r["flags"]), 0)
fences = [dict(r["fields"], tid=r["tid"], time=r["time_ns"]) for r in recs if r["type"] == "fence"]
waits = [dict(r["fields"], tid=r["tid"], time=r["time_ns"]) for r in recs if r["type"] == "fence_wait"]
told = [line.split() for line in open("out")]
runs = [list(map(int, t[1:])) for t in told if t[0] == "wait"]
left = int(told[-1][1])
check(len(runs) == 4 and len(waits) == 4 and len(fences) == 5, len(waits), "waits", len(fences), "fences")
for f in fences:
    check(f["tid"] == main and name(f["driver"]) == "vgem" and name(f["timeline"]) == "unbound", f)
    check(flags(f) & MADE and not flags(f) & DROPPED and f["time"] - f["signalled_ns"] < 1e7, f)
    check(f["seqno"] == 1 and f["emitted_ns"] == 0, "vgem numbers each fence 1 and emits none", f)
for (begin, end, signalled), f, w in zip(runs, fences, waits):
    check(flags(f) & WAITED and f["err"] == 0, f)
    check(f["made_ns"] < begin and signalled < f["signalled_ns"] < end, "signalled", f, signalled, end)
    check(w["tid"] == main and w["made_by"] == main and flags(w) == 0, w)
    check(begin < w["time"] - w["duration_ns"] and signalled < w["time"] < end, "waited", w, begin, end)
    check((w["context"], w["fence"]) == (f["context"], f["fence"]), "for another", w, f)
    check(name(w["driver"]) == "vgem", w)
# XXH64 of the strings, as the mark library computes it
ids = {n: int(i, 0) for i, n in names.items()}
check(ids.get("vgem") == 0xAD0CA89FC3A0DF35 and ids.get("unbound") == 0xB8A4A73871B2D245, "ids", ids)
check(not flags(fences[-1]) & WAITED and fences[-1]["signalled_ns"] > left, "the last", fences[-1])
check(len({f["context"] for f in fences}) == 5, "each has a timeline of its own")
for line in fail:
    print(line)
print(len(fences), "fences,", len(waits), "waits by", way)
sys.exit(bool(fail))
PY
}

for way in 0:tp_btf: 2:tracepoint:--no-btf; do
	IFS=: read -r rung name option <<<"$way"
	for _ in 1 2 3 4 5 6; do
		# shellcheck disable=SC2086 # an option or none
		"$XPUGAP" record -q -f $option -e task,fence --require fence -o trace -- \
			"$BUILD/tests/guest/vgem_fences" >out || exit 1
		"$XPUGAP" dump --json trace >events || exit 1
		whole gpu || continue
		check "$rung" "$name" && continue 2
		# of classic tracepoints kernels before 6.7 skip some without counting them
		[ -n "$option" ] || break
	done
	cat out
	exit 1
done
