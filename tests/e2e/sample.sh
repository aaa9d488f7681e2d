#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Samples of a program that knows its frames and its shares of user and kernel time: stacks exactly,
# numbers within bounds that chance alone leaves once in a million runs.
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
trap 'rm -f trace out err' EXIT

fail() {
	echo "FAIL: $*"
	exit 1
}

# check WHAT OPTION...: record the program and compare
check() {
	what=$1
	shift
	"$XPUGAP" record -q -f "$@" -o trace -- "$BUILD/tests/e2e/samples" 1500 500 >out 2>err ||
		fail "$what: $(cat err)"
	"$XPUGAP" dump --json trace 2>/dev/null | python3 -c '
import json, math, sys

WHAT, HZ = sys.argv[1], 997
KERNEL, CUT = 1, 1
Z = 4.9  # of a normal distribution, which leaves it once in a million times
recs = [json.loads(line) for line in sys.stdin]
of = lambda kind: [dict(r["fields"], tid=r["tid"], t=r["time_ns"]) for r in recs if r["type"] == kind]
samples, stacks, fail = of("sample"), {}, []
said = {line.split()[0]: [int(w, 0) for w in line.split()[1:]] for line in open("out")}
begin, end, *returns = said["frames"]
frm, to, user_ns, kernel_ns = said["time"]

def check(ok, *what):
    if not ok:
        fail.append(" ".join(map(str, what)))

for s in of("stack"):
    frames = [int(a, 0) for a in s["frames"]]
    check(stacks.setdefault(s["id"], (s["kind"], frames)) == (s["kind"], frames),
          "two stacks called", s["id"])
    check(0 < len(frames) <= 127, "a stack of", len(frames))
    check(int(s["flags"], 0) == (CUT if len(frames) == 127 else 0), "flags", s["flags"])
told = len(of("stack"))
check(told == len(stacks), told, "records of", len(stacks), "stacks")
# without types the kernel skips tracepoints while a sample is taken, and that is counted
lost = [r["fields"] for r in recs if r["type"] == "lost"]
check(not [x for x in lost if x["why"] != "nested" or "without" not in WHAT], "lost:", lost)

# stacks
spinning = 0
for s in samples:
    ip, kernel = int(s["ip"], 0), int(s["flags"], 0) & KERNEL
    kind, frames = stacks.get(s["kernel_stack" if kernel else "user_stack"], ("none", [0]))
    check(kind == ("kernel" if kernel else "user"), "a sample with a stack of kind", kind)
    check(frames[0] == ip, "a stack that begins elsewhere:", s, hex(frames[0]))
    check(bool(kernel) == (ip >> 63 == 1), "mode and address differ:", s)
    if begin <= ip < end:
        spinning += 1
        check(frames[1:4] == returns, "frames", list(map(hex, frames[1:4])))
check(spinning > 100, "only", spinning, "samples in the loop")

# numbers: each period of cpu time has a sample, or perhaps one that is said to be missed: whose
# these would have been is not known, as a hypervisor that takes the cpu does so at any time
inside = [s for s in samples if frm <= s["t"] <= to]
n, kernel = len(inside), sum(int(s["flags"], 0) & KERNEL for s in inside)
share = kernel_ns / (user_ns + kernel_ns)
bound = Z * math.sqrt(n * share * (1 - share)) + n * 0.01
print(WHAT, n, "samples,", kernel, "in the kernel,", round(n * share), "+-", round(bound), "expected")
check(abs(kernel - n * share) <= bound, "kernel samples:", kernel, "of", n, "share", share)
if inside[0]["event"] == "cpu-clock":
    check(all(s["period"] == 1000000000 // HZ for s in samples), "another period")
    missed = sum(s["missed"] for s in inside)
    due = (user_ns + kernel_ns) * HZ / 1e9
    bound = Z * math.sqrt(due)
    print(WHAT, n, "samples,", missed, "missed,", round(due), "+-", round(bound), "expected")
    check(n - bound <= due <= n + missed + bound, "samples:", n, "and", missed, "of", due)
for line in fail[:20]:
    print("FAIL:", line)
sys.exit(bool(fail))
' "$what" || exit 1
}

check "with types:" --require sample -e sample:997
check "without:" --no-btf -e sample:997

# off unless asked for
"$XPUGAP" record -q -f -o trace -- true || fail "true"
[ -z "$("$XPUGAP" dump -t sample,stack trace)" ] || fail "samples that nobody asked for"

# refuse WHAT -e OPTION: it must say WHAT, and exit with 2
refuse() {
	"$XPUGAP" record -q -f -e "$2" -o trace -- true >out 2>err
	[ $? = 2 ] || fail "-e $2: $(cat err)"
	grep -qF "$1" err || fail "-e $2: $(cat err)"
}
refuse "'0' is no frequency" sample:0
refuse "'10001' is no frequency" sample:10001
refuse "'x' is no frequency" sample:x
refuse "'' is no frequency" sample:
refuse "did you mean 'sample'?" sampel
refuse "probe 'ioctl' takes no option" ioctl:7
