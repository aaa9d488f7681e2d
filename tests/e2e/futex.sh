#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Waits for futexes against what the program itself did: how often, how each ended, who owned the
# mutex, who woke its waiter; many threads under load; one that is open when the recording ends; the
# same by the way for kernels without type information, as far as that tells.
# timeout: 300
set -u
. "$SRC/tests/common.sh"

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
pid=
recorder=
finish() {
	[ -z "$recorder" ] || kill "$recorder" 2>/dev/null
	[ -z "$pid" ] || { kill "$pid" && wait "$pid"; } 2>/dev/null
	rm -rf trace out err events line check.py
}
trap finish EXIT

cat >check.py <<'PY'
import collections, json, sys

PRIVATE, TIMED, SLEPT, AGAIN, PI, WORD, GLIBC = (1 << i for i in range(7))
HOW = {"normal": GLIBC, "recursive": GLIBC, "robust": WORD, "pi": PI}
what, plain = sys.argv[1], "plain" in sys.argv
recs = [json.loads(line) for line in open("events")]
lost = sum(r["fields"]["count"] for r in recs if r["type"] == "lost"
           and r["fields"]["hook"] in ("syscall", "meta"))
waits = [dict(r["fields"], tid=r["tid"], end=r["time_ns"], flags=int(r["fields"]["flags"], 0))
         for r in recs if r["type"] == "futex_wait"]
lines = [line.split() for line in open("out")]
bad = []


def check(ok, *what):
    if not ok:
        bad.append(" ".join(map(str, what)))


def mutexes(rounds):
    for kind, address, owner, waiter in lines:
        owner, waiter = int(owner), int(waiter)
        if kind == "join":
            got = [w for w in waits if w["tid"] == waiter and int(w["word"], 0) == owner
                   and w["ret"] == 0 and w["flags"] & SLEPT]
            print("joined asleep:", len(got))
            check(all(w["waker_tid"] == owner and not w["owner_tid"] for w in got), got)
            continue
        got = [w for w in waits if w["address"] == address and w["tid"] == waiter]
        print(kind, len(got), "of", rounds)
        check(len(got) == rounds, kind, "waits:", len(got))
        check(all(w["ret"] == 0 and w["futexes"] == 1 for w in got), kind, "ret", got[:1])
        check(not any(w["flags"] & (TIMED | AGAIN) for w in got), kind, "timed")
        # glibc treats robust ones as shared
        check(kind == "robust" or all(w["flags"] & PRIVATE for w in got), kind, "private")
        check(all(w["op"] == ("lock_pi" if kind == "pi" else "wait") for w in got), kind, got[:1])
        check(all(w["duration_ns"] > 0 for w in got), kind, "duration")
        if plain:
            check(not any(w["owner_tid"] or w["waker_tid"] for w in got), kind, got[:1])
            continue
        check(all(w["flags"] & SLEPT for w in got), kind, "slept")
        check(all(w["owner_tid"] == owner for w in got), kind, "owner", got[:1])
        check(all(w["flags"] & (PI | WORD | GLIBC) == HOW[kind] for w in got), kind, got[:1])
        check(all(w["waker_tid"] == owner for w in got), kind, "waker", got[:1])


def calls():
    total = collections.Counter()
    for op, address, ret, flags, count in lines:
        got = [w for w in waits if w["address"] == address and (op == "none" or w["op"] == op)
               and (ret == "." or w["ret"] == int(ret))]
        total[address] += len(got)
        print(op, ret, len(got), "of", count)
        check(len(got) == int(count), op, address, ret, ":", len(got), "of", count)
        known = ~(SLEPT | PI) if plain else ~SLEPT
        for w in got if flags != "." else []:
            check((w["flags"] | SLEPT) & known == (int(flags) | SLEPT) & known, op, w, flags)
            check(plain or w["flags"] & int(flags) == int(flags), op, w, flags)
            check(w["futexes"] == (2 if op == "futex_waitv" else 1), op, w)
            check(w["ret"] == 0 or not w["waker_tid"], op, w)
    for address in total: # and no others
        all_of = sum(w["address"] == address for w in waits)
        check(all_of == total[address], address, all_of, "records, known:", total[address])
    if not plain:
        locked = [w for w in waits if w["op"] == "lock_pi"]
        check(all(w["owner_tid"] == w["tid"] for w in locked), "it would wait for itself", locked)
        check(any(w["flags"] & AGAIN and w["waker_tid"] for w in waits), "the waker of the last")


def load():
    address = dict(line for line in lines if len(line) == 2)["word"]
    counted = {int(line[0]): (int(line[1]), int(line[2])) for line in lines if len(line) == 3}
    got = collections.defaultdict(lambda: [0, 0])
    slept = woken = 0
    for w in waits:
        if w["address"] != address:
            continue
        check(w["ret"] in (0, -11), "ret", w)
        got[w["tid"]][w["ret"] != 0] += 1
        if w["ret"] == 0 and w["flags"] & SLEPT:
            slept += 1
            woken += w["waker_tid"] in counted and w["waker_tid"] != w["tid"]
    total = sum(map(sum, counted.values()))
    recorded = sum(map(sum, got.values()))
    print(len(counted), "threads,", total, "waits,", recorded, "recorded,", lost, "lost;", slept,
          "slept,", woken, "with who woke them")
    check(len(counted) == 32 and total >= 32, "the test tested nothing")
    check(set(got) <= set(counted), "others wait for it")
    for tid, (w, a) in counted.items():
        check(got[tid][0] <= w and got[tid][1] <= a, tid, got[tid], "of", w, a)
    check(total - recorded <= lost, "not explained:", total - recorded - lost)
    if not plain:
        # who was just going to sleep is woken without the scheduler; what is lost is not seen
        check(woken <= slept and (woken >= slept * 0.9 or lost), woken, "of", slept)


