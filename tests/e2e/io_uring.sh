#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Requests through io_uring against the completions that the program itself got: who made them, which
# operation, result, file; by workers, by a thread that polls, that fail, that are completed more than
# once or not told of; those of others are not recorded. THREADS, CHILDREN and ROUNDS may be given.
# timeout: 400
# shellcheck disable=SC2016 # jq has variables of its own
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
[ -e /usr/include/linux/io_uring.h ] || { echo "needs linux/io_uring.h"; exit 77; }
cd "$TMPDIR" || exit 1
threads=${1:-3} children=${2:-2} rounds=${3:-40}
prog=$BUILD/tests/e2e/urings
pids=''
# shellcheck disable=SC2086 # several
trap 'kill $pids 2>/dev/null; wait; rm -rf trace* files out err events others go said' EXIT
: >err
: >others
mkdir files && mkfifo go || exit 1
# shellcheck source=tests/common.sh
. "$SRC/tests/common.sh"

"$prog" silent 1 >out 2>err || {
	grep -q io_uring_setup err || fail "the program"
	echo "nobody may make a ring here: $(cat err)"
	exit 77
}

# holds EXPRESSION: a jq program over the array of records must be true
holds() {
	jq -es "$1" events >/dev/null || { jq -c 'select(.type | startswith("io_uring"))' events | tail -20; fail "not so: $1"; }
}

# record ARGS...: the program, as these say; OPTIONS before it
record() {
	# shellcheck disable=SC2086 # none or several
	for _ in 1 2 3 4 5 6; do
		"$XPUGAP" record -q -f $option --require io_uring -o trace -- "$prog" "$@" >out 2>err ||
			fail "record $option $*"
		"$XPUGAP" dump --json trace >events || fail "dump"
		# classic tracepoints skip what meets another program
		whole io_uring && return
		[ -n "$option" ] || fail "lost"
	done
	fail "lost each time"
}

