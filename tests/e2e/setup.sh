#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# scripts/setup against a package manager of our own making.
set -u

tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/bin"
touch "$tmp/there" "$tmp/calls"

fail() {
	echo "$*"
	cat "$tmp/out"
	exit 1
}

fake() {
	printf '#!/bin/sh\n%s\n' "$2" >"$tmp/bin/$1"
	chmod +x "$tmp/bin/$1"
}

# setup STATUS [ARG...]
setup() {
	local want=$1 got
	shift
	PATH=$tmp/bin:$PATH "$SRC/scripts/setup" "$@" >"$tmp/out" 2>&1
	got=$?
	[ $got -eq "$want" ] || fail "scripts/setup $* ended with $got instead of $want"
}

# shellcheck disable=SC2016 # the fakes expand these
{
	fake dpkg-query 'for p; do :; done; grep -qx "$p" '"$tmp"'/there && printf installed'
	fake apt-get 'echo "$*" >>'"$tmp"'/calls
case "$*" in *" install "*) ;; *) exit 0 ;; esac
for w; do case $w in -*|install|Dpkg*|Acquire*) ;; *) echo "$w" >>'"$tmp"'/there ;; esac; done'
	fake sudo 'exec "$@"'
}

if ! grep -q '^ID=debian' /etc/os-release || ! grep -q '^VERSION_ID="12"' /etc/os-release; then
	setup 1
	grep -q 'libbpf-dev' "$tmp/out" || fail "the packages are not named"
	[ ! -s "$tmp/calls" ] || fail "it called apt-get on a system that it does not know"
	echo "not Debian 12: only the refusal was tested"
	exit 77
fi

setup 0 --dry-run
grep -Eq 'libbpf-dev +loads eBPF programs \(to build\)' "$tmp/out" || fail "no reason given"
grep -q 'libcriterion-dev' "$tmp/out" && fail "tests' packages without --tests"
[ ! -s "$tmp/calls" ] || fail "a dry run called apt-get"

setup 0
grep -q 'install --no-install-recommends -y .*libbpf-dev' "$tmp/calls" || fail "nothing installed"
grep -q 'libcriterion-dev' "$tmp/calls" && fail "tests' packages without --tests"
: >"$tmp/calls"
setup 0
[ ! -s "$tmp/calls" ] || fail "the second time it called apt-get again"
setup 0 --tests
grep -q 'install .*libcriterion-dev' "$tmp/calls" || fail "tests' packages not installed"
grep -q ' libbpf-dev' "$tmp/calls" && fail "what is there was installed again"

: >"$tmp/there"
fake apt-get 'echo "E: no route to host" >&2; exit 100'
setup 1
grep -q 'no route to host' "$tmp/out" || fail "apt-get's own words are lost"
grep -q 'is there a network' "$tmp/out" || fail "no remedy named"
fake apt-get 'exit 0'
setup 1
grep -q 'yet these are missing: gcc' "$tmp/out" || fail "it believed apt-get"
setup 2 --test
exit 0
