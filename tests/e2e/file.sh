#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Calls about files against the program's own counts, /proc/PID/io and /proc/PID/mountinfo; file
# systems told apart; one by FUSE that is slow to a known extent.
# shellcheck disable=SC2016 # jq has variables of its own
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
TMPDIR=$(pwd -P)
daemon=
finish() {
	[ -z "$daemon" ] || { kill "$daemon" && wait "$daemon"; } 2>/dev/null
	umount slow over tmp 2>/dev/null
	rm -rf trace out events files slow over tmp said
}
trap finish EXIT

fail() {
	echo "FAIL: $*"
	cat out said 2>/dev/null
	exit 1
}

record() {
	"$XPUGAP" record -q -f --require file -o trace "$@" >out || fail "record $*"
	"$XPUGAP" dump --json trace >events || fail "dump"
}

# fields EXPRESSION: a jq program over the array of records must be true
holds() {
	jq -es "$1" events >/dev/null || fail "not so: $1"
}

# ---- every call: how often, how many bytes, where; by name and by the kernel's own counts ----

mkdir files
record -- "$BUILD/tests/e2e/storage" files </dev/null
python3 - <<'PY' || fail "calls"
import collections, json, os, sys

OFFSET, DIRECT = 1, 2
SIZE, PIECE = 4 << 20, 64 << 10
recs = [json.loads(line) for line in open("events")]
tid = [r["tid"] for r in recs if r["type"] == "task_exit"][-1]
calls = [dict(r["fields"], end=r["time_ns"]) for r in recs
         if r["type"] == "file_io" and r["tid"] == tid]
files = {(r["fields"]["dev"], r["fields"]["inode"]): r["fields"] for r in recs
         if r["type"] == "file"}
phases, fail = {}, []
keys = "inode dev calls bytes begin end read_bytes rchar wchar syscr syscw".split()
for line in open("out"):
    name, *numbers = line.split()
    phases[name] = dict(zip(keys, map(int, numbers)))

def check(ok, *what):
    if not ok:
        fail.append(" ".join(map(str, what)))

def within(phase):
    p = phases[phase]
    return [c for c in calls if p["begin"] <= c["end"] <= p["end"] and c["inode"] == p["inode"]]

def counts(some):
    return dict(collections.Counter(c["call"] for c in some))

check(not any(r["type"] == "lost" and r["fields"]["hook"] == "syscall" for r in recs), "lost")
check(counts(within("write")) == {"pwrite": 64, "fsync": 1}, "write", counts(within("write")))
for phase in ("cold", "warm", "direct"):
    if phase in phases:
        got = within(phase)
        check(counts(got) == {"pread": 64}, phase, counts(got))
        check([c["offset"] for c in got] == list(range(0, SIZE, PIECE)), phase, "offsets")
        check(all(c["ret"] == c["asked"] == PIECE for c in got), phase, "bytes")
        flags = OFFSET | DIRECT if phase == "direct" else OFFSET
        check(all(int(c["flags"], 0) == flags for c in got), phase, "flags")
check(counts(within("sync")) == {"pwrite": 5, "fsync": 3, "fdatasync": 2}, "sync",
      counts(within("sync")))
other = within("other")
check(counts(other) == {"read": 2, "pread": 2, "write": 2, "pwrite": 2, "copy_file_range": 1,
                        "sync_file_range": 1}, "other", counts(other))
check(all(c["ret"] == PIECE for c in other if c["call"] != "sync_file_range"), "other: done")
check(all(c["asked"] == PIECE for c in other), "other: asked")
where = {(c["call"], c["offset"]) for c in other}
check(where == {("read", 0), ("read", PIECE), ("pread", 0), ("write", 0), ("write", PIECE),
                ("pwrite", 0), ("copy_file_range", 0), ("sync_file_range", 0)}, where)

# what the kernel counted from the end of a phase to the end of another; the output is a file, too
first, last = phases["write"], phases["later"]
between = [c for c in calls if first["end"] < c["end"] <= last["end"] and c["ret"] > 0]
moved = {"rchar": ("read", "pread", "copy_file_range"),
         "wchar": ("write", "pwrite", "copy_file_range")}
