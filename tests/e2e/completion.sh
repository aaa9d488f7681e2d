#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The completion script, sourced and asked as bash asks it.
set -u
shopt -s extglob

source "$BUILD/completion/xpugap" || exit 1
cd "$TMPDIR" && mkdir dir && touch file || exit 1
trap 'rm -rf dir file' EXIT

# what bash tells a completion function about, we collect
compopt() { options+=" $*"; }

# answers WORD...: the last word is being typed
answers() {
	COMP_WORDS=(xpugap "$@")
	COMP_CWORD=$#
	options=
	COMPREPLY=()
	_xpugap
	printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' '
}

failed=0
expect() {
	local want=$1 got
	shift
	got=" $(answers "$@")"
	# shellcheck disable=SC2053 # a pattern
	if [[ $got != $want ]]; then
		echo "'xpugap $*' gave '$got', expected '$want'"
		failed=1
	fi
}

expect '* help *' ''
expect ' help ' hel
expect '* --version *' -
expect ' --completion= --help --man ' help -
expect ' --man ' help --m
expect '* help *' help ''
expect ' help ' help --man h
expect '  ' no-such-command --

# values: choices, workloads, devices, files, and programs with their own arguments
expect ' full small tiny ' run --size ''
expect ' tiny ' run --size = t
for workload in $("$XPUGAP" list workloads | awk 'NR > 1 { print $1 }'); do
	expect "* $workload *" run ''
done
expect '* cpu *' run --device ''
expect ' dir file ' record --output ''
expect ' file ' record -o f
expect '* true *' record -- tru
expect '* true *' record --force tru
expect ' file ' record -- true f
expect ' file ' record true f
expect ' file ' dump --json f

# every option of every command is offered, and every command is
for command in $("$XPUGAP" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
	expect "* $command *" "$command"
	for name in $("$XPUGAP" "$command" --help | sed -n 's/^  \(-., \|    \)\(--[a-z][a-z0-9-]*\).*/\2/p'); do
		expect "* $name?(=) *" "$command" "$name"
	done
done
exit $failed
