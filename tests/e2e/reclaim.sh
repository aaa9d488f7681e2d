#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A program at the limit of its memory cgroup frees, itself, about as much as it reads beyond that.
# shellcheck disable=SC2016 # what is quoted is for another shell
set -u

SIZE=200 LIMIT=32 # MiB

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
case $(stat -f -c %T .) in tmpfs | ramfs) echo "$TMPDIR is in memory: needs a disk" && exit 77 ;; esac
group=
trap 'rm -f file trace; [ -z "$group" ] || rmdir "$group"' EXIT

for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
	for limit in memory.limit_in_bytes memory.max; do
		mkdir "$root/xpugap-test-$$" 2>/dev/null || continue
		group=$root/xpugap-test-$$
		echo ${LIMIT}M >"$group/$limit" 2>/dev/null && break 2
		rmdir "$group"
		group=
	done
done
[ -n "$group" ] || { echo "no cgroup can be made that limits memory"; exit 77; }

# on a file system in memory nothing could be freed
dd if=/dev/zero of=file bs=1M count=$SIZE conv=fsync 2>/dev/null || exit 1
dd if=file iflag=nocache count=0 2>/dev/null
"$XPUGAP" record -q --require task,reclaim -o trace -- \
	sh -c 'echo $$ >"$1/cgroup.procs" && exec cat file >/dev/null' sh "$group" || exit 1
"$XPUGAP" dump --json -t reclaim,lost trace | python3 -c '
import json, sys

size, limit, inode = (int(a) for a in sys.argv[1:])
recs = [json.loads(line) for line in sys.stdin]
mine = [r["fields"] for r in recs if r["type"] == "reclaim" and r["fields"]["cgroup"]]
pages = sum(f["pages"] for f in mine)
beyond = (size - limit) << 20 >> 12
print(len(mine), "times,", pages, "pages of", beyond, "beyond the limit")
fail = []
if any(r["type"] == "lost" and r["fields"]["hook"] != "lock" for r in recs):
    fail.append("records were lost")
if not 0.8 * beyond <= pages <= 2 * beyond:
    fail.append("pages")
if any(f["cgroup"] != inode for f in mine):
    fail.append("of another cgroup")
if not all(0 < f["duration_ns"] < 60e9 for f in mine):
    fail.append("durations")
for line in fail:
    print("FAIL:", line)
sys.exit(bool(fail))
' $SIZE $LIMIT "$(stat -c %i "$group")"
