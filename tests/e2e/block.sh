#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Requests to disks against the program's own counts, /proc/PID/io, and the disk's own counters.
# timeout: 300
set -u
# shellcheck source=tests/common.sh
. "$SRC/tests/common.sh"

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
dev=$(stat -c '%Hd:%Ld' .)
[ -e "/sys/dev/block/$dev" ] || { echo "$TMPDIR is not on a disk"; exit 77; }
loop=
daemon=
recorder=
finish() {
	[ -z "$loop" ] || losetup -d "$loop"
	[ -z "$daemon" ] || { kill -CONT "$daemon" && kill "$daemon"; } 2>/dev/null
	[ -z "$recorder" ] || kill "$recorder" 2>/dev/null
	wait
	umount slow 2>/dev/null
	rm -rf trace* out events files go image before after slow said
}
trap finish EXIT

fail() {
	echo "FAIL: $*"
	cat out
	exit 1
}

mkdir -p files && mkfifo go || exit 1

# what workers write later is written while it is recorded, because somebody else wants it so
write_out() {
	local i
	for ((i = 0; i < 300; i++)); do
		grep -q '^later' out 2>/dev/null && break
		sleep 0.1
	done
	sync -f files/later
	echo go
}

record() {
	: >out
	write_out >go &
	"$XPUGAP" record -q -f -o trace "$@" -- "$BUILD/tests/e2e/storage" files <go >out ||
		fail "record $*"
	wait
	"$XPUGAP" dump --json -t 'block*,disk,lost,hook,task_exit' trace >events || fail "dump"
}

