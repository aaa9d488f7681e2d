#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# xpugap info: what it counts is what dump prints and what was made; it says first what is missing.
set -u

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

fail() {
	echo "$*"
	exit 1
}

status() {
	want=$1
	shift
	"$@" >out 2>err
	got=$?
	[ $got -eq "$want" ] || fail "'$*' ended with $got, not $want: $(cat err)"
}

all=$("$XPUGAP" info --types | awk '/^[a-z]/ { printf "%s%s", sep, $1; sep = "+" }')
[ -n "$all" ] || fail "no types of records"
"$XPUGAP" record -q -o t.xpt --source \
	"fake:records=30000,rate=1000000,user=3,rings=4,threads=6,lost=4000,types=ioctl*40+$all" ||
	fail "no trace to read"

status 0 "$XPUGAP" info --json t.xpt
cp out info.json
"$XPUGAP" dump --json t.xpt >dump.json 2>/dev/null
cat >check.py <<'PY'
import collections, json, os
info = json.load(open("info.json"))
rows = [json.loads(line) for line in open("dump.json", encoding="utf-8")]
counts = collections.Counter(r["type"] for r in rows)
# every type of record is there, and as often as dump prints it
assert {c["type"]: c["count"] for c in info["counts"]} == counts
assert info["records"] == len(rows) == 30000 + 7 + 6 + 32 + 1, info["records"]
assert info["bytes"] == os.path.getsize("t.xpt")
assert abs(info["bytes_per_record"] - info["bytes"] / len(rows)) < 1e-9
assert info["complete"] is True
assert info["first_ns"] == rows[0]["time_ns"] == info["begin_ns"] == 1000000000
assert info["last_ns"] == rows[-1]["time_ns"]
assert info["duration_ns"] == info["last_ns"] - info["first_ns"]
assert info["cpus"] == 4 and info["user_rings"] == 3
lost = [r["fields"] for r in rows if r["type"] == "lost"]
assert info["lost"]["records"] == sum(f["count"] for f in lost)
by = collections.Counter()
for f in lost:
    by[str(f["hook"]), f["cpu"], f["why"]] += f["count"]  # a number where it has no name
assert {(l["hook"], l["cpu"], l["why"]): l["count"] for l in info["lost"]["by"]} == by
assert info["damage"] == {"head": False, "chunks": 0, "records": 0, "stray_bytes": 0, "unknown_records": 0}
assert info["facts"]["fake.recipe"].startswith("records=30000")
hooks = {h["hook"]: h for h in info["hooks"]}
# the last statement of each hook holds
for r in rows:
    if r["type"] == "hook" and isinstance(r["fields"]["hook"], str):  # one that has a name
        assert r["fields"]["hook"] in hooks
last = {}
for r in rows:
    if r["type"] == "hook_count":
        last[r["fields"]["hook"], r["fields"]["cpu"]] = r["fields"]
for name, h in hooks.items():
    assert h["hits"] == sum(f["hits"] for (hook, _), f in last.items() if hook == name)
PY
python3 check.py || fail "info and dump disagree"

status 0 "$XPUGAP" info t.xpt
sed -n 1p out | grep -q '^trace  *t.xpt (version 1\.[0-9]*)$' || fail "odd first line"
sed -n 2p out | grep -q '^complete  *yes$' || fail "completeness does not come first"
sed -n 3p out | grep -q '^lost  *[0-9]* records were lost' || fail "losses do not come first"
sed -n 4p out | grep -q '^damage  *none$' || fail "damage does not come first"
grep -Eq '^ioctl +syscall +[0-9]+ ' out || fail "no counts"

# through a pipe it says the same, but for the name
# shellcheck disable=SC2002 # a pipe, not a file
cat t.xpt | "$XPUGAP" info --json - >piped.json || fail "no info of a pipe"
sed 's/"trace": "[^"]*"//' info.json >a
sed 's/"trace": "[^"]*"//' piped.json >b
cmp -s a b || fail "a pipe gives another result than a file"

# a killed recording
head -c $(($(wc -c <t.xpt) / 2)) t.xpt >cut.xpt
status 1 "$XPUGAP" info cut.xpt
sed -n 2p out | grep -q '^complete  *no' || fail "a cut trace is called complete"
status 1 "$XPUGAP" info --json cut.xpt
python3 - <<'PY' || fail "a cut trace is called damaged"
import json
info = json.load(open("out"))
assert info["complete"] is False and info["damage"]["chunks"] == 0
assert 0 < info["records"] < 30000
PY
# and repaired
"$XPUGAP" record -q -o mended.xpt --source replay:cut.xpt || fail "cannot replay"
status 0 "$XPUGAP" info --json mended.xpt
python3 - <<'PY' || fail "replaying does not mend"
import json
info = json.load(open("out"))
assert info["complete"] is True and info["facts"]["replay.trace"] == "cut.xpt"
assert "without end" in info["facts"]["replay.damage"]
PY

status 1 "$XPUGAP" info nonexistent.xpt
status 1 "$XPUGAP" info /dev/null
status 0 "$XPUGAP" info --types

# where the library of this build is; a program compiled as it says, and by pkg-config, runs with it
status 0 "$XPUGAP" info --paths
cat >prog.c <<'END'
#include <stdio.h>
#include <xpugap_mark.h>

int main(void)
{
	xpugap_step(7, 0);
	xpugap_step_end(3);
	printf("%d\n", xpugap_recording());
	return 0;
}
END
flags=$(sed -n 's/^compile with *cc prog.c //p' out)
# shellcheck disable=SC2086 # a list of words
gcc -Wall -Werror -o by_hand prog.c $flags || fail "this does not compile: $flags"
# shellcheck disable=SC2046
gcc -Wall -Werror -o by_pc prog.c $(PKG_CONFIG_PATH=$BUILD pkg-config --cflags --libs xpugap_mark) ||
	fail "pkg-config does not know the library of the build"
for program in by_hand by_pc; do
	[ "$(./$program)" = 0 ] || fail "$program does not run"
	"$XPUGAP" record -q -f -e mark -o marked.xpt -- ./$program >said || fail "$program failed"
	[ "$(cat said)" = 1 ] || fail "$program is not recorded"
	[ "$("$XPUGAP" dump -t mark_step marked.xpt | grep -c 'step=7 items=0')" = 1 ] ||
		fail "no step of $program"
done
status 0 "$XPUGAP" info --paths --json
python3 - "$BUILD" <<'PY' || fail "the paths are not those of the build"
import json, os, sys
paths, build = json.load(open("out")), os.path.realpath(sys.argv[1])
assert paths == {
    "library": build + "/libxpugap_mark.so.1", "static_library": build + "/libxpugap_mark.a",
    "header": build + "/include/xpugap_mark.h", "python": build + "/python", "pkg_config": build,
}, paths
PY
exit 0
