#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Marks of a Python program: threads, multiprocessing by fork and by spawn, a program started with
# all descriptors closed; the same program with nobody recording, and without the library. How it
# finds module and library: by the recorder alone, and what of that the user may change.
set -u

command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
	echo "FAIL: $*"
	cat "$dir/err" "$dir/out" 2>/dev/null
	exit 1
}

cat >"$dir/train.py" <<'END'
import multiprocessing
import os
import subprocess
import sys
import threading

import xpugap_mark
from xpugap_mark import counter, role, step, step_end
from xpugap_mark import range as marked


def work(n):
    role("loader")
    for i in range(n):
        with marked("decode"):
            pass
        counter("queue", i)


@marked("forward")
def forward(x):
    if x < 0:
        raise ValueError
    return x


def close_and_mark():
    os.closerange(3, 4096)
    for i in range(20):
        step(i, 1)


def main():
    for i in range(10):
        step(i, items=8)
        forward(i)
        with xpugap_mark.unit(i, "request"):
            now = xpugap_mark.now()
            xpugap_mark.span(0, 0, xpugap_mark.H2D, "copy", now, now + 1, size=4096)
    step_end(8)
    try:
        forward(-1)
    except ValueError:
        pass
    threads = [threading.Thread(target=work, args=(100,)) for _ in range(4)]
    for method, count in (("fork", 3), ("spawn", 2)):
        context = multiprocessing.get_context(method)
        threads += [context.Process(target=work, args=(50,)) for _ in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
        assert getattr(t, "exitcode", 0) == 0
    subprocess.run([sys.executable, __file__, "child"], close_fds=True, check=True)
    if not os.fork():
        close_and_mark()
        os._exit(0)
    assert os.wait()[1] == 0
    print("recording" if xpugap_mark.recording() else "not recording")


if __name__ == "__main__":
    close_and_mark() if len(sys.argv) > 1 else main()
END

# shellcheck disable=SC2016 # python's, not ours
check='
import collections, json, sys
n, names, tids, lost, items = collections.Counter(), {}, collections.Counter(), 0, 0
records = [json.loads(line) for line in sys.stdin]
for r in records:
    n[r["type"]] += 1
    if r["type"] == "mark_step":
        tids[r["tid"]] += 1
        items += r["fields"]["items"]
    lost += r["fields"]["count"] if r["type"] == "lost" else 0
assert lost == 0, lost
assert sorted(tids.values()) == [11, 20, 20], tids
assert items == 10 * 8 + 8 + 2 * 20, items
ranges = 4 * 100 + 5 * 50 + 11
assert n["range_begin"] == n["range_end"] == ranges, n
assert n["counter"] == 4 * 100 + 5 * 50, n
assert n["role"] == 9, n
assert n["unit_begin"] == n["unit_end"] == n["span"] == 10, n
assert n["name"] == 6, n  # loader, decode, queue, forward, request, copy
loaders = {r["tid"] for r in records if r["type"] == "role"}
assert len(loaders) == 9, loaders
'

export PYTHONDONTWRITEBYTECODE=1
unset PYTHONPATH XPUGAP_MARK_LIB
"$XPUGAP" record -q -e mark -o "$dir/a.xpt" -- python3 "$dir/train.py" \
	>"$dir/out" 2>"$dir/err" || fail "the program failed"
grep -qx recording "$dir/out" || fail "the program is not recorded"
"$XPUGAP" dump --json "$dir/a.xpt" 2>"$dir/err" | python3 -c "$check" 2>>"$dir/err" ||
	fail "the trace is not what was marked"

# nobody records; the module finds the library of its own build
PYTHONPATH=$BUILD/python python3 "$dir/train.py" >"$dir/out" 2>"$dir/err" || fail "it failed alone"
grep -qx "not recording" "$dir/out" || fail "something records"

# no library: the program runs, and each process that a recorder waits for says so once
mkdir "$dir/lib"
echo nothing >"$dir/lib/libxpugap_mark.so.1"
cp "$SRC/userspace/mark/python/xpugap_mark.py" "$dir/lib"
export PYTHONPATH=$dir/lib XPUGAP_MARK_LIB=$dir/nowhere.so LD_LIBRARY_PATH=$dir/lib
"$XPUGAP" record -q -e mark -o "$dir/b.xpt" -- \
	python3 "$dir/train.py" >"$dir/out" 2>"$dir/err" || fail "it failed without the library"
grep -qx "not recording" "$dir/out" || fail "something records without a library"
"$XPUGAP" record -q -f -e mark -o "$dir/b.xpt" -- python3 -c '
import xpugap_mark as m
for i in range(3):
	m.step()
	with m.range("x"):
		m.counter("y", 1)
assert m.now() == 0 and m.correlation() == 1 and not m.recording()
' >"$dir/out" 2>"$dir/err" || fail "it failed without the library"
[ "$(grep -c 'xpugap_mark: marks of this program are not recorded' "$dir/err")" = 1 ] ||
	fail "nothing is said of the missing library, or more than once"
grep -q "$dir/nowhere.so" "$dir/err" || fail "it is not said which files were tried"
python3 -c 'import xpugap_mark; xpugap_mark.step(1)' 2>"$dir/err" || fail "it failed alone"
[ -s "$dir/err" ] && fail "it complains where nobody records"
# steps only are asked for elsewhere: the program runs all the same, and there is nothing to say
unset XPUGAP_MARK_LIB LD_LIBRARY_PATH PYTHONPATH
"$XPUGAP" record -q -f -e task -o "$dir/b.xpt" -- python3 -c '
import xpugap_mark
assert not xpugap_mark.recording()' >"$dir/out" 2>"$dir/err" || fail "no module where no marks are asked for"
grep -q xpugap_mark "$dir/err" && fail "it complains where no marks are asked for"

# whatever the Python: one of a virtual environment, which knows no folder of the system's
python3 -m venv --without-pip "$dir/venv" 2>"$dir/err" || fail "no virtual environment"
PYTHONPATH=$dir/mine "$XPUGAP" record -q -f -e mark -o "$dir/c.xpt" -- "$dir/venv/bin/python" -c '
import os, threading, xpugap_mark as m
assert os.environ["PYTHONPATH"].split(":")[0].endswith("/mine"), os.environ["PYTHONPATH"]
assert len(os.environ["PYTHONPATH"].split(":")) == 2, os.environ["PYTHONPATH"]
m.step(2**63 + 5, 1)
for i in range(3):
	m.step(items=4)
m.step_end(4)
t = threading.Thread(target=m.step)
t.start()
t.join()
# what it would do unrecorded it does recorded: nothing but to drop the mark
for bad in (1.5,), ("x",), (b"x",), (1, None), (1, float("nan")):
	m.step(*bad)
m.counter("x", None), m.counter("x", "1"), m.counter("x", 10**400), m.counter(["x"], 1)
m.unit_begin("a"), m.unit_end(1.5), m.unit_handover(None), m.range_begin([]), m.role({})
m.device("cpu", "x"), m.launch(None, 0, 0, "x", 0), m.span(0, 0, 0, "x", "now", 0)
' >"$dir/out" 2>"$dir/err" || fail "it failed in a virtual environment"
[ "$(grep -c 'xpugap_mark: a mark is dropped' "$dir/err")" = 1 ] || fail "dropped marks are not said, or not once"
steps=$("$XPUGAP" dump --json -t mark_step "$dir/c.xpt" |
	python3 -c 'import json, sys
print(*(json.loads(l)["fields"]["step"] for l in sys.stdin))')
[ "$steps" = "9223372036854775813 0 1 2 18446744073709551615 0" ] || fail "the steps are '$steps'"

# what the user has set stays
# shellcheck disable=SC2016 # the inner shell's
{
	"$XPUGAP" record -q -f --no-python -e mark -o "$dir/b.xpt" -- sh -c '
		[ -z "${PYTHONPATH+set}" ] && [ -r "$XPUGAP_MARK_LIB" ]' 2>"$dir/err" || fail "--no-python"
	XPUGAP_MARK_LIB=/mine "$XPUGAP" record -q -f -e mark -o "$dir/b.xpt" -- \
		sh -c '[ "$XPUGAP_MARK_LIB" = /mine ]' 2>"$dir/err" || fail "XPUGAP_MARK_LIB is replaced"
	PYTHONPATH=a:$BUILD/python: "$XPUGAP" record -q -f -e mark -o "$dir/b.xpt" -- \
		sh -c '[ "$PYTHONPATH" = "a:$BUILD/python:" ]' 2>"$dir/err" || fail "the folder stands there twice"
}
exit 0
