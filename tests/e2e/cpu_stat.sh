#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What the cpus did, and what a hypervisor took of them, between two readings of /proc/stat before
# the recording, two inside and one behind; a machine that does not say.
# timeout: 180
set -u
. "$SRC/tests/common.sh"

cd "$TMPDIR" || exit 1
trap 'rm -f trace err out before after events shares text empty' EXIT

cat /proc/stat >before
"$XPUGAP" record -q -f -e mark -o trace -- sh -c 'cat /proc/stat; sleep 1.2; cat /proc/stat' >out 2>err ||
	fail "record"
cat /proc/stat >after
"$XPUGAP" dump --json -t cpu_stat trace >events 2>err || fail "dump"
"$XPUGAP" info --json trace >shares 2>err || fail "info"
"$XPUGAP" info trace >text 2>err || fail "info"
python3 - <<'PY' || fail "not as the kernel counts"
import collections, json, os, sys

HZ = os.sysconf("SC_CLK_TCK")
NAMES = "user nice system idle iowait irq softirq steal guest guest_nice".split()
SURE = ("user", "nice", "system", "irq", "softirq", "steal", "guest", "guest_nice")
bad = []


def readings(path):
    """Of each cpu the counts of each time that it stands in the file."""
    out = collections.defaultdict(list)
    for line in open(path):
        f = line.split()
        if f and f[0][:3] == "cpu" and f[0] != "cpu":
            out[int(f[0][3:])].append(dict(zip(NAMES, map(int, f[1:]))))
    return out


before, inside, after = map(readings, ("before", "out", "after"))
recs = collections.defaultdict(list)
for line in open("events"):
    r = json.loads(line)
    recs[r["fields"]["cpu"]].append(r["fields"])
if set(recs) != set(inside) or not recs:
    bad.append(f"cpus {sorted(recs)}, by /proc/stat {sorted(inside)}")
for cpu, got in recs.items():
    ns = lambda r, name: r[name + "_ns"]
    if len(got) < 2 or len(inside[cpu]) != 2: # at least at the beginning and at the end
        bad.append(f"cpu {cpu}: {len(got)} readings")
        continue
    for name in SURE:
        tick = 10**9 // HZ
        row = [before[cpu][0][name] * tick, ns(got[0], name), inside[cpu][0][name] * tick,
               inside[cpu][1][name] * tick, ns(got[-1], name), after[cpu][0][name] * tick]
        if row != sorted(row):
            bad.append(f"cpu {cpu}, {name}: {row}")
info = {c["cpu"]: c for c in json.load(open("shares"))["cpu_times"]}
for cpu, got in recs.items():
    def sum_of(*names):
        return sum(max(0, b[n + "_ns"] - a[n + "_ns"]) for a, b in zip(got, got[1:]) for n in names)
    total = sum_of(*NAMES[:8])
    stolen = sum_of("steal")
    print(f"cpu {cpu}: {total} ns, of which stolen {stolen}")
    if total and (info[cpu]["total_ns"] != total or info[cpu]["steal_ns"] != stolen or
                  abs(info[cpu]["steal_pct"] - 100 * stolen / total) > 0.01):
        bad.append(f"cpu {cpu}: {info[cpu]}")
line = [l for l in open("text") if l.startswith("stolen")]
if len(line) != 1 or ("nothing" in line[0]) != (not any(c["steal_ns"] for c in info.values())):
    bad.append(f"info: {line}")
for line in bad:
    print("FAIL:", line)
sys.exit(bool(bad))
PY

# a machine that does not say: that is told once, and the recording goes on
: >empty
if unshare -m sh -c "mount --bind empty /proc/stat" 2>/dev/null; then
	unshare -m sh -c "mount --bind empty /proc/stat && exec \"$XPUGAP\" record -f -e mark -o trace -- \
		sleep 1.2" >out 2>err || fail "without /proc/stat"
	[ "$(grep -c "'/proc/stat' cannot be read: it names no cpu" err)" = 1 ] || fail "that was not said once"
	"$XPUGAP" info --json trace | jq -e '.cpu_times == [] and
		.facts["host.cpu_stat"] == "cannot be read: it names no cpu"' >/dev/null || fail "nor in the trace"
else
	echo "/proc/stat cannot be hidden: left out"
fi
exit 0
