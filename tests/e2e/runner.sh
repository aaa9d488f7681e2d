#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The runner of tests itself: what it must call passed, failed and skipped.
set -u

tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/e2e"

fail() {
	echo "$*"
	cat "$tmp/out"
	exit 1
}

# test NAME SHELL-LINE...
new() {
	path=$tmp/e2e/$1.sh
	shift
	printf '#!/bin/sh\n' >"$path"
	printf '%s\n' "$@" >>"$path"
	chmod +x "$path"
}

# expect STATUS LINE...: run the tests and look for the lines
expect() {
	want=$1
	shift
	"$SRC/tests/run" --build "$BUILD" --timeout 3 "$tmp"/e2e/*.sh >"$tmp/out" 2>&1
	got=$?
	[ $got -eq "$want" ] || fail "exit status $got instead of $want"
	for line; do
		grep -Eq "$line" "$tmp/out" || fail "no line '$line'"
	done
	rm -f "$tmp"/e2e/*.sh
}

# shellcheck disable=SC2016 # the tests expand these, not we
{
	new good 'test -x "$XPUGAP" && test -d "$BUILD" && test -d "$TMPDIR" && ! read -r x'
	new tidy 'touch "$TMPDIR/x"; rm "$TMPDIR/x"; sleep 0.01 & wait'
	new absent 'echo no such machine; exit 77'
	expect 0 '^ok +e2e/good' '^ok +e2e/tidy' '^skip +e2e/absent +no such machine$' \
		'^2 passed, 0 failed, 1 skipped$'
	new bad 'echo what it said; exit 3'
	new good 'exit 0'
	expect 1 '^FAIL +e2e/bad +exit status 3$' '    \| what it said' '^1 passed, 1 failed, 0 skipped$'
	new litter 'touch "$TMPDIR/rubbish"'
	expect 1 '^FAIL +e2e/litter +left behind: file rubbish$' '^0 passed, 1 failed, 0 skipped$'
	new orphan 'setsid sleep 61 & exit 0'
	expect 1 '^FAIL +e2e/orphan +left behind: process sleep'
	new slow 'trap "" TERM' 'while :; do sleep 0.2; done'
	new own-limit '# timeout: 1' 'sleep 2'
	expect 1 '^FAIL +e2e/slow +still running after 3 s' '^FAIL +e2e/own-limit +still running after 1 s'
	new killed 'kill -SEGV $$'
	expect 1 '^FAIL +e2e/killed +SIGSEGV'
}
tail -1 "$tmp/out" | grep -qx '0 passed, 1 failed, 0 skipped' || fail "the last line is another"
