#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What a user sees first: the list of commands, a command's help, a wrong name, exit codes.
set -u

fail() {
	echo "$*"
	exit 1
}

status() {
	want=$1
	shift
	"$@" >"$TMPDIR/out" 2>"$TMPDIR/err"
	got=$?
	[ $got -eq "$want" ] || fail "'$*' ended with $got, not $want: $(cat "$TMPDIR/err")"
}

trap 'rm -f "$TMPDIR/out" "$TMPDIR/err"' EXIT

status 0 "$XPUGAP" --help
grep -q '^  help  ' "$TMPDIR/out" || fail "the overview does not name 'help'"
cp "$TMPDIR/out" "$TMPDIR/overview"
status 0 "$XPUGAP" help
cmp -s "$TMPDIR/out" "$TMPDIR/overview" || fail "'help' and '--help' differ"
rm "$TMPDIR/overview"

status 2 "$XPUGAP"
[ ! -s "$TMPDIR/out" ] || fail "usage after an error belongs on standard error"
status 2 "$XPUGAP" hlep
grep -q "unknown command 'hlep', did you mean 'help'?" "$TMPDIR/err" || fail "no suggestion"
status 2 "$XPUGAP" help nonsense-beyond-any-command
status 0 "$XPUGAP" --version
grep -Eqx 'xpugap [0-9]+\.[0-9]+\.[0-9]+' "$TMPDIR/out" || fail "odd version"

# every command that is listed explains itself, with its own usage line first
for command in $("$XPUGAP" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
	status 0 "$XPUGAP" "$command" --help
	head -1 "$TMPDIR/out" | grep -q "^usage: xpugap $command" || fail "'$command' has no usage"
	status 2 "$XPUGAP" "$command" --no-such-option-anywhere
	grep -q "unknown option '--no-such-option-anywhere'" "$TMPDIR/err" ||
		fail "'$command' took an unknown option: $(cat "$TMPDIR/err")"
done

# a reader that goes away, or a full disk, is a failure and says so
"$XPUGAP" help >/dev/full 2>"$TMPDIR/err" && fail "a full disk went unnoticed"
grep -q 'cannot write' "$TMPDIR/err" || fail "a full disk was not named"
