#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# scripts/vm: what it passes on, how it fails, and that nothing is left of it; and the runner of
# guest tests, when one of them takes its guest down.
# timeout: 600
set -u

vm=$SRC/scripts/vm
trap 'rm -rf "$TMPDIR"/*' EXIT
mkdir "$TMPDIR/bin"

fail() {
	echo "$*"
	cat "$TMPDIR/err"
	exit 1
}

# wrong STATUS WORDS ARG...: it must end with that status and say these words
wrong() {
	local want=$1 words=$2 got
	shift 2
	"$@" >"$TMPDIR/said" 2>"$TMPDIR/err"
	got=$?
	[ $got -eq "$want" ] || fail "'$*' ended with $got instead of $want"
	grep -q -- "$words" "$TMPDIR/err" || fail "'$*' does not say '$words'"
}

fake() {
	printf '#!/bin/sh\n%s\n' "$2" >"$TMPDIR/bin/$1"
	chmod +x "$TMPDIR/bin/$1"
}

# ---- what needs no kernel ----

wrong 125 'no command after' "$vm" --kernel 6.1
wrong 125 'unrecognized arguments: --kernels' "$vm" --kernels 6.1 -- true
wrong 125 'want more than nothing' "$vm" --cpus 0 -- true
"$vm" --help | grep -q -- '--append ARGS' || fail "no help"

ln -s "$(command -v python3)" "$TMPDIR/bin/python3"
wrong 125 "apt-get install qemu-system-x86" env PATH="$TMPDIR/bin" python3 "$vm" -- true
for tool in qemu-system-x86_64 busybox apt-get depmod zstd; do
	[ -n "$(PATH=$PATH:/usr/sbin:/sbin command -v $tool)" ] || { echo "$tool is not installed"; exit 77; }
done

# a mirror of our own making: nothing is fetched that cannot be had
fresh() {
	env PATH="$TMPDIR/bin:$PATH" XDG_CACHE_HOME="$TMPDIR/cache" "$@"
}
fresh "$vm" --list >"$TMPDIR/said" 2>"$TMPDIR/err"
grep -Eq '^6.1 +- +not fetched$' "$TMPDIR/said" || fail "a list of what is not there"
fake apt-get 'case "$*" in *update*) echo "E: no route to host" >&2; exit 100 ;; esac'
wrong 125 'is there a network?): E: no route to host' fresh "$vm" --prepare
# shellcheck disable=SC2016 # the fakes expand these
{
	fake apt-get 'case "$*" in *--print-uris*) echo "'\''x'\'' x 900000000000 SHA256:0" ;;
*indextargets*) echo "bookworm http://mirror.example/debian/" ;; esac'
	fake apt-cache 'case "$*" in *pkgnames*) echo linux-image-6.12.9+deb12-amd64 ;; esac'
}
wrong 125 "the mirror has no kernel '6.1': it has 6.12" fresh "$vm" --prepare --kernel 6.1
grep -q 'http://mirror.example/debian trixie-backports' "$TMPDIR/cache/xpugap/vm/.apt/sources.list" ||
	fail "it does not use the mirror of the system"
wrong 125 'GB free, a kernel needs' fresh "$vm" --prepare --kernel 6.12
[ -z "$(find "$TMPDIR/cache/xpugap/vm" -name '.new-*')" ] || fail "half a kernel was left"
rm "$TMPDIR/bin/apt-get" "$TMPDIR/bin/apt-cache"

# ---- what needs one ----

"$vm" --prepare --kernel 6.12 >"$TMPDIR/said" 2>&1 || { tail -1 "$TMPDIR/said"; exit 77; }

left() {
	find "$TMPDIR" -maxdepth 1 -name 'xpugap-vm.*'
}

