#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The analyses of report: events a second on one cpu, and memory for ten million of them.
set -eu

# the best of five: what else runs here is not their fault
best=0 bytes=0
for _ in 1 2 3 4 5; do
	out=$("$BUILD/tests/bench/micro/steps" 10000000)
	rate=${out%% *}
	rest=${out#* }
	bytes=${rest%% *}
	[ "$rate" -le "$best" ] || best=$rate
done
printf 'report: events analysed per second\t%s\t>= 2000000\tsteps and units, 64 threads on 8 cpus\n' "$best"
printf 'report: memory for 10 million events\t%s\t<= 300000000\tbytes\n' "$bytes"
