#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Memory mapped for a device: how often, how much, in which direction, for whom, against what a driver
# of QEMU's device edu was asked for; some is unmapped by the device's interrupt.
# kernels: 6.1 6.12
# qemu: -device edu,dma_mask=0xffffffffffffffff
# append: swiotlb=force
# modules: edudma
# timeout: 240
set -u

cd "$TMPDIR" || exit 1
trap 'rm -f trace out events; rmmod edudma 2>/dev/null' EXIT
insmod "$BUILD/tests/guest/modules/$(uname -r)/edudma.ko" || exit 1

check() {
	python3 - "$@" <<'PY'
import collections, json, sys

rung, way = int(sys.argv[1]), sys.argv[2]
SINGLE, LIST, TABLE, COHERENT, SYNC, TRANSFER = range(1, 7)
PARTIAL, INTERRUPT = 2, 4
DIR = {0: "both", 1: "to_device", 2: "from_device"}
fail = []

def check(ok, *what):
    if not ok:
        fail.append(" ".join(map(str, what)))

recs = [json.loads(line) for line in open("events")]
names = {r["fields"]["id"]: r["fields"]["name"] for r in recs if r["type"] == "name"}
hook = [r["fields"] for r in recs if r["type"] == "hook" and r["fields"]["hook"] == "gpu"][-1]
check((hook["rung"], hook["way"]) == (rung, "dma " + way), "attached:", hook)
lost = [r["fields"] for r in recs if r["type"] == "lost" and r["fields"]["hook"] == "gpu"]
# classic tracepoints skip what interrupts another program, and count that
skipped = sum(f["count"] for f in lost if f["why"] == "nested") if rung == 3 else 0
check(sum(f["count"] for f in lost) == skipped, "lost", lost)
tid = [r["tid"] for r in recs if r["type"] == "task_exit"][-1]
name = sys.argv[3]
# other devices are the target's, too: what it reads from a disk
mine = [dict(r["fields"], tid=r["tid"]) for r in recs if r["type"] == "dma"
        and name in (r["fields"]["device"], names.get(r["fields"]["device"]))]
check(mine and all(r["tid"] == tid for r in mine), "of others", len(mine))
devices = [r["fields"] for r in recs if r["type"] == "dma_device"
           and name in (r["fields"]["device"], names.get(r["fields"]["device"]))]
check(len(devices) == 1, "devices", devices)
if rung < 3:
    check("edudma" in (devices[0]["driver"], names.get(devices[0]["driver"])), devices)

want = collections.Counter()
late = collections.Counter()
for line in open("out"):
    op, times, size, parts, way_, addr = line.split()
    op, times, size, parts = map(int, (op, times, size, parts))
    d = DIR[int(way_)]
    if op in (LIST, TABLE):
        cut = rung == 3 and parts > 128
        whole = 128 * size if cut else parts * size
        want["map_sg", whole, parts, d, cut] += times
        late["unmap_sg", whole, parts, d] += times
    elif op == COHERENT:
        want["alloc", size, 0, d, False] += times
        late["free", size, 0, d] += times
    else:
        want["map", size, 0, d, False] += times
        late["unmap", size, 0, d] += times
        if op == SYNC:
            late["sync_for_cpu", size, 0, d] += times
            late["sync_for_device", size, 0, d] += times
begun = ("map", "map_sg", "alloc")
flags = lambda r: int(r["flags"], 0)
got = collections.Counter((r["call"], r["bytes"], r["entries"], r["dir"], bool(flags(r) & PARTIAL))
                          for r in mine if r["call"] in begun)
check((got - want | want - got).total() <= skipped, "mapped", got - want, "and not", want - got)
got = collections.Counter((r["call"], r["bytes"], r["entries"], r["dir"])
                          for r in mine if r["call"] not in begun)
check((got - late | late - got).total() <= 2 * skipped, "undone", got - late, "and not", late - got)
# the interrupts of three transfers, and no more
irq = [r for r in mine if flags(r) & INTERRUPT]
check(abs(len(irq) - 3) <= skipped and all(r["call"] == "unmap" and r["bytes"] == 2000 for r in irq), "by interrupt", irq)
# QEMU's device takes a tenth of a second
check(all(r["held_ns"] > 9e7 and r["by"] == 0 for r in irq), "held", [r["held_ns"] for r in irq])
check(skipped or all(r["held_ns"] > 0 for r in mine if r["call"] not in begun), "undone without having begun")
addr = {line.split()[5] for line in open("out")}
seen = {"%x" % int(r["addr"], 0) for r in mine}
check(skipped or addr <= seen, "addresses", addr - seen)
for line in fail:
    print(line)
print(len(mine), "records of", name, "by", way)
sys.exit(bool(fail))
PY
}

device=$(basename "$(dirname "$(grep -lx 0x11e8 /sys/bus/pci/devices/*/device)")")
# the kernel's own list says which ways there are
if [ -d /sys/kernel/tracing/events/dma ]; then
	ways="0:tp_btf: 3:tracepoint:--no-btf"
else
	ways="1:fentry:"
fi
for each in $ways; do
	IFS=: read -r rung way option <<<"$each"
	# shellcheck disable=SC2086 # an option or none
	"$XPUGAP" record -q -f $option -e dma --require dma -o trace -- "$BUILD/tests/guest/dma_calls" >out || exit 1
	"$XPUGAP" dump --json trace >events || exit 1
	check "$rung" "$way" "$device" || {
		cat out
		exit 1
	}
done
[ -d /sys/kernel/tracing/events/dma ] && exit 0

# without tracepoints and types there is no way, and that is said
"$XPUGAP" record -f --no-btf -e dma -o trace -- true 2>out || exit 1
grep -q "cannot attach probe 'dma': .*no tracepoints" out || {
	cat out
	exit 1
}
exit 0