for key, kinds in moved.items():
    got = sum(c["ret"] for c in between if c["call"] in kinds)
    print(key, got, "of", last[key] - first[key])
    check(got == last[key] - first[key], key)
for key, kinds in (("syscr", moved["rchar"]), ("syscw", moved["wchar"])):
    # those that moved nothing count as well
    got = sum(first["end"] < c["end"] <= last["end"] and c["call"] in kinds for c in calls)
    print(key, got, "of", last[key] - first[key])
    check(got == last[key] - first[key], key)

mounts = {}
for line in open("/proc/self/mountinfo"):
    f = line.split()
    mounts[int(f[0])] = {"dev": f[2], "at": f[4], "type": f[f.index("-") + 1]}
for name, phase in (("file", "write"), ("later", "later")):
    p = phases[phase]
    dev = f"{p['dev'] >> 20}:{p['dev'] & 0xfffff}"
    file = files.get((dev, p["inode"]))
    check(file, "no FILE of", name)
    if not file:
        continue
    mount = mounts[file["mount"]]
    check(file["mount_point"] + file["path"] == os.path.realpath("files/" + name), file)
    check((file["mount_point"] or "/") == mount["at"], file, mount)
    check(file["fs_type"] == mount["type"] and file["dev"] == mount["dev"], file, mount)
opened = [c for c in calls if c["call"] == "open" and c["inode"] == first["inode"]]
check(len(opened) == 1 + ("direct" in phases), len(opened), "times opened")
for line in fail:
    print("FAIL:", line)
sys.exit(bool(fail))
PY

# ---- pipes, sockets and devices are none; what could not be opened is told ----

record -- python3 -c '
import os, socket
r, w = os.pipe()
a, b = socket.socketpair()
null = os.open("/dev/null", os.O_RDWR)
for i in range(500):
    os.write(w, b"x"), os.read(r, 1), os.write(a.fileno(), b"x"), os.read(b.fileno(), 1)
    os.write(null, b"x")
for i in range(3):
    try:
        os.open("/nonexistent/name", os.O_RDONLY)
    except OSError:
        pass
'
holds 'map(select(.type == "file_io" and (.fields.call | IN("read", "write")))) | length < 450'
holds 'map(select(.type == "file") | .fields.mode) | length > 5 and all(test("^0(10|4)"))'
holds '([.[] | select(.type == "file") | .fields | [.dev, .inode]] | unique) as $told |
	([.[] | select(.type == "file_io" and .fields.inode > 0) | .fields | [.dev, .inode]] | unique) - $told
	== []'
holds 'map(select(.type == "file_io" and .fields.call == "open" and
	(.fields.ret == -2 or .fields.ret == "-ENOENT") and .fields.duration_ns > 0)) | length >= 3'

# a file that is made may get the number of one that is gone: it is told of like any other
record -e file -- python3 -c '
import os

def make(path):
    with open(path, "wb") as f:
        f.write(b"x")
        return os.fstat(f.fileno()).st_ino

gone = make("files/gone")
os.unlink("files/gone")
print("same" if make("files/anew") == gone else "other")
'
if grep -q same out; then
	holds 'map(select(.type == "file") | .fields) |
		(map(select(.path | endswith("/files/gone"))) | .[0].inode) as $i |
		map(select(.inode == $i and (.path | endswith("/files/anew")))) | length == 1'
else
	echo "no number came twice: not tested"
fi

# the probe alone, and not at all
record -e file -- cat /etc/passwd
holds 'any(.type == "file" and .fields.path == "/etc/passwd") and (any(.type == "ioctl") | not)'
"$XPUGAP" record -q -f -e task,sched,ioctl -o trace -- cat /etc/passwd >out || fail "without it"
"$XPUGAP" dump --json trace >events
holds 'any(.type == "file_io" or .type == "file") | not'

# ---- file systems ----

