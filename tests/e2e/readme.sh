#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The programs that README.md shows: the Python one is recorded, the C line compiles and marks.
set -u

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
	echo "FAIL: $*"
	cat "$dir"/*.py "$dir/err" 2>/dev/null
	exit 1
}

{
	echo 'loader, losses = [[0] * n for n in (3, 4, 5)], iter((0.5, 0.25, 0.125))'
	printf 'def train(batch):\n    return next(losses)\n\n\n'
	# shellcheck disable=SC2016 # not a substitution
	sed -n '/^```python$/,/^```$/p' "$SRC/README.md" | sed '/^```/d'
} >"$dir/train.py"
"$XPUGAP" record -q -e mark -o "$dir/py.xpt" -- python3 "$dir/train.py" 2>"$dir/err" ||
	fail "the Python program fails"
"$XPUGAP" dump --json "$dir/py.xpt" 2>>"$dir/err" | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
def fields(kind, *names):
    return [tuple(r["fields"][n] for n in names) for r in rows if r["type"] == kind]
end = 2**64 - 1
assert fields("mark_step", "step", "items") == [(0, 0), (1, 3), (2, 4), (end, 5)], rows
assert fields("counter", "value") == [(0.5,), (0.25,), (0.125,)], rows
assert len(fields("range_begin")) == len(fields("range_end")) == 3, rows
' 2>>"$dir/err" || fail "it is not recorded as it reads"

cat >"$dir/prog.c" <<'END'
#include <xpugap_mark.h>

int main(void)
{
	for (uint64_t i = 0; i < 3; i++)
		xpugap_step(i, i ? 8 : 0);
	xpugap_step_end(8);
	return 0;
}
END
line=$(sed -n 's/^cc prog.c \(.*\)  # not installed$/\1/p' "$SRC/README.md")
[ -n "$line" ] || fail "README.md shows no line for C"
line=${line/PKG_CONFIG_PATH=build/PKG_CONFIG_PATH=\$BUILD}
(cd "$dir" && eval "gcc -Wall -Werror -o prog prog.c $line") 2>"$dir/err" || fail "this does not compile: $line"
"$XPUGAP" record -q -e mark -o "$dir/c.xpt" -- "$dir/prog" 2>"$dir/err" || fail "the C program fails"
[ "$("$XPUGAP" dump -t mark_step "$dir/c.xpt" | wc -l)" = 4 ] || fail "its steps are not recorded"
exit 0