def hang():
    (address, owner, waiter), = lines
    got = [r for r in recs if r["type"] == "futex_blocked" and r["tid"] == int(waiter)]
    check(len(got) == 1, len(got), "open waits")
    for r in got:
        f = r["fields"]
        check(f["address"] == address and f["op"] == "wait" and f["word"] == "0x2", f)
        check(r["time_ns"] > f["start_ns"] > 0, r)
        if not plain:
            check(f["owner_tid"] == int(owner) and int(f["flags"], 0) == PRIVATE | SLEPT | GLIBC, f)


{"mutexes": lambda: mutexes(int(sys.argv[2])), "calls": calls, "load": load,
 "hang": hang}[what]()
check(what == "load" or not lost, "lost", lost)
for line in bad[:20]:
    print("FAIL:", line)
sys.exit(bool(bad))
PY

# recorded WAY FUTEXES' ARGUMENTS...: WAY is an option, or "" for none
recorded() {
	local way=$1
	shift
	# shellcheck disable=SC2086 # none where it is empty
	"$XPUGAP" record -q -f $way --require sched,futex -o trace -- "$BUILD/tests/e2e/futexes" "$@" \
		>out 2>err || fail "record $*"
	"$XPUGAP" dump --json trace >events 2>err || fail "dump"
	python3 check.py "$@" ${way:+plain} || fail "$way $*"
}

# open_at_end OPTION...: attached to before it waits, which it never stops
open_at_end() {
	local n
	rm -f line out err
	mkfifo line
	"$BUILD/tests/e2e/futexes" hang <line >out &
	pid=$!
	exec {n}>line
	"$XPUGAP" record -f -o trace "$@" -p "$pid" 2>err &
	recorder=$!
	until_so grep -qs '^xpugap: recording' err
	echo >&"$n"
	until_so grep -q 0x out
	kill -INT "$recorder"
	wait "$recorder" || fail "record $*"
	recorder=
	exec {n}>&-
	kill "$pid"
	wait "$pid" 2>/dev/null
	pid=
	"$XPUGAP" dump --json trace >events 2>err || fail "dump"
	python3 check.py hang ${1:+plain} || fail "open at the end $*"
}

recorded "" mutexes 25
recorded "" calls
recorded "" load 32 300
open_at_end

# the probe alone, and not at all
"$XPUGAP" record -q -f -e futex -o trace -- "$BUILD/tests/e2e/futexes" mutexes 5 >out 2>err ||
	fail "the probe alone"
"$XPUGAP" dump --json -t futex_wait,ioctl,file_io trace | jq -es 'all(.type == "futex_wait") and
	([.[] | select(.fields.owner_tid > 0)] | length) >= 20' >/dev/null || fail "the probe alone"
"$XPUGAP" record -q -f -e task,sched,ioctl,file -o trace -- "$BUILD/tests/e2e/futexes" mutexes 5 >out \
	2>err || fail "without it"
"$XPUGAP" dump --json -t futex_wait trace | jq -es 'length == 0' >/dev/null || fail "not asked for"

# numbers of threads in a namespace of their own are none of ours
if unshare -pf --mount-proc true 2>/dev/null; then
	"$XPUGAP" record -q -f --require futex -o trace -- unshare -pf --mount-proc \
		"$BUILD/tests/e2e/futexes" mutexes 10 >out 2>err || fail "in a namespace"
	"$XPUGAP" dump --json trace >events
	python3 - <<'PY' || fail "in a namespace"
import json, sys

recs = [json.loads(line) for line in open("events")]
forks = {r["fields"]["child_ns_tid"]: r["fields"]["child_tid"] for r in recs
         if r["type"] == "task_fork" and r["fields"]["child_ns_tid"] != r["fields"]["child_tid"]}
n = 0
for kind, address, owner, waiter in map(str.split, open("out")):
    got = [r["fields"] for r in recs if r["type"] == "futex_wait" and address != "0"
           and r["fields"]["address"] == address and r["tid"] == forks.get(int(waiter))]
    n += len(got)
    if any(f["owner_tid"] != forks[int(owner)] for f in got):
        sys.exit(f"{kind}: {owner} is {forks[int(owner)]}: {got[:2]}")
print(n, "waits in a namespace")
sys.exit(n != 40)
PY
else
	echo "no namespaces here: left out"
fi

"$XPUGAP" doctor --json | jq -e 'any(.[]; .name == "tracefs" and .state == "ok")' >/dev/null ||
	{ echo "no tracefs: the plain way is left out"; exit 0; }
recorded --no-btf mutexes 10
recorded --no-btf calls
recorded --no-btf load 32 100
open_at_end --no-btf
exit 0
