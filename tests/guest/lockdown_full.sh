#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A kernel that keeps its memory secret (confidentiality): hooks that must read it are refused, with
# the reason; a program is run all the same, and what can be recorded of it is.
# kernels: 6.12
# append: lockdown=confidentiality
set -u

cd "$TMPDIR" || exit 1
trap 'rm -f rows known said trace events' EXIT

fail() {
	echo "$*"
	exit 1
}

# the kernel itself: tracefs shows nothing
grep -q '\[confidentiality\]' /sys/kernel/security/lockdown || fail "not locked down: the test tests nothing"
cat /sys/kernel/tracing/trace 2>/dev/null && fail "tracefs can be read: the kernel is not locked down"

"$XPUGAP" doctor --json >rows
[ $? -eq 1 ] || fail "nothing is missing? $(cat rows)"
jq -e '(.[] | select(.name == "lockdown")) as $l | (.[] | select(.name == "tracefs")) as $t |
	([.[] | select(.kind == "hook" and .state == "missing")]) as $m |
	$l.state == "missing" and $l.found == "confidentiality" and
	($l.remedy | contains("lockdown=integrity")) and
	$t.state == "limited" and $t.found == "locked down" and
	($m | length > 0 and all(.remedy | contains("lockdown (confidentiality)")))' rows >/dev/null ||
	fail "not so: $(cat rows)"

"$XPUGAP" record -o trace -- sh -c 'echo it runs; exit 7' >said 2>&1
grep -q "'sh' exited with status 7" said || fail "the program did not end well: $(cat said)"
grep -qx 'it runs' said || fail "the program did not run: $(cat said)"
"$XPUGAP" list probes --json >known || fail "list"
# those that are off are not asked for
for probe in $(jq -r --slurpfile list known '[$list[0].probes[] | select(.default) | .name] as $on |
	.[] | select(.kind == "hook" and .state == "missing" and (.name | IN($on[]))) | .name' rows); do
	grep -q "cannot attach probe '$probe': .*lockdown (confidentiality)" said ||
		fail "nothing is said of '$probe': $(cat said)"
done
"$XPUGAP" dump trace >events || fail "the trace cannot be read"

"$XPUGAP" record --require task -f -o trace -- echo it runs >said 2>&1 && fail "it made do without 'task'"
grep -qx 'it runs' said && fail "the program ran, though what it was for was missing"
exit 0