check() {
	python3 - "$1" "$dev" <<'PY' || fail "$1"
import json, os, sys

rung, dev = int(sys.argv[1]), sys.argv[2]
SIZE, SYNCS, SYNC, WRITEBACK = 4 << 20, 5, 1, 64
recs = [json.loads(line) for line in open("events")]
blocks = [dict(r["fields"], tid=r["tid"], time=r["time_ns"]) for r in recs if r["type"] == "block"]
phases, fail = {}, []
for line in open("out"):
    name, *numbers = line.split()
    keys = "inode dev calls bytes begin end read_bytes rchar wchar syscr syscw".split()
    phases[name] = dict(zip(keys, map(int, numbers)))
tid = [r["tid"] for r in recs if r["type"] == "task_exit"][-1]

def check(ok, *what):
    if not ok:
        fail.append(" ".join(map(str, what)))

def total(op, phase=None, inode=None, begin=0, end=1 << 63, also=lambda b: True):
    p = phases.get(phase, {"begin": begin, "end": end})
    return sum(b["bytes"] for b in blocks
               if b["op"] == op and b["tid"] == tid and also(b)
               and p["begin"] <= b["time"] <= p["end"] and inode in (None, b["inode"]))

file, later = phases["write"]["inode"], phases["later"]["inode"]
hook = [r["fields"] for r in recs if r["type"] == "hook" and r["fields"]["hook"] == "block"][-1]
check(hook["rung"] == rung, "rung", hook)
check(not any(r["type"] == "lost" and r["fields"]["hook"] == "block" for r in recs), "lost")
check(all(b["tid"] == tid for b in blocks), "requests of others")
check(all(b["device_ns"] > 0 and b["err"] == 0 for b in blocks), "times or errors")
# the kernel's count of what this task made disks read, from its first moment to the end
reads = total("read", end=phases["end"]["end"])
check(reads == phases["end"]["read_bytes"], "read", reads, "of", phases["end"]["read_bytes"])
check(total("read", "cold") == SIZE, "cold", total("read", "cold"))
check(total("read", "warm") == 0, "warm", total("read", "warm"))
if "direct" in phases:
    got = [b for b in blocks if b["op"] == "read"
           and phases["direct"]["begin"] < b["time"] < phases["direct"]["end"]]
    check(len(got) == phases["direct"]["calls"], "direct", len(got))
    check({b["bytes"] for b in got} == {SIZE // 64}, "direct sizes")
    check(all(int(b["flags"], 0) & SYNC and b["inode"] == 0 for b in got), "direct flags")
if rung == 0:
    check(total("write", "write", file) == SIZE, "written", total("write", "write", file))
    check(total("read", "cold", file) == SIZE, "cold: of the file", total("read", "cold", file))
    # nobody but a worker wrote these, for the target that had written the file
    late = [b for b in blocks if b["inode"] == later and b["op"] == "write"]
    check(sum(b["bytes"] for b in late) == SIZE, "later", sum(b["bytes"] for b in late))
    check(all(int(b["flags"], 0) & WRITEBACK and b["by"] not in (0, tid) for b in late), "by", late)
    check(all(b["inode_dev"] == dev for b in late), "device of the file system", late[:1])
    disk = [r["fields"] for r in recs if r["type"] == "disk"]
    names = {d["dev"]: d["name"] for d in disk}
    check(len(disk) == len(names), "a disk told twice")
    check(all(names[b["dev"]] and os.path.exists("/sys/block/" + names[b["dev"]].replace("/", "!"))
              for b in blocks), "names of disks", names)
else:
    check(total("write", "write") >= SIZE, "written", total("write", "write"))
for line in fail:
    print("FAIL:", line)
print(len(blocks), "requests,", reads, "bytes read")
sys.exit(bool(fail))
PY
}

record
check 0
for _ in 1 2 3 4 5 6; do
	record --no-btf
	whole block && break
done
check 1

# ---- what is moved from and to files that are memory: these are not what is read ----

"$XPUGAP" record -q -f -e block -o trace -- python3 - <<'PY' >out 2>&1 || fail "direct I/O of shared memory"
import mmap, os, sys

fd = os.memfd_create("buffer")
os.ftruncate(fd, 1 << 20)
buffer = mmap.mmap(fd, 1 << 20)
try:
    file = os.open("files/file", os.O_RDONLY | os.O_DIRECT)
    assert os.preadv(file, [buffer], 0) == 1 << 20
except OSError as e:
    sys.exit(print("none:", e))
print("memory", os.fstat(fd).st_ino, os.fstat(file).st_ino)
PY
if grep -q ^memory out; then
	"$XPUGAP" dump --json -t block trace >events
	read -r _ memory _ <out
	jq -es "map(select(.fields.op == \"read\" and (.fields.inode == 0 or .fields.inode == $memory)) | .fields) |
		(map(select(.inode == 0) | .bytes) | add) >= 1048576 and all(.inode == 0)" events >/dev/null ||
		{ jq -c .fields events; fail "direct I/O of shared memory"; }
else
	echo "no direct I/O: left out"
fi

# ---- a disk of our own: its counters are of the target's requests, all of them ----

truncate -s 16M image
loop=$(losetup -f --show image 2>/dev/null) || { echo "no loop device: the rest is left out"; exit 0; }
name=${loop#/dev/}
number=$(cat "/sys/block/$name/dev")
for way in "" --no-btf; do
	sync
	for _ in 1 2 3 4 5 6; do
		cat "/sys/block/$name/stat" >before
		# shellcheck disable=SC2086 # no argument where there is none
		"$XPUGAP" record -q -f $way -o trace -- sh -c "
			dd if=/dev/zero of=$loop bs=64k count=32 oflag=direct,dsync
			dd if=$loop of=/dev/null bs=16k count=100 iflag=direct
			dd if=$loop of=/dev/null bs=4k count=7 skip=50 iflag=direct
			" 2>out || fail "record of $loop"
		cat "/sys/block/$name/stat" >after
		"$XPUGAP" dump --json -t 'block*,disk,lost' trace >events || fail "dump"
		whole block && break
		[ -n "$way" ] || fail "lost"
	done
	python3 - "$number" "$name" "$way" <<'PY' || fail "a disk of our own"
import json, sys

dev, name, plain = sys.argv[1], sys.argv[2], bool(sys.argv[3])
before, after = (list(map(int, open(f).read().split())) for f in ("before", "after"))
delta = [a - b for a, b in zip(after, before)]
recs = [json.loads(line) for line in open("events")]
mine = [r["fields"] for r in recs if r["type"] == "block" and r["fields"]["dev"] == dev]
bad = 0
# places in /sys/block/*/stat: requests completed, sectors moved; there a flush is a write, too
for op, made, requests, sectors in (("read", 107, 0, 2), ("write", 32, 4, 6)):
    got = [b for b in mine if b["op"] == op]
    size = sum(b["bytes"] for b in got)
    print(op, len(got), "of", made, size, "of", delta[sectors] * 512)
    bad |= len(got) != made or size != delta[sectors] * 512
    bad |= op == "read" and made != delta[requests]
flushes = sum(b["op"] == "flush" for b in mine)
print("flushes", flushes, "of", delta[15] if len(delta) > 15 else "?")
bad |= not plain and len(delta) > 15 and not 32 <= flushes == delta[15]
names = [r["fields"]["name"] for r in recs if r["type"] == "disk" and r["fields"]["dev"] == dev]
bad |= not plain and names != [name]
bad |= any(r["type"] == "lost" and r["fields"]["hook"] == "block" for r in recs)
sys.exit(bad)
PY
done

# ---- a request that is not completed while it is recorded: its disk is a file of a slow daemon ----

losetup -d "$loop" && loop=
mkdir slow
"$BUILD/tests/e2e/fuse_delay" slow 12000 524288 >said 2>&1 &
daemon=$!
for ((i = 0; i < 100; i++)); do
	grep -q ready said && break
	kill -0 $daemon 2>/dev/null || break
	sleep 0.1
done
grep -q ready said || { cat said; echo "no FUSE here: the rest is left out"; daemon=; exit 0; }
loop=$(losetup -r -f --show slow/slow) || { echo "no disk in a file of FUSE: left out"; exit 0; }
number=$(cat "/sys/block/${loop#/dev/}/dev")
"$XPUGAP" record -q -f -o trace --max-duration 3 -- \
	dd if="$loop" of=/dev/null bs=4096 skip=200 count=1 iflag=direct 2>out
"$XPUGAP" dump --json trace >events
jq -es "map(select(.type == \"block_open\" and .fields.dev == \"$number\")) |
	length == 1 and .[0].fields.sector == 1600 and .[0].fields.bytes == 4096 and
	.[0].fields.op == \"read\" and .[0].fields.issue_ns >= .[0].fields.start_ns and
	.[0].time_ns - .[0].fields.start_ns > 1e8" events >/dev/null || {
	jq -c 'select(.type | startswith("block"))' events
	fail "a request in flight"
}

# ---- the same over several files: each that begins meanwhile tells of it at its head ----

files() {
	set -- trace.*
	echo $#
}

kill -STOP $daemon
"$XPUGAP" record -q -o trace --rotate-time 200ms -- \
	dd if="$loop" of=/dev/null bs=4096 skip=216 count=1 iflag=direct 2>out &
recorder=$!
until grep -q '^ *1 ' "/sys/block/${loop#/dev/}/inflight"; do
	kill -0 $recorder 2>/dev/null || fail "it ended without a request"
	sleep 0.1
done
n=$(files)
until [ "$(files)" -ge $((n + 4)) ]; do
	kill -0 $recorder 2>/dev/null || fail "it ended before the request was answered"
	sleep 0.1
done
kill -CONT $daemon
wait $recorder || fail "record"
recorder=
for f in trace.*.xpt; do
	"$XPUGAP" dump --json "$f" | sed "s/^/$f /" || fail "dump $f"
done >events
python3 - "$number" <<'PY' || fail "a request over several files"
import json, sys

files, done, bad = {}, [], []
for line in open("events"):
    name, text = line.split(" ", 1)
    files.setdefault(name, []).append(json.loads(text))
for number, recs in enumerate(files.values()):
    done += [(number, r["time_ns"] - r["fields"]["queue_ns"] - r["fields"]["device_ns"], r["time_ns"], r["tid"])
             for r in recs if r["type"] == "block" and r["fields"]["sector"] == 1728 and
             r["fields"]["dev"] == sys.argv[1]]
assert len(done) == 1, done
last, start, end, tid = done[0]
begin = [r[0]["time_ns"] for r in files.values()]
# asked is a moment before or after a file begins: the one before may tell of it, the first need not
first = min(i for i, t in enumerate(begin) if t > start)
for number, (name, recs) in enumerate(files.items()):
    head = begin[number]
    opened = [r for r in recs if r["type"] == "block_open" and r["fields"]["dev"] == sys.argv[1]]
    told = [r for r in opened if r["time_ns"] == head]
    if any(r["fields"]["start_ns"] != start or r["tid"] != tid for r in opened):
        bad.append(f"{name}: not that which began at {start}: {opened}")
    if len(told) > (first - 1 <= number <= last) or (first < number <= last and not told):
        bad.append(f"{name}: begins at {head}, tells {len(told)} times of what is from {start} to {end}")
if last < first + 2:
    bad.append(f"{last - first} files of {len(files)} begin meanwhile")
print("\n".join(bad))
sys.exit(bool(bad))
PY
exit 0
