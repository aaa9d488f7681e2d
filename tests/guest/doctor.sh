#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every hook attaches under each kernel, on the rung that this kernel is good for, and doctor tells
# what the kernel itself tells.
# kernels: 6.1 6.12
set -u

cd "$TMPDIR" || exit 1
trap 'rm -f rows known' EXIT
# jobs can be seen where their scheduler is
modprobe gpu-sched || exit 1
dma="fentry (rung 1)"
[ -d /sys/kernel/tracing/events/dma ] && dma="tp_btf (rung 0)"
"$XPUGAP" doctor --json >rows || echo "doctor ended with $?"
# which probes there are is said by another command; marks come from programs
"$XPUGAP" list probes --json >known || exit 1
# the kernel puts the mode in force into brackets
mode=$(sed 's/.*\[\(.*\)\].*/\1/' /sys/kernel/security/lockdown)

# prints the claims that do not hold
broken=$(jq -r --arg dma "$dma" --arg release "$(uname -r)" --arg mode "$mode" --slurpfile list known '
	[.[] | select(.kind == "hook")] as $hooks |
	[$list[0].probes[] | select(.hook != "mark") | .name] as $probes |
	(.[] | select(.name == "kernel") | .found) as $kernel |
	(.[] | select(.name == "lockdown") | .found) as $lockdown |
	{
		"hooks of each probe": (($hooks | map(.name) | sort) == ($probes | sort)),
		"there are three or more": ($hooks | length >= 3),
		"all are ok": ($hooks | all(.state == "ok" or
			(.state == "limited" and (.name | IN("sample", "pmu"))))), # without a PMU
		"the best way of each": ($hooks | map(select(.name != "sample")) |
			all(.found == "by " +
				({"fault": "perf_event (rung 0)", "map": "perf (rung 0)", "dma": $dma}[.name] // "tp_btf (rung 0)"))),
		"the kernel": ($kernel == "\($release) x86_64"),
		"lockdown": ($lockdown == $mode),
		"what hooks need": ([.[] | select(.name | IN("btf", "jit", "tracefs", "capabilities"))] |
			length == 4 and all(.state == "ok"))
	} | to_entries[] | select(.value | not) | "not so: \(.key)"' rows) || exit 1
[ -z "$broken" ] && exit 0
echo "$broken"
cat rows
exit 1