check() {
	python3 - "$1" "$option" <<'PY' || { tail -5 out; fail "$1 $option"; }
import collections, json, os, re, sys

what, plain = sys.argv[1], bool(sys.argv[2])
OFFSET, ASYNC, SQPOLL, FIXED, LINK, MORE, SILENT, UNSEEN, OVERFLOW = (1 << i for i in range(9))
SQE_FIXED, SQE_LINK, SQE_ASYNC, SQE_SILENT = 1, 4, 16, 64
recs = [json.loads(line) for line in open("events")]
failed = []

def check(ok, *what):
    if not ok:
        failed.append(" ".join(map(str, what)))

# the numbers of operations, from the kernel's own header
header = open("/usr/include/linux/io_uring.h").read()
names = re.findall(r"IORING_OP_(\w+),", re.search(r"enum io_uring_op \{(.*?)IORING_OP_LAST", header, re.S)[1])
number = {name.lower(): i for i, name in enumerate(names)}

hook = [r["fields"] for r in recs if r["type"] == "hook" and r["fields"]["hook"] == "io_uring"][-1]
check((hook["rung"], hook["way"]) == ((1, "tracepoint") if plain else (0, "tp_btf")), "attached:", hook)
lines = [line.split() for line in open("out")]
threads = {int(l[1]): int(l[2]) for l in lines if l[0] == "thread"}
said = collections.Counter()

# the device of files as the kernel holds it: overlay and btrfs show others to stat()
mounts = {f[4]: f[2] for f in (line.split() for line in open("/proc/self/mountinfo"))}
here = os.path.realpath("files")
while here not in mounts:
    here = os.path.dirname(here)
shown = {os.stat(f"files/{name}").st_dev for name in os.listdir("files")}

def device(dev):
    major, minor = dev >> 20, dev & 0xfffff
    if os.makedev(major, minor) in shown:
        return mounts[here]
    return f"{major}:{minor}" if dev else None

for l in lines:
    if l[0] != "cqe":
        continue
    tid, op, flags, fd, ret, inode, dev, more, asked, offset = map(int, l[1:])
    row = [tid, op, ret, bool(more), bool(flags & SQE_LINK), bool(flags & SQE_SILENT),
           bool(flags & SQE_FIXED), bool(flags & SQE_ASYNC)]
    if not plain:
        row += [fd, inode, device(dev)]
        known = op in (number["read"], number["write"])
        row.append(asked if known or op in (number["send"], number["recv"]) else 0)
        row.append(offset if known or op in (number["readv"], number["writev"]) else None)
    said[tuple(row)] += 1

mine = [dict(r["fields"], r=r, flags=int(r["fields"]["flags"], 0)) for r in recs if r["type"] == "io_uring"]
forked = {r["fields"]["child_tid"]: r["fields"]["child_pid"] for r in recs if r["type"] == "task_fork"}
others = {int(l.split()[1]) for l in open("others") if l.startswith("cqe")}
seen, workers = collections.Counter(), set()
for f in mine:
    r = f["r"]
    tid, flags = r["tid"], f["flags"]
    check(tid not in others, "a request of others", r)
    if what == "polled":
        # the thread is called after the one that made the ring, and is of its process
        # which classic tracepoints do not say of one that is refused as it stands
        check(flags & SQPOLL or (plain and f["op"] == 200), "not flagged as polled", r)
        check(r["comm"].startswith("iou-sqp-"), "not by the thread that polls", r)
        tid = int(r["comm"].rsplit("-", 1)[1])
        check(r["pid"] == threads.get(tid), "the thread is of another process", r)
    else:
        check(not flags & SQPOLL, "polled", r)
    if flags & SILENT and flags & UNSEEN:
        continue
    check(not flags & UNSEEN, "no end", r)
    check(f["start_ns"] < r["time_ns"], "when", r)
    check(flags & OVERFLOW or f["start_ns"] + f["duration_ns"] == r["time_ns"], "how long", r)
    if f["by"] and threads:
        workers.add(f["by"])
        check(f["by"] in threads or forked.get(f["by"]) == r["pid"], "completed by", f["by"], r)
    op = number.get(f["op"], f["op"])
    key = [tid, op, f["ret"], bool(flags & MORE), bool(flags & LINK), bool(flags & SILENT),
           bool(flags & FIXED)]
    if not plain:
        key += [f["fd"], f["inode"], f["dev"], f["asked"], f["offset"] if flags & OFFSET else None]
    seen[tuple(key), bool(flags & ASYNC)] += 1

# what was to be done by a worker was; what was not may have been
for row, n in said.items():
    key, must = row[:7] + row[8:], row[7]
    have = seen[key, True] + (0 if must else seen[key, False])
    if must:
        check(have >= n, "by workers:", have, "of", n, key)
want = collections.Counter()
for row, n in said.items():
    want[row[:7] + row[8:]] += n
got = collections.Counter()
for (key, _), n in seen.items():
    got[key] += n
for key in sorted(set(want) | set(got), key=str):
    check(want[key] == got[key], got[key], "records of", want[key], "completions:", key)
print(what, sys.argv[2], sum(got.values()), "completions, by", len({k[0] for k in got}), "threads and", len(workers), "others")

if what in ("mix", "polled"):
    check(len(threads) == len({k[0] for k in got}) and len(set(threads.values())) > 1, "threads", threads)
    bytes_read = collections.Counter()
    for f in mine:
        if f["op"] == "read" and f["ret"] > 0:
            bytes_read[f["r"]["pid"]] += f["ret"]
    rounds = want.total() // len(threads) // 18
    per = len(threads) // len(set(threads.values()))
    check(set(bytes_read.values()) == {3700 * rounds * per}, "bytes", bytes_read, rounds, per)
if what == "many":
    for op in ("accept", "poll_add"):
        nth = [f["nth"] for f in mine if f["op"] == op]
        check(nth == list(range(1, 7)), op, "completions", nth)
if what == "full":
    full = [l for l in lines if l[0] == "full"][0]
    late = [f for f in mine if f["flags"] & OVERFLOW]
    check(len(late) == int(full[2]) - int(full[3]), len(late), "without room of", full)
    check(all(0 < f["duration_ns"] for f in late), "durations")
if what == "silent":
    made = [int(l[2]) for l in lines if l[0] == "silent"][0]
    gone = [f for f in mine if f["flags"] & UNSEEN]
    left = [r for r in recs if r["type"] == "io_uring_open" and int(r["fields"]["flags"], 0) & SILENT]
    check(len(gone) + len(left) == made, len(gone), "gone,", len(left), "left of", made)
    check(gone and all(f["ret"] == f["duration_ns"] == 0 and f["op"] == "nop" for f in gone), gone[:3])
else:
    check(not any(r["type"] == "io_uring_open" for r in recs), "open")
if not plain:
    files = {(r["fields"]["dev"], r["fields"]["inode"]) for r in recs if r["type"] == "file"}
    about = {(f["dev"], f["inode"]) for f in mine if int(f["mode"], 8) >> 12 == 0o10}
    check(about <= files, "files that are not told of", about - files)
    check(what not in ("mix", "polled", "full", "chain") or about, "no file")
for line in failed[:20]:
    print("FAIL:", line)
sys.exit(bool(failed))
PY
}

