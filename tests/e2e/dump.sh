#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# xpugap dump: text and JSON, filters against an independent reading of the JSON, bad input.
set -u

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

fail() {
	echo "$*"
	exit 1
}

# status WANT COMMAND...: output in $dir/out, messages in $dir/err
status() {
	want=$1
	shift
	"$@" >out 2>err
	got=$?
	[ $got -eq "$want" ] || fail "'$*' ended with $got, not $want: $(cat err)"
}

"$XPUGAP" record -q -o t.xpt --source \
	'fake:records=20000,user=2,rings=3,threads=5,lost=3000,types=ioctl*5+sched_switch*3+span+counter+mark_step' ||
	fail "no trace to read"

# ---- JSON: what a parser of its own makes of it ----

status 0 "$XPUGAP" dump --json t.xpt
grep -q 'records were lost while recording' err || fail "losses were not said"
cat >check.py <<'PY'
import json, sys, fnmatch
rows = [json.loads(line) for line in open("out", encoding="utf-8")]
# 20000 records, 6 losses, 5 tasks, 32 names, 1 fact
assert len(rows) == 20000 + 6 + 5 + 32 + 1, len(rows)
times = [r["time_ns"] for r in rows]
assert times == sorted(times)
assert {r["ring"] for r in rows} == {0, 1, 2, 16384, 16385, 65535}
ioctls = [r for r in rows if r["type"] == "ioctl"]
assert 7000 < len(ioctls) < 11000
for r in ioctls:
    assert r["cpu"] == r["ring"] and r["pid"] == 1000
    assert r["comm"] == "fake-%d" % (r["tid"] - 1000)
    f = r["fields"]
    assert list(f) == ["duration_ns", "ret", "cmd", "fd", "rdev", "mode", "inode", "arg"]
    assert f["cmd"].startswith("0xc01046") and f["mode"] == "020666"
    assert f["rdev"].split(":")[0] == "195" and f["ret"] in (0, -11)
names = {r["fields"]["id"]: r["fields"]["name"] for r in rows if r["type"] == "name"}
assert len(names) == 32
spans = [r["fields"]["name"] for r in rows if r["type"] == "span"]
assert spans and set(spans) <= set(names.values())
json.dump(rows, open("rows.json", "w"))
PY
python3 check.py || fail "the JSON is not as expected"

