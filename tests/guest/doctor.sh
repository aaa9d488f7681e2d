#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every hook attaches under each kernel, on the rung that this kernel is good for, and doctor tells
# what the kernel itself tells.
# kernels: 6.1 6.12
set -u

trap 'rm -f "$TMPDIR/rows"' EXIT
"$XPUGAP" doctor --json >"$TMPDIR/rows" || echo "doctor ended with $?"

holds() {
	jq -e "$1" "$TMPDIR/rows" >/dev/null && return
	echo "not so: $1"
	"$XPUGAP" doctor
	exit 1
}

# which probes there are is said by another command; marks come from programs, not from the kernel
probes=$("$XPUGAP" list probes --json | jq -c '[.probes[] | select(.hook != "mark") | .name] | sort') || exit 1
holds "[.[] | select(.kind == \"hook\") | .name] | sort == $probes and length >= 3"
holds 'all(.[] | select(.kind == "hook"); .state == "ok" and .found == "by tp_btf (rung 0)")'

holds "any(.[]; .name == \"kernel\" and .found == \"$(uname -r) x86_64\")"
for name in btf jit tracefs capabilities; do
	holds "any(.[]; .name == \"$name\" and .state == \"ok\")"
done
# the kernel puts the mode in force into brackets
mode=$(sed 's/.*\[\(.*\)\].*/\1/' /sys/kernel/security/lockdown)
holds "any(.[]; .name == \"lockdown\" and .found == \"$mode\")"
exit 0
