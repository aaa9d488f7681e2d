#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Mappings against what /proc says of them, build ids against readelf's: of a program from its
# beginning on, of one that runs already, of one whose file is gone.
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
command -v readelf >/dev/null || { echo "needs readelf"; exit 77; }
command -v gcc >/dev/null || { echo "needs gcc"; exit 77; }
cd "$TMPDIR" || exit 1
pids=
# shellcheck disable=SC2086 # several
trap 'kill $pids 2>/dev/null; wait; rm -f t out err events in libmine.so gone ids' EXIT

# shellcheck source=tests/common.sh
. "$SRC/tests/common.sh"

echo 'int mine(void) { return 1; }' | gcc -shared -fPIC -Wl,--build-id=sha1 -x c -o libmine.so - ||
	exit 1
loads=$BUILD/tests/e2e/loads

# compare KIND PID: the events against what the program printed of itself
compare() {
	"$XPUGAP" dump --json t >events || fail "dump"
	KIND=$1 PID=$2 python3 - <<'EOF' || fail "not what /proc says ($1)"
import json, os, re, subprocess, sys

kind, pid = os.environ["KIND"], int(os.environ["PID"])
want, loops = {}, []
for line in open("out"):
    m = re.match(r"([01]) (\w+)-(\w+) (....) (\w+) (\w+):(\w+) (\d+) *(.*)$", line)
    if not m:
        continue
    begin, end, pgoff, ino = int(m[2], 16), int(m[3], 16), int(m[5], 16), int(m[8])
    it = (begin, end - begin, pgoff, m[9] or "//anon")
    if m[1] == "1":
        loops.append((it, ino))
    else:
        want[it] = ino
got, order, fail, lost, present = {}, [], [], 0, 0
for line in open("events"):
    r = json.loads(line)
    f = r["fields"]
    lost += f["count"] if r["type"] == "lost" and f["hook"] == "sideband" else 0
    if r["type"] != "map" or f["pid"] != pid:
        continue
    it = (int(f["addr"], 0), int(f["len"], 0), int(f["pgoff"], 0), f["path"])
    present += int(f["flags"], 0) & 1
    if it[3].endswith("/libmine.so"):
        order.append((it, f["inode"]))
    got[it] = f
if lost:
    fail.append(f"{lost} lost")

ids = {}
def build_id(path):
    if path not in ids:
        text = subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout
        m = re.search("Build ID: ([0-9a-f]+)", text)
        ids[path] = m[1] if m else ""
    return ids[path]

for it, ino in want.items():
    if it[3] == "[vsyscall]" and kind == "launched":
        continue  # no mapping that anybody made
    f = got.get(it)
    if not f:
        fail.append(f"not recorded: {it}")
        continue
    path = "ids" if it[3].endswith("gone (deleted)") or it[3].endswith("/gone") else it[3]
    if ino and f["build_id"] != build_id(path):
        fail.append(f"{it[3]}: build id {f['build_id']} instead of {build_id(path)}")
    if ino and f["inode"] != ino:
        fail.append(f"{it[3]}: inode {f['inode']} instead of {ino}")
if kind == "launched" and order != loops:
    fail.append(f"of {len(loops)} times that the library was loaded {len(order)} were recorded, or elsewhere")
if kind == "launched" and present or kind != "launched" and not present:
    fail.append(f"{present} mappings are said to have been there before")
if len(want) < 4 or (kind == "launched" and len(loops) != 300):
    fail.append("the program did not do what it should")
print(f"{kind}: {len(want)} mappings, {len(loops)} loads, {len(got)} recorded")
print("\n".join(fail[:10]))
sys.exit(bool(fail))
EOF
}

# ---- from the beginning on, with a library loaded again and again ----

# shellcheck disable=SC2016 # for that shell to expand
"$XPUGAP" record --require map -o t -- sh -c 'echo pid $$; exec "$@"' sh "$loads" "$PWD/libmine.so" 300 \
	>out 2>err <<<"end" || fail "recording it"
compare launched "$(sed -n 's/^pid //p' out)"
# all that perf tells of the tasks is what the hook tells
jq -es '[.[] | select(.type == "task_exit")] | length > 0' events >/dev/null || fail "no end"
jq -es '([.[] | select(.type == "task_exec")] | length) ==
	([.[] | select(.type == "map_comm" and .fields.flags == "0x2")] | length)' events >/dev/null ||
	fail "programs run, by the hook and by perf"

# a tree: tasks that perf tells of are those of the hook
"$XPUGAP" record -f -e task,map -o t -- "$BUILD/tests/e2e/ioctl_tree" 20 3 1 >out 2>err || fail "a tree"
"$XPUGAP" dump --json t >events || fail "dump"
jq -es '([.[] | select(.type == "task_fork") | .fields.child_tid] | sort) ==
	([.[] | select(.type == "map_fork") | .fields.child_tid] | sort) and
	([.[] | select(.type == "task_exit") | .tid] | sort) ==
	([.[] | select(.type == "map_exit") | .tid] | sort)' events >/dev/null || fail "tasks of perf and of the hook"

# ---- of what runs already, and of a file that is gone ----

cp "$loads" gone
cp gone ids
mkfifo in
LD_LIBRARY_PATH=$BUILD ./gone "$PWD/libmine.so" 0 <in >out &
pid=$!
pids=$pid
exec 3>in
until_so grep -q ready out
rm gone
sed -i 's,/gone$,/gone (deleted),' out
rm -f err
"$XPUGAP" record -f -e map -o t -p $pid 2>err &
recorder=$!
until_so grep -qs '^xpugap: recording' err
echo end >&3
exec 3>&-
wait $pid || fail "the program"
pids=
wait $recorder || fail "the recorder"
compare attached $pid

# ---- what stands in its way is said ----

if command -v setpriv >/dev/null && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ]; then
	chmod 755 . && cp "$XPUGAP" xpugap && chmod 755 xpugap
	setpriv --reuid 65534 --regid 65534 --clear-groups ./xpugap record -e map -o /dev/null -f -- true 2>err
	rm -f xpugap
	grep -q "cannot attach probe 'map': needs CAP_PERFMON" err || fail "without rights nothing is said"
fi
exit 0
