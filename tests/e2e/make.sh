#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The build itself: what a change makes anew, and where it writes.
# timeout: 600
set -u

tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
cd "$SRC" || exit 1

fail() {
	echo "$*"
	exit 1
}

# the sources that make would compile for the program if the files given were new
compiled() {
	local file args=()
	for file; do
		args+=(-W "$file")
	done
	$SUBMAKE -n V=1 "${args[@]}" all |
		sed -n 's/.* -c -o [^ ]*\/obj\/[^ ]*\.o \([^ ]*\.c\)$/\1/p' | sort -u
}

# which source reads which file, as the preprocessor has it
for source in userspace/main.c userspace/*/*.c workloads/*/*.c analysis/*.c analysis/*/*.c; do
	[ -f "$source" ] || continue
	gcc -I. "-I$BUILD/gen" -D_GNU_SOURCE -MM "$source" | tr ' ' '\n' |
		sed -n "s|^\(.*/gen/\)\{0,1\}\([^ ].*\.h\)$|\2 $source|p"
done >"$tmp/reads"

readers() {
	sed -n "s|^$1 ||p" "$tmp/reads" | sort -u
}

[ -z "$(compiled)" ] || fail "a finished build would compile again: $(compiled)"

for header in userspace/lib/wrap.h userspace/cmd/cmd.h bpf/include/events.h; do
	diff <(readers $header) <(compiled $header) >"$tmp/diff" ||
		fail "'$header' new: readers (<) and what make compiles (>) differ:
$(cat "$tmp/diff")"
	[ -n "$(compiled $header)" ] || fail "nothing reads '$header'"
done

# an eBPF program: its object and those that include it, their skeletons, and who reads these
for source in bpf/hooks/*.bpf.c; do
	objects=$(echo "$source" && grep -l "#include \"$source\"" bpf/hooks/*.bpf.c)
	steps=$($SUBMAKE -n V=1 -W "$source" all)
	made=$(sed -n 's|.* gen skeleton .*/\(bpf/hooks/[^ ]*\)\.bpf\.o .*|\1.bpf.c|p' <<<"$steps")
	[ "$(sort <<<"$made")" = "$(sort <<<"$objects")" ] ||
		fail "'$source' new: it makes skeletons of $made"
	for object in $objects; do
		readers "${object%.bpf.c}.skel.h"
	done | sort -u >"$tmp/readers"
	diff "$tmp/readers" <(compiled "$source") >"$tmp/diff" ||
		fail "'$source' new: readers of skeletons (<) and what make compiles (>) differ:
$(cat "$tmp/diff")"
done

# other flags are another build, fewer sources another library
$SUBMAKE -n V=1 CFLAGS=-DOTHER all | grep -q -- -DOTHER || fail "flags go unnoticed"

# a build elsewhere writes nowhere else
touch "$tmp/stamp"
sleep 0.01
$SUBMAKE O="$tmp/out" "$tmp/out/obj/userspace/lib/opt.o" "$tmp/out/libxpugap_mark.so" >"$tmp/log" 2>&1 ||
	fail "$(cat "$tmp/log")"
[ -s "$tmp/out/libxpugap_mark.so.1" ] || fail "O= was not heeded"
written=$(find . -path ./.git -prune -o -newer "$tmp/stamp" -type f -print | grep -v "^./${BUILD##*/}/")
[ -z "$written" ] || fail "a build in O= wrote: $written"

# help and clean need no library and make no folder
for goal in help clean; do
	PKG_CONFIG=false $SUBMAKE O="$tmp/none" $goal >"$tmp/log" 2>&1 || fail "$(cat "$tmp/log")"
	[ ! -e "$tmp/none" ] || fail "'make $goal' made its build folder"
done
PKG_CONFIG=false $SUBMAKE O="$tmp/none" >"$tmp/log" 2>&1 && fail "it built without libbpf"
grep -q 'missing: .*libbpf.*scripts/setup' "$tmp/log" || fail "no remedy: $(cat "$tmp/log")"
exit 0
