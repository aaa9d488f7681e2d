#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Marks of a Python program: threads, multiprocessing by fork and by spawn, a program started with
# all descriptors closed; and the same program without the library.
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

export PYTHONPATH=$SRC/userspace/mark/python PYTHONDONTWRITEBYTECODE=1
LD_LIBRARY_PATH=$BUILD "$XPUGAP" record -q -e mark -o "$dir/a.xpt" -- python3 "$dir/train.py" \
	>"$dir/out" 2>"$dir/err" || fail "the program failed"
grep -qx recording "$dir/out" || fail "the program is not recorded"
"$XPUGAP" dump --json "$dir/a.xpt" 2>"$dir/err" | python3 -c "$check" 2>>"$dir/err" ||
	fail "the trace is not what was marked"

# nobody records
LD_LIBRARY_PATH=$BUILD python3 "$dir/train.py" >"$dir/out" 2>"$dir/err" || fail "it failed alone"
grep -qx "not recording" "$dir/out" || fail "something records"

# no library
mkdir "$dir/lib"
cp "$PYTHONPATH/xpugap_mark.py" "$dir/lib"
PYTHONPATH=$dir/lib LD_LIBRARY_PATH="" "$XPUGAP" record -q -e mark -o "$dir/b.xpt" -- \
	python3 "$dir/train.py" >"$dir/out" 2>"$dir/err" || fail "it failed without the library"
exit 0