# count FILTER-IN-PYTHON OPTIONS...: as many lines as the filter lets pass of all
count() {
	passing=$(python3 -c "
import json, fnmatch
print(sum(1 for r in json.load(open('rows.json')) if $1))")
	shift
	status 0 "$XPUGAP" dump "$@" t.xpt
	lines=$(grep -vc '^#' out)
	[ "$lines" -eq "$passing" ] || fail "dump $*: $lines lines, not $passing"
	[ "$passing" -gt 0 ] || fail "dump $*: a filter that lets nothing pass tests nothing"
}

count 'True'
count 'r["type"] == "ioctl"' -t ioctl
count 'r["type"] in ("ioctl", "lost")' --type ioctl,lost
count 'r["type"].startswith("sched_")' -t 'sched_*'
count 'r["tid"] in (1001, 1003)' --tid 1001,1003
count 'r.get("pid") == 1000' -p 1000
count 'r.get("comm") == "fake-2"' --comm fake-2
count 'r["ring"] in (0, 2)' -C 0,2
count 'r["ring"] < 3' --cpu 0-2
count 'r["ring"] in (16384, 16385)' --cpu user
count 'r["ring"] == 65535' --cpu recorder
begin=1000000000
count "r['time_ns'] >= $begin + 5000000" --from 5ms
count "r['time_ns'] <= $begin + 7000000" --to 7ms
count "$begin + 5000000 <= r['time_ns'] <= $begin + 7000000 and r['type'] == 'ioctl' and r['cpu'] == 1" \
	--from 5ms --to @1.007 -t ioctl -C 1
# names that were defined before the window are known in it
status 0 "$XPUGAP" dump --json --from 5ms -t span,ioctl t.xpt
grep -q '"name":"name-' out || fail "a name from before --from is not known"
grep -q '"name":"0x' out && fail "an id was not resolved"
grep -q '"comm":"fake-' out || fail "a task from before --from is not known"

status 0 "$XPUGAP" dump -n 7 -t ioctl t.xpt
[ "$(grep -vc '^#' out)" -eq 7 ] || fail "--limit does not limit"

# ---- text ----

status 0 "$XPUGAP" dump t.xpt
head -1 out | grep -q '^# [0-9]* records were lost' || fail "losses do not come first"
grep -Eq '^ +0\.00[0-9]{7} \[00[0-2]\] fake-[0-4]/100[0-4] +ioctl +duration_ns=[0-9]+ ret=-EAGAIN cmd=0x' out ||
	fail "no line of text as expected"
grep -Eq ' \[u0[01]\] fake-[0-4]/100[0-4] +span +start=0\.0[0-9]{8} end=' out || fail "no span"
grep -Eq ' \[rec\] - +lost +hook=syscall cpu=[0-2] why=ring count=' out || fail "no loss"
status 0 "$XPUGAP" dump -n 1 --time monotonic t.xpt
grep -q '^    1.000000000 ' out || fail "--time monotonic: $(cat out)"
status 0 "$XPUGAP" dump -n 1 --time real t.xpt
grep -Eq '^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{9}Z ' out || fail "--time real: $(cat out)"

# ---- pipes, directories, several traces ----

"$XPUGAP" dump t.xpt >whole
status 0 "$XPUGAP" dump - <t.xpt
grep -q 'records were lost' err || fail "losses of a stream were not said"
# shellcheck disable=SC2002 # a pipe, not a file
cat t.xpt | "$XPUGAP" dump - 2>/dev/null >piped
grep -v '^#' whole | cmp -s - piped || fail "a pipe gives other records than a file"
mkdir d
cp t.xpt d/a.xpt
cp t.xpt d/b.xpt
echo text >d/notes
status 0 "$XPUGAP" dump -t lost d
[ "$(grep -c '^# d/[ab].xpt$' out)" -eq 2 ] || fail "a directory stands for its traces"
status 0 "$XPUGAP" dump --follow -n 3 t.xpt

# ---- strings that a terminal or a parser would choke on ----

"$XPUGAP" record -q -o 'odd.xpt' --source "fake:records=1,seed=$(printf '7,\033[31m"\\\377')" 2>err &&
	fail "such a seed is no number"
grep -q "$(printf '\033')" err && fail "a message passes on what was typed"

# ---- bad input ----

status 1 "$XPUGAP" dump nonexistent.xpt
grep -q "cannot open trace 'nonexistent.xpt': no such file" err || fail "$(cat err)"
status 1 "$XPUGAP" dump
grep -q "'xpugap.xpt'" err || fail "the default is not named"
mkdir empty
status 1 "$XPUGAP" dump empty
grep -q "holds no trace" err || fail "$(cat err)"
: >zero.xpt
status 1 "$XPUGAP" dump zero.xpt
grep -q "is empty: nothing was recorded" err || fail "$(cat err)"
echo 'no trace' >text.xpt
status 1 "$XPUGAP" dump text.xpt
grep -q "'text.xpt' is not a trace" err || fail "$(cat err)"
head -c 5000 t.xpt >cut.xpt
status 1 "$XPUGAP" dump cut.xpt
grep -q "has no end" err || fail "$(cat err)"
{
	head -c 3000 t.xpt
	printf 'XXXX'
	tail -c +3005 t.xpt
} >flipped.xpt
status 1 "$XPUGAP" dump flipped.xpt
grep -q "is damaged: 1 chunk" err || fail "$(cat err)"
[ "$(wc -l <out)" -gt 10000 ] || fail "a damaged chunk cost more than itself"
{
	printf '\211XPT\r\n\032\n\002\000'
	tail -c +11 t.xpt
} >newer.xpt
status 1 "$XPUGAP" dump newer.xpt # its head no longer matches its checksum: that is damage
grep -q "head is damaged" err || fail "$(cat err)"

status 2 "$XPUGAP" dump -t iocl t.xpt
grep -q "did you mean 'ioctl'" err || fail "$(cat err)"
status 2 "$XPUGAP" dump --cpu 3-1 t.xpt
status 2 "$XPUGAP" dump --cpu 99999 t.xpt
status 2 "$XPUGAP" dump --tid x t.xpt
status 2 "$XPUGAP" dump --from yesterday t.xpt
status 2 "$XPUGAP" dump --from 5s --to 1s t.xpt
grep -q "to is before" err || fail "$(cat err)"

# what could not be written is a failure
if [ -w /dev/full ]; then
	"$XPUGAP" dump t.xpt >/dev/full 2>err && fail "a full disk went unnoticed"
	grep -q 'cannot write the output: no space left' err || fail "$(cat err)"
fi
# who has seen enough may go
"$XPUGAP" dump t.xpt 2>err | head -1 >/dev/null
[ ! -s err ] || fail "$(cat err)"
exit 0
