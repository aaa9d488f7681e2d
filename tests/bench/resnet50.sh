#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# How much slower training becomes when all hooks record it.
set -eu

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
"$BUILD/tests/bench/micro/overhead" "${SECONDS_AT_MOST:-900}" 0.005 1 "$TMPDIR/trace.xpt" -- \
	"$XPUGAP" workload resnet50 --size small --stop 1000000 >"$TMPDIR/out"
read -r ratio low high mean mean_low mean_high pairs records lost <"$TMPDIR/out"
pct() { awk -v r="$1" 'BEGIN { printf "%.2f", (r - 1) * 100 }'; }
printf 'resnet50 small, recorded: slow-down at most (upper end of the 95 %% interval)\t%s %%\t<= 2\t%s\n' \
	"$(pct "$high")" \
	"$(pct "$ratio") %, from $(pct "$low") %; mean $(pct "$mean") % ($(pct "$mean_low") to $(pct "$mean_high")); $pairs pairs of steps"
printf 'resnet50 small, recorded: records lost\t%s\t= 0\tof %s\n' "$lost" "$records"
