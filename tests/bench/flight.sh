#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What a flight recorder costs while nothing happens: cpu time of the recorder, as the kernel counts it
# (getrusage), over 30 s in which its target sleeps; and of all processes of this machine, which is as
# idle as it is. And its memory.
set -eu

measure() {
	python3 - "$@" <<'PY'
import os, sys, time

begin = time.monotonic()
pid = os.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, ru = os.wait4(pid, 0)
took = time.monotonic() - begin
if status:
    sys.exit(f"status {status}")
print(f"{(ru.ru_utime + ru.ru_stime) / took * 100:.3f} {ru.ru_maxrss / 1024:.0f} {took:.1f}")
PY
}

row() {
	printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4"
}

# what it costs to begin and to end is no part of what it costs to wait
begin=$(measure "$XPUGAP" record -q -f -o "$TMPDIR/t" --flight 60s -- sleep 0.1)
whole=$(measure "$XPUGAP" record -q -f -o "$TMPDIR/t" --flight 60s -- sleep 30.1)
share=$(echo "$begin $whole" | awk '{ printf "%.3f", ($4 * $6 - $1 * $3) / ($6 - $3) }')
row "flight: recorder of a sleeping program" "$share %" "<= 0.5" "of one cpu, over 30 s"
row "flight: the same, with beginning and end" "${whole%% *} %" - "of one cpu"
row "flight: its memory" "$(echo "$whole" | cut -d ' ' -f 2) MB" - "with 64 MiB of kernel rings"

all=$(measure "$XPUGAP" record -q -f -o "$TMPDIR/t" --flight 60s --max-duration 30 -a)
row "flight: recorder of all processes" "${all%% *} %" - "over 30 s, with beginning and end"