for option in '' --no-btf; do
	# all the while another program does the same, which is not recorded
	"$prog" mix files 1 0 $((rounds * 2)) >>others 2>said &
	pids=$!
	record mix files "$threads" "$children" "$rounds"
	wait $pids || fail "the other program: $(cat said)"
	pids=
	check mix
	record mix files 2 1 "$rounds" polled
	check polled
	record many
	check many
	record full files 40
	check full
	record silent 100
	check silent
	record chain files
	check chain
done
option=
[ -s others ] || fail "the other program did nothing"

# what is counted is what there is
"$XPUGAP" info --json trace >out 2>err || fail "info"
n=$(grep -c '"type":"io_uring"' events)
jq -e --argjson n "$n" '.counts | any(.type == "io_uring" and .count == $n)' out >/dev/null || fail "info"
"$XPUGAP" dump -t io_uring trace >out 2>err || fail "dump"
[ "$(grep -c ' io_uring .* op=[a-z]' out)" = "$n" ] || fail "as text: $(tail -3 out)"

# ---- one that is not completed: each file that begins meanwhile tells of it, and so does the end ----

begin() {
	rm -f trace* out err
	"$prog" hang <go >out &
	target=$!
	exec 9>go
	pids=$target
	until_so grep -qs ready out
	"$XPUGAP" record -o trace "$@" -p $target 2>err &
	recorder=$!
	pids="$target $recorder"
	until_so grep -qs '^xpugap: recording' err
	echo go >&9
	until_so grep -qs inside out
	read -r _ tid inode <<<"$(grep inside out)"
}

finish() {
	exec 9>&-
	wait $target || fail "the program ended with $?"
	pids=
}

for option in '' --no-btf; do
	# shellcheck disable=SC2086 # none or one
	begin $option
	kill -INT $recorder
	wait $recorder || fail "the recorder ended with $?"
	pids=$target
	echo go >&9
	finish
	"$XPUGAP" dump --json trace >events || fail "dump"
	holds "[.[] | select(.type | startswith(\"io_uring\"))] | length == 1 and (.[0] |
		.type == \"io_uring_open\" and .tid == $tid and .fields.op == \"read\" and
		.fields.nth == 0 and .fields.start_ns < .time_ns and
		(\"$option\" != \"\" or (.fields.inode == $inode and .fields.asked == 1)))"
done

files() {
	set -- trace.*
	echo $#
}

enough() {
	[ "$(files)" -ge "$n" ]
}

begin --rotate-time 100ms
n=$(($(files) + 4))
until_so enough
echo go >&9
finish
wait $recorder || fail "the recorder ended with $?"
for f in trace.*.xpt; do
	"$XPUGAP" dump --json "$f" 2>err | sed "s/^/$f /" || fail "dump $f"
done >events
python3 - "$tid" "$inode" <<'PY' || fail "in several files"
import collections, json, sys

tid, inode = map(int, sys.argv[1:])
files = collections.OrderedDict()
for line in open("events"):
    name, text = line.split(" ", 1)
    files.setdefault(name, []).append(json.loads(text))
every = [r for records in files.values() for r in records]
ended = [r for r in every if r["type"] == "io_uring"]
bad = []
if len(ended) != 1 or ended[0]["tid"] != tid or ended[0]["fields"]["ret"] != 1:
    bad.append(f"its end: {ended}")
else:
    begun, end = ended[0]["fields"]["start_ns"], ended[0]["time_ns"]
    within = 0
    for name, records in files.items():
        head = records[0]["time_ns"]
        told = [r for r in records if r["type"] == "io_uring_open" and r["time_ns"] == head]
        if not begun < head < end:
            if told:
                bad.append(f"{name}: open, though it is not")
            continue
        within += 1
        over = any(r["type"] == "io_uring" for r in records)
        if [r["fields"]["start_ns"] for r in told] != [begun] and not over:
            bad.append(f"{name}: at its head {told}")
        if any(r["fields"]["inode"] != inode or r["tid"] != tid for r in told):
            bad.append(f"{name}: {told}")
    if within < 3:
        bad.append(f"only {within} files begin meanwhile")
print("\n".join(bad))
sys.exit(bool(bad))
PY

# ---- not asked for, not recorded ----

"$XPUGAP" record -q -f -e task,file -o trace -- "$prog" silent 3 >out 2>err || fail "without it"
"$XPUGAP" dump --json trace >events
holds 'any(.type | startswith("io_uring")) | not'
exit 0
