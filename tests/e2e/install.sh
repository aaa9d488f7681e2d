#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Install into a folder, use what lies there as a user would, and take it away again.
# timeout: 300
set -u

tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
root=$tmp/root
lib=$root/usr/lib

fail() {
	echo "$*"
	exit 1
}

listing() {
	(cd "$root" && find . ! -type d | sort)
}

# what lay there before stays, and so does a neighbour in our own folder
mkdir -p "$root/usr/bin" "$root/usr/share/doc/xpugap"
echo mine >"$root/usr/bin/neighbour"
echo mine >"$root/usr/share/doc/xpugap/notes"
before=$(listing)

$SUBMAKE -C "$SRC" install DESTDIR="$root" PREFIX=/usr >"$tmp/out" 2>&1 || fail "$(cat "$tmp/out")"

[ "$("$root/usr/bin/xpugap" --version)" = "$("$XPUGAP" --version)" ] || fail "the program does not run"
for page in xpugap xpugap-help; do
	[ -s "$root/usr/share/man/man1/$page.1" ] || fail "no page '$page'"
done
for page in "$SRC"/Documentation/man/*.[1-8]; do
	section=${page##*.}
	cmp -s "$page" "$root/usr/share/man/man$section/${page##*/}" || fail "no page '$page'"
done
[ -s "$root/usr/share/bash-completion/completions/xpugap" ] || fail "no completion"
[ -s "$root/usr/share/doc/xpugap/LICENSES/GPL-2.0-only.txt" ] || fail "no licences"
[ -z "$(find "$root" ! -type l -perm /022)" ] || fail "others may write: $(find "$root" ! -type l -perm /022)"

# a C program by pkg-config, and the same with the static library
cat >"$tmp/prog.c" <<-END
	#include <stdio.h>
	#include <xpugap_mark.h>
	int main(void)
	{
		xpugap_step(0, 0);
		xpugap_step_end(1);
		printf("%d\n", (int)xpugap_recording());
		return 0;
	}
END
export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
flags=$(pkg-config --cflags --libs xpugap_mark) || fail "pkg-config does not know xpugap_mark"
# shellcheck disable=SC2086 # a list of words
gcc -Wall -Werror -o "$tmp/prog" "$tmp/prog.c" $flags || fail "linking failed: $flags"
[ "$(LD_LIBRARY_PATH=$lib "$tmp/prog")" = 0 ] || fail "the linked program does not run"
ldd "$tmp/prog" | grep -q 'libxpugap_mark.so.1' || fail "the program has another soname"
gcc -o "$tmp/static" "$tmp/prog.c" -I"$root/usr/include" "$lib/libxpugap_mark.a" -pthread ||
	fail "linking with the static library failed"
[ "$("$tmp/static")" = 0 ] || fail "the static program does not run"

# what the library exports is what the header declares
exported=$(nm -D --defined-only "$lib/libxpugap_mark.so.1" | awk '{ print $3 }' | sort)
declared=$(grep -o 'xpugap_[a-z_]*(' "$root/usr/include/xpugap_mark.h" | tr -d '(' | sort -u)
[ "$exported" = "$declared" ] || fail "exported and declared differ:
$(diff <(echo "$exported") <(echo "$declared"))"

# the Python module
module=$root/usr/lib/python3/dist-packages
if [ -n "$(ls "$SRC"/userspace/mark/python/*.py 2>/dev/null)" ]; then
	LD_LIBRARY_PATH=$lib PYTHONPATH=$module PYTHONDONTWRITEBYTECODE=1 python3 -c '
import xpugap_mark
assert not xpugap_mark.recording()
' || fail "the Python module does not work"
fi

$SUBMAKE -C "$SRC" uninstall DESTDIR="$root" PREFIX=/usr >"$tmp/out" 2>&1 || fail "$(cat "$tmp/out")"
[ "$(listing)" = "$before" ] || fail "uninstall left or took something:
$(diff <(echo "$before") <(listing))"
