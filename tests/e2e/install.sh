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

# the compile line that the program itself prints
line=$("$root/usr/bin/xpugap" info --paths | sed -n 's/^compile with *cc //p')
(cd "$tmp" && eval "gcc -o printed $line") || fail "this does not compile: cc $line"
[ "$("$tmp/printed")" = 0 ] || fail "the program compiled by 'info --paths' does not run"

# the Python module beside Debian's, which finds its library; and with a Python of one's own, by the
# recorder that is installed
module=$root/usr/lib/python3/dist-packages
PYTHONPATH=$module PYTHONDONTWRITEBYTECODE=1 python3 -c '
import xpugap_mark
assert xpugap_mark._lib and not xpugap_mark.recording()
' || fail "the Python module does not work"
python3 -m venv --without-pip "$tmp/venv" || fail "no virtual environment"
"$root/usr/bin/xpugap" record -q -e mark -o "$tmp/a.xpt" -- "$tmp/venv/bin/python" -c '
import sys, xpugap_mark
assert xpugap_mark.__file__.startswith(sys.argv[1] + "/usr/share/xpugap/python/")
assert xpugap_mark._lib._name == sys.argv[1] + "/usr/lib/libxpugap_mark.so.1"
xpugap_mark.step()
assert xpugap_mark.recording()
' "$root" 2>"$tmp/out" || fail "a recorded Python finds no module: $(cat "$tmp/out")"
[ "$("$root/usr/bin/xpugap" dump -t mark_step "$tmp/a.xpt" | wc -l)" = 1 ] || fail "its step is lost"

$SUBMAKE -C "$SRC" uninstall DESTDIR="$root" PREFIX=/usr >"$tmp/out" 2>&1 || fail "$(cat "$tmp/out")"
[ "$(listing)" = "$before" ] || fail "uninstall left or took something:
$(diff <(echo "$before") <(listing))"
