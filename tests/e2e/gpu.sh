#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The gpu hook on whatever machine this is: it never fails a recording, and says what it lacks.
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
trap 'rm -f trace out events rows' EXIT

fail() {
	echo "FAIL: $*"
	cat out
	exit 1
}

# by default: fences and jobs, if there can be any, and no memory of devices
for option in '' --no-btf; do
	# shellcheck disable=SC2086 # an option or none
	"$XPUGAP" record -q -f $option -o trace -- true 2>out || fail "record $option"
	"$XPUGAP" dump --json trace >events || fail "dump"
	jq -es 'map(select(.type == "hook" and .fields.hook == "gpu")) | last.fields |
		(.way | contains("dma") | not) and
		(.state == "off" or .state == "attached" or .state == "degraded" or .state == "refused")' \
		events >out || fail "hook $option"
done

# what is asked for by name is attached, or said
for probe in fence job dma; do
	"$XPUGAP" record -f -e $probe -o trace -- true >out 2>&1 || fail "record -e $probe"
	"$XPUGAP" dump --json trace >events || fail "dump"
	if jq -es "map(select(.type == \"hook\" and .fields.hook == \"gpu\")) | last.fields |
			.way | startswith(\"$probe \")" events >/dev/null; then
		"$XPUGAP" record -q -f -e $probe --require $probe -o trace -- true 2>out ||
			fail "--require $probe"
		continue
	fi
	grep -q "cannot attach probe '$probe': ..*; recording without it" out || fail "nothing said of $probe"
	"$XPUGAP" record -q -f -e $probe --require $probe -o trace -- true 2>out && fail "made do without $probe"
done

# the kernel's list of modules says whether there can be jobs
"$XPUGAP" doctor --json >rows
job=$(jq -r '.[] | select(.kind == "hook" and .name == "job") | .state' rows)
if [ -d /sys/module/gpu_sched ]; then
	[ "$job" = ok ] || fail "jobs can be recorded, and doctor says '$job'"
else
	[ "$job" = limited ] || fail "there can be no jobs, and doctor says '$job'"
fi
exit 0
