#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# All at once, with all default probes, while other work loads the machine: calls, faults, context
# switches, bytes read of each file system and of the disk, processes and threads, against what the
# program, getrusage() and /proc counted over the same time.
# timeout: 300
set -u
# shellcheck source=tests/common.sh
. "$SRC/tests/common.sh"

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
dev=$(stat -c '%Hd:%Ld' .)
[ -e "/sys/dev/block/$dev" ] || { echo "$TMPDIR is not on a disk"; exit 77; }
load=
finish() {
	# shellcheck disable=SC2086 # a list of words
	[ -z "$load" ] || kill $load 2>/dev/null
	wait
	umount memory 2>/dev/null
	rm -rf disk memory trace out err events
}
trap finish EXIT
mkdir disk memory
mount -t tmpfs none memory || { echo "no tmpfs may be mounted here"; exit 77; }

# calls and cpu time, faults, and a disk that others read, too
dd if=/dev/zero of=disk/others bs=1M count=16 conv=fsync 2>err || fail "no room"
for _ in $(seq "$(nproc)"); do
	"$BUILD/tests/bench/ioctl_loop" 250 >/dev/null &
	load="$load $!"
done
(
	trap 'exit 0' TERM
	while dd if=disk/others of=/dev/null bs=64k iflag=nocache 2>/dev/null; do :; done
) &
load="$load $!"

# an interrupt that completes a request may meet a program, or a task, in which the kernel runs none
for _ in 1 2 3 4 5 6; do
	"$XPUGAP" record -q -f --require task,sched,ioctl,file,fault,block -o trace -- \
		"$BUILD/tests/e2e/counts" disk memory >out 2>err || fail "record"
	"$XPUGAP" dump --json trace >events || fail "dump"
	# what each cpu's hooks say at last of how much they lost is what was told of it
	jq -es '([.[] | select(.type == "lost" and (.fields.why | IN("ring", "state"))) | .fields.count] | add // 0) ==
		([.[] | select(.type == "hook_count") | .fields] | group_by(.hook, .cpu) | map(last.lost) |
		add)' events >/dev/null || fail "losses: $(grep '"hook_count"\|"type":"lost"' events)"
	# every hit of a hook became a record, or was lost for want of room
	jq -es '[.[] | select(.type == "hook_count" and .fields.hook != "mark") | .fields] |
		all(.records <= .hits)' events >/dev/null || fail "hits: $(grep '"hook_count"' events)"
	whole block && ! grep -q '"block_open"' events && break
done
python3 - <<'PY' || fail "counts"
import collections, json, sys

PREEMPT, PREV = 1, 2
MAJOR, KERNEL, WRITE = 1, 2, 4
recs = [json.loads(line) for line in open("events")]
said = collections.defaultdict(list)
for line in open("out"):
    kind, *values = line.split()
    said[kind].append([int(v, 0) for v in values])
fail = []

def same(what, got, want):
    if got != want:
        fail.append(f"{what}: {got}, the kernel counted {want}")

def flags(r):
    return int(r["fields"]["flags"], 0)

def of(kind):
    by = collections.defaultdict(list)
    for r in recs:
        if r["type"] == kind:
            by[r["tid"]].append(r)
    return by

same("records lost", [r["fields"] for r in recs if r["type"] == "lost"
                      and r["fields"]["hook"] != "lock"], [])
calls, faults, switches = of("ioctl"), of("fault"), of("sched_switch")
kernel_pages = {tid: (lo, pages) for tid, lo, pages in said["kernel"]}
total = collections.Counter()

for tid, first, last, ioctls, minor, major, voluntary, involuntary in said["thread"]:
    at = {int(r["fields"]["arg"], 0): r["time_ns"] for r in calls[tid]
          if r["fields"]["cmd"] == "0x7802"}
    inside = lambda some: [r for r in some[tid] if at[first] < r["time_ns"] < at[last]]
    same(f"{tid} ioctls", sum(r["fields"]["cmd"] == "0x7801" for r in inside(calls)), ioctls)
    left = [r for r in inside(switches) if flags(r) & PREV]
    displaced = sum(flags(r) & PREEMPT for r in left)
    same(f"{tid} voluntary", len(left) - displaced, voluntary)
    same(f"{tid} involuntary", displaced, involuntary)
    # what faulted without an exception before the first one is from before
    mine = inside(faults)
    unseen = sum(r["fields"]["unseen"] for r in mine[1:])
    majors = sum(flags(r) & MAJOR for r in mine)
    same(f"{tid} faults", len(mine) + unseen, minor + major)
    same(f"{tid} major faults", majors, major)
    lo, pages = kernel_pages[tid]
    same(f"{tid} faults of the kernel",
         sum(flags(r) == KERNEL | WRITE for r in mine
             if lo <= int(r["fields"]["address"], 0) < lo + pages * 4096), pages)
    total.update(ioctls=ioctls, minor=minor, major=major, voluntary=voluntary,
                 involuntary=involuntary, kernel=pages)

# bytes by file, and what file system each file is of
names = {(r["fields"]["dev"], r["fields"]["inode"]): r["fields"]["fs_type"] for r in recs
         if r["type"] == "file"}
moved, systems = collections.Counter(), collections.Counter()
for r in recs:
    f = r["fields"]
    if r["type"] == "file_io" and f["ret"] > 0 and f["call"] in ("pread", "pwrite"):
        moved[f["call"], r["tid"], f["dev"], f["inode"]] += f["ret"]
for tid, inode, dev, bytes_read, written in said["file"]:
    dev = f"{dev >> 20}:{dev & 0xfffff}"
    same(f"{tid} bytes read of {dev} {inode}", moved["pread", tid, dev, inode], bytes_read)
    same(f"{tid} bytes written", moved["pwrite", tid, dev, inode], written)
    systems[names.get((dev, inode))] += bytes_read
same("file systems", {"tmpfs", "proc"} < set(systems) and len(systems) == 3 and None not in systems,
     True)

# of the disk: all that all threads read; two of them may have one request for what lies side by side
disk = sum(r["fields"]["bytes"] for r in recs if r["type"] == "block"
           and r["fields"]["op"] == "read")
same("bytes of the disk", disk, said["disk"][0][0])

forks = [r["fields"] for r in recs if r["type"] == "task_fork"]
processes = [f for f in forks if f["child_tid"] == f["child_pid"]]
same("processes, threads", [len(processes), len(forks) - len(processes)], said["forks"][0])
ended = {r["tid"] for r in recs if r["type"] == "task_exit"}
same("ended", {f["child_tid"] for f in forks} - ended, set())

threads = len(said["thread"])
same("threads", threads, said["forks"][0][1])
print(threads, "threads,", dict(total), "bytes by file system", dict(systems), "of the disk", disk)
# each of them happened: otherwise nothing was compared
for what, n in total.items():
    if n < threads:
        fail.append(f"only {n} {what}: the test tested little")
if disk < 1 << 20:
    fail.append(f"only {disk} bytes of the disk: the test tested little")
print("\n".join("FAIL: " + f for f in fail[:20]))
sys.exit(bool(fail))
PY
exit 0