mkdir slow over tmp
if mount -t tmpfs none tmp; then
	mkdir tmp/lower tmp/upper tmp/work tmp/deep
	echo hello >tmp/lower/hello
	deep=tmp/$(printf 'deep/%.0s' {1..9})
	mkdir -p "$deep"
	echo hello >"$deep/file"
	record -- cat tmp/lower/hello "$deep/file"
	holds "any(.type == \"file\" and .fields.fs_type == \"tmpfs\" and .fields.fs == \"0x1021994\" and
		.fields.mount_point == \"$TMPDIR/tmp\" and .fields.path == \"/lower/hello\")"
	holds "any(.type == \"file\" and .fields.path == \"/${deep#tmp/}file\")"
	# a path too long keeps its end
	(
		cd tmp || exit 1
		for _ in {1..8}; do
			name=$(printf 'n%.0s' {1..200})
			mkdir "$name" && cd "$name" || exit 1
		done
		echo hello >last
		"$XPUGAP" record -q -f -e file -o "$TMPDIR/trace" -- cat last
	) >out || fail "a long path"
	"$XPUGAP" dump --json trace >events
	holds 'map(select(.type == "file" and (.fields.path | endswith("/last")))) |
		length == 1 and (.[0].fields.path | test("^(n{200}/)+last$"))
		and .[0].fields.mount_point == "" and .[0].fields.fs_type == "tmpfs"
		and (.[0].fields.path | length) > 600'
	if mount -t overlay -o lowerdir=tmp/lower,upperdir=tmp/upper,workdir=tmp/work none over; then
		record -- cat over/hello
		holds "any(.type == \"file\" and .fields.fs_type == \"overlay\" and
			.fields.mount_point == \"$TMPDIR/over\" and .fields.path == \"/hello\")"
	else
		echo "no overlay here: left out"
	fi
fi

# ---- a slow one by FUSE ----

"$BUILD/tests/e2e/fuse_delay" slow 8 >said 2>&1 &
daemon=$!
for ((i = 0; i < 100; i++)); do
	grep -q ready said && break
	kill -0 $daemon 2>/dev/null || break
	sleep 0.1
done
grep -q ready said || { cat said; echo "no FUSE here: the rest is left out"; daemon=; exit 0; }
record -- dd if=slow/slow of=/dev/null bs=4096 count=20
holds '[.[] | select(.type == "file" and .fields.path == "/slow") | .fields] as $f |
	($f | length) == 1 and $f[0].fs_type == "fuse.delay" and $f[0].fs == "0x65735546" and
	$f[0].mount_point == "'"$TMPDIR/slow"'" and
	([.[] | select(.type == "file_io" and .fields.inode == $f[0].inode and
		.fields.dev == $f[0].dev and .fields.call == "read") | .fields]) as $r |
	($r | length) == 20 and ($r | all(.duration_ns >= 8e6 and .ret == 4096 and .fs == $f[0].fs))'
# the daemon woke the reader each time: it is a neighbour, known by name
holds "any(.type == \"task\" and .tid == $daemon and .fields.flags == \"0x2\" and
	.fields.comm == \"fuse_delay\")"
holds "map(select(.type == \"sched_waking\" and .tid == $daemon)) | length >= 20"
kill $daemon && wait $daemon
daemon=
grep -q '^reads 20$' said || fail "asked for other than 20 reads"

# a call that does not return while it is recorded
rm -f said
"$BUILD/tests/e2e/fuse_delay" slow 12000 >said 2>&1 &
daemon=$!
until grep -qs ready said; do sleep 0.1; done
"$XPUGAP" record -q -f -o trace --max-duration 3 -- dd if=slow/slow of=/dev/null bs=512 count=1 \
	2>out
"$XPUGAP" dump --json trace >events
holds '[.[] | select(.type == "file" and .fields.path == "/slow") | .fields.inode] as $i |
	map(select(.type == "file_blocked" and .fields.inode == $i[0])) |
	length == 1 and .[0].fields.asked == 512 and .[0].fields.call == "read" and
	.[0].time_ns - .[0].fields.start_ns > 1e8'
exit 0