# output of both kinds, byte for byte; words with all kinds of characters; files that stay and go
# Without any capability: what root's own user may do.
out=$TMPDIR/o,ut
mkdir "$out" "$TMPDIR/a, b"
cd "$TMPDIR/a, b" || exit 1
words=("a b" "it's" "\"\$HOME\"" $'two\nlines' "")
# shellcheck disable=SC2016 # the guest expands these
inside='pwd; printf "<%s>" "$@"; seq 100000; echo one >/dev/stderr; echo two >/dev/stderr
id -u >/proc/self/fd/2; echo kept >"$0/kept"; echo gone >gone; cat gone; read -r x || exit 7'
setpriv --inh-caps=-all --bounding-set=-all "$vm" --out "$out" -- \
	sh -c "$inside" "$out" "${words[@]}" >"$TMPDIR/said" 2>"$TMPDIR/err"
status=$?
[ $status -eq 7 ] || fail "exit status $status instead of 7"
{ pwd; printf '<%s>' "${words[@]}"; seq 100000; echo gone; } | cmp - "$TMPDIR/said" || fail "output"
[ "$(cat "$TMPDIR/err")" = $'one\ntwo\n0' ] || fail "errors"
[ "$(cat "$out/kept")" = kept ] || fail "the file in the folder of --out"
[ ! -e gone ] || fail "it wrote to the host"
[ -z "$(left)" ] || fail "left: $(left)"
cd "$SRC" || exit 1

# stopped while it runs
running() {
	until pgrep -P "$1" qemu >/dev/null; do
		kill -0 "$1" 2>/dev/null || fail "it ended by itself"
		sleep 0.05
	done
}
for signal in INT:130 TERM:143 HUP:129; do
	"$vm" -- sleep 1000 2>"$TMPDIR/err" &
	pid=$!
	running $pid
	kill -"${signal%:*}" $pid
	wait $pid
	status=$?
	[ $status -eq "${signal#*:}" ] || fail "exit status $status after $signal"
	[ -z "$(left)" ] || fail "left after $signal: $(left)"
done
"$vm" -- sleep 1000 2>"$TMPDIR/err" &
pid=$!
running $pid
qemu=$(pgrep -P $pid qemu)
kill -KILL $pid
wait $pid 2>/dev/null
# it ends with us, even if nobody waits for it
while grep -qs '^State:.[^ZX]' "/proc/$qemu/status"; do sleep 0.05; done
rm -rf "$TMPDIR"/xpugap-vm.*

wrong 124 'still running after 1 s' "$vm" --timeout 1 -- true
wrong 125 'QEMU said: .*nonsense' "$vm" --qemu '-device nonsense' -- true
wrong 125 'is no folder' "$vm" --out "$TMPDIR/none" -- true

# ---- the runner ----

new() {
	printf '#!/bin/sh\n# kernels: 6.12\n%s\n' "$2" >"$TMPDIR/$1.sh"
	chmod +x "$TMPDIR/$1.sh"
}
new a 'echo no such thing; exit 77'
new b 'echo c >/proc/sysrq-trigger; sleep 100'
new c 'uname -r | grep -q ^6.12'
new d 'echo what it said; exit 3'
printf '#!/bin/sh\n' >"$TMPDIR/e.sh"
args=()
for name in a b c d e; do
	args+=(--guest "$TMPDIR/$name.sh")
done
tests/run --build "$BUILD" "${args[@]}" >"$TMPDIR/said" 2>"$TMPDIR/err"
[ $? -eq 1 ] || fail "the runner liked it: $(cat "$TMPDIR/said")"
for line in '^skip +guest/6.12/a +no such thing$' '^FAIL +guest/6.12/b +the guest ended in the middle' \
	"^ +\| vm: the guest's kernel panicked" '^ +\| +\| .*sysrq: Trigger a crash' '^ok +guest/6.12/c' \
	'^FAIL +guest/6.12/d +exit status 3$' '^ +\| what it said$' '^FAIL +guest/e +no line' \
	'^1 passed, 3 failed, 1 skipped$'; do
	grep -Eq "$line" "$TMPDIR/said" || fail "no line '$line': $(cat "$TMPDIR/said")"
done
exit 0
