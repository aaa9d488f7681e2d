#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Jobs that go through the kernel's real scheduler for GPUs, in front of a device that is a timer: how
# many, how long at least in the device, in which order, and one that never ends.
# kernels: 6.1 6.12
# modules: mockgpu
# timeout: 200
set -u
# shellcheck source=tests/common.sh
. "$SRC/tests/common.sh"

cd "$TMPDIR" || exit 1
trap 'rm -f trace out events rows' EXIT

# without the module there is nothing to see: that is no failure, but said where it is asked for
modprobe -r gpu-sched 2>/dev/null
if [ ! -d /sys/module/gpu_sched ]; then
	"$XPUGAP" record -f -e job -o trace -- true 2>out || exit 1
	grep -q "cannot attach probe 'job': no driver is loaded" out || { cat out; exit 1; }
	"$XPUGAP" record -f -e job --require job -o trace -- true 2>out && { echo "not required"; exit 1; }
	"$XPUGAP" doctor --json >rows
	jq -e '.[] | select(.kind == "hook" and .name == "job") | .state == "limited" and
		(.remedy | contains("gpu-sched"))' rows >/dev/null || { cat rows; exit 1; }
fi
modprobe gpu-sched && insmod "$BUILD/tests/guest/modules/$(uname -r)/mockgpu.ko" || exit 1

check() {
	python3 - "$@" <<'PY'
import json, sys

rung, way = int(sys.argv[1]), sys.argv[2]
fail = []

def check(ok, *what):
    if not ok:
        fail.append(" ".join(map(str, what)))

recs = [json.loads(line) for line in open("events")]
names = {r["fields"]["id"]: r["fields"]["name"] for r in recs if r["type"] == "name"}
name = lambda v: names.get(v, v)
hook = [r["fields"] for r in recs if r["type"] == "hook" and r["fields"]["hook"] == "gpu"][-1]
check(hook["rung"] == rung and f"job {way}" in hook["way"], "attached:", hook)
lost = [r["fields"] for r in recs if r["type"] == "lost" and r["fields"]["hook"] == "gpu"]
check(not lost, "lost", lost)
tid = [r["tid"] for r in recs if r["type"] == "task_exit"][-1]
jobs = [dict(r["fields"], end=r["time_ns"], tid=r["tid"]) for r in recs if r["type"] == "job"]
runs = [list(map(int, line.split()[1:])) for line in open("out")]
check(len(jobs) == sum(n for n, _, _ in runs[:2]), len(jobs), "jobs of", runs)
check(all(j["tid"] == tid and name(j["ring"]) == "mock-ring0" for j in jobs), "whose", jobs[:1])
at = 0
for n, us, took in runs[:2]:
    part = sorted(jobs[at : at + n], key=lambda j: j["end"])
    at += n
    for j in part:
        j["begin"] = j["end"] - j["run_ns"]
        j["queued"] = j["begin"] - j["queue_ns"]
    # all were put into the queue before the program waited, and the last ended before it went on
    check(part[-1]["end"] - part[0]["queued"] <= took, n, "jobs took longer than", took)
    # the device does one after another, each for its time: the timer never fires early
    check(all(j["run_ns"] >= us * 1000 for j in part), "run", [j["run_ns"] for j in part])
    check(all(b["end"] - a["end"] > 0 for a, b in zip(part, part[1:])), "order")
    check(part[-1]["end"] - part[0]["begin"] >= n * us * 1000, "all of them", part[-1]["end"])
    # the device takes two at a time: a job gets there when the one two before it has ended
    check(all(c["begin"] >= a["end"] for a, c in zip(part, part[2:])), "two at a time")
    check(all(j["queue_ns"] >= (i - 1) * us * 1000 * 0.5 for i, j in enumerate(part)), "queued")
fences = [dict(r["fields"], tid=r["tid"]) for r in recs if r["type"] == "fence"]
if rung == 0:
    by_address = {f["fence"]: f for f in fences}
    check(all(name(j["device"]).startswith("mockgpu") for j in jobs), "device", jobs[0]["device"])
    check(all(j["fence"] in by_address for j in jobs), "fences of jobs are not told")
    # a job of the scheduler has two fences, and the driver's own is made by a worker
    mine = [f for f in fences if f["tid"] == tid and name(f["driver"]) == "drm_sched"]
    check(len(mine) == 2 * 26 - 1, len(mine), "fences of", 26, "jobs")
    check(all(name(f["timeline"]) == "mock-ring0" for f in mine), "timelines")
    waits = [r["fields"] for r in recs if r["type"] == "fence_wait"]
    check(len(waits) == 2 and all(w["made_by"] == tid and w["flags"] in (0, "0x0") for w in waits),
          "waits", waits)
    for w, (n, us, took) in zip(waits, runs):
        check(us * 1000 < w["duration_ns"] <= took, "waited", w["duration_ns"], "of", took)
    check(len([r for r in recs if r["type"] == "fence_open" and r["tid"] == tid]) == 1, "open fences")
ids = {n: int(i, 0) for i, n in names.items()} # XXH64, as the mark library computes it
check(ids.get("mock-ring0") == 0xCB7DD4D2A54D6969, "id", ids)
left = [r["fields"] for r in recs if r["type"] == "job_open"]
check(len(left) == 1 and left[0]["begun_ns"] >= left[0]["queued_ns"] > 0, "open", left)
for line in fail:
    print(line)
print(len(jobs), "jobs,", len(fences), "fences by", way)
sys.exit(bool(fail))
PY
}

for way in 0:tp_btf: 2:tracepoint:--no-btf; do
	IFS=: read -r rung name option <<<"$way"
	for _ in 1 2 3 4 5 6; do
		# shellcheck disable=SC2086 # an option or none
		"$XPUGAP" record -q -f $option -e job,fence --require job,fence -o trace -- \
			"$BUILD/tests/guest/gpu_jobs" >out || exit 1
		"$XPUGAP" dump --json trace >events || exit 1
		whole gpu || continue
		check "$rung" "$name" && continue 2
		# of classic tracepoints kernels before 6.7 skip some without counting them
		[ -n "$option" ] || break
	done
	cat out
	exit 1
done
