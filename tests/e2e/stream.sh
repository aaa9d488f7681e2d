#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 400
# Calls about pipes and sockets, and calls that wait, against what the program itself counted and
# fstat(), getsockname(), getpeername() and SO_PEERCRED told it.
# shellcheck disable=SC2016 # jq has variables of its own
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
: >err
# shellcheck source=tests/common.sh
. "$SRC/tests/common.sh"
trap 'rm -f trace out err events fifo socket spliced' EXIT

prog=$BUILD/tests/e2e/streams

record() {
	rm -f fifo socket
	"$XPUGAP" record -q -f --require stream,wait -e sched,stream,wait -o trace "$@" \
		>out 2>err </dev/null || fail "record $*"
	"$XPUGAP" dump --json trace >events || fail "dump"
	holds 'any(.type == "lost" and .fields.hook == "syscall") | not'
}

# holds EXPRESSION: a jq program over the array of records must be true
holds() {
	jq -es "$1" events >/dev/null || { cp out err; fail "not so: $1"; }
}

# ---- two threads at the ends of every kind of stream, all at once ----

record -- "$prog" move 2000
python3 - <<'PY' || { cat out; exit 1; }
import collections, ipaddress, json, sys

recs = [json.loads(line) for line in open("events")]
calls = [dict(r["fields"], tid=r["tid"]) for r in recs if r["type"] == "stream_io"]
told = collections.defaultdict(list)
for r in recs:
    if r["type"] == "stream":
        told[r["fields"]["inode"]].append(r["fields"])
failed = []

def check(ok, *what):
    if not ok:
        failed.append(" ".join(map(str, what)))

def same_address(text, want):
    """IPv6 addresses are told in full"""
    if not want.startswith("["):
        return text == ("" if want == "-" else want)
    host, port = text.rsplit(":", 1)
    want_host, want_port = want.rsplit(":", 1)
    return port == want_port and ipaddress.ip_address(host.strip("[]")) == ipaddress.ip_address(
        want_host.strip("[]"))

ends = []
for line in open("out"):
    word, name, way, *numbers = line.split()
    assert word == "end"
    keys = "tid inode peer calls bytes cred".split()
    end = dict(zip(keys, map(int, numbers)), name=name, way=way)
    end["local"], end["remote"] = numbers[len(keys):]
    ends.append(end)
check(len(ends) >= 14, len(ends), "ends")
kinds = {"pipe": "pipe", "fifo": "fifo", "pair": "unix", "unix": "unix", "hidden": "unix",
         "tcp4": "tcp", "tcp6": "tcp", "udp4": "udp"}
OUT = 1
for i, e in enumerate(ends):
    who = e["name"], e["way"]
    other = ends[i ^ 1]
    mine = [c for c in calls if c["tid"] == e["tid"] and c["inode"] == e["inode"]]
    check(len(mine) == e["calls"], *who, len(mine), "calls, not", e["calls"])
    check(sum(c["bytes"] for c in mine) == e["bytes"], *who, "bytes")
    check(all(bool(int(c["flags"], 0) & OUT) == (e["way"] == "out") for c in mine), *who, "way")
    check(all(c["kind"] == kinds[e["name"]] for c in mine), *who, "kind")
    check(all(c["ret"] == c["bytes"] for c in mine if c["call"][4:] != "mmsg"), *who, "ret")
    if e["way"] == "out":
        check(all(c["asked"] == 700 for c in mine if c["call"] != "sendmmsg"), *who, "asked")
    else:
        check(all(c["asked"] == 1400 for c in mine if c["call"] != "recvmmsg"), *who, "asked")
    # the other thread has been at the other end when this one got something from it
    peers = {c["peer_tid"] for c in mine}
    if e["way"] == "in" and e["name"] in ("pipe", "fifo"):
        check(peers == {other["tid"]}, *who, "peers", peers, "not", other["tid"])
    elif e["name"] != "udp4":
        check(peers <= {0, other["tid"]}, *who, "peers", peers)
        check(e["way"] == "out" or other["tid"] in peers, *who, "no peer")
    else:
        check(peers == {0}, *who, "peers", peers)
    what = told[e["inode"]]
    check(what and what[-1]["kind"] == kinds[e["name"]], *who, "not told:", what)
    if not what:
        continue
    if e["name"] in ("pipe", "fifo"):
        check(len(what) == 1, *who, "told", len(what), "times")
        continue
    last = what[-1]
    check(last["peer_inode"] == (0 if e["name"] == "udp4" else e["peer"]), *who, "peer inode", last)
    check(same_address(last["local"], e["local"]), *who, last["local"], "not", e["local"])
    check(same_address(last["remote"], e["remote"]), *who, last["remote"], "not", e["remote"])
    check(last["state"] == "established", *who, last["state"])
    if last["kind"] == "unix":
        check(last["peer_pid"] == e["cred"], *who, "peer pid", last["peer_pid"], "not", e["cred"])
    check(last["family"] == {"u": 1, "t": 2}[last["kind"][0]] or last["family"] in (2, 10), *who)

# connections: who accepted is told what that made
for e in ends:
    if e["way"] == "in" and e["name"] in ("unix", "hidden", "tcp4", "tcp6"):
        made = [c for c in calls if c["call"] == "accept" and c["to_inode"] == e["inode"]]
        check(len(made) == 1 and made[0]["ret"] == made[0]["to_fd"] and made[0]["inode"],
              e["name"], "accept", made)
    if e["way"] == "out" and e["name"] in ("unix", "hidden", "tcp4", "tcp6", "udp4"):
        made = [c for c in calls if c["call"] == "connect" and c["inode"] == e["inode"]]
        check(len(made) == 1 and made[0]["ret"] == 0, e["name"], "connect", made)
fifo = [e["inode"] for e in ends if e["name"] == "fifo"]
names = [r["fields"]["path"] for r in recs if r["type"] == "file" and
         r["fields"]["inode"] == fifo[0]]
check(len(names) == 1 and names[0].endswith("/fifo"), "fifo:", names)
print(len(calls), "calls,", len(told), "streams")
for line in failed:
    print("FAIL:", line)
sys.exit(bool(failed))
PY

# ---- a read that is kept waiting is that long, and who ends it is known ----

record -- "$prog" late 20
python3 - <<'PY' || { cat out; exit 1; }
import json, sys

recs = [json.loads(line) for line in open("events")]
lines = [line.split() for line in open("out")]
tid, writer, inode = map(int, lines[0][1:])
inside = [tuple(map(int, f[1:])) for f in lines[1:]]
reads = [r for r in recs if r["type"] == "stream_io" and r["tid"] == tid and
         r["fields"]["inode"] == inode]
ok = len(inside) == 20 and len(reads) == 20
for r, (since, until) in zip(reads, inside):
    f = r["fields"]
    begun = r["time_ns"] - f["duration_ns"]
    if not (begun <= since and r["time_ns"] >= until and f["duration_ns"] >= 2e6 and
            f["bytes"] == f["asked"] == 1 and f["peer_tid"] == writer):
        print("FAIL:", r, since, until)
        ok = False
woken = [r for r in recs if r["type"] == "sched_waking" and r["fields"]["wakee_tid"] == tid and
         r["tid"] == writer]
print(len(reads), "reads,", len(woken), "times woken by the writer")
sys.exit(not ok or len(woken) < 20)
PY

# ---- between streams, and streams and files; what is only looked at ----

record -- "$prog" splices
read -r _ a b s0 s1 tid <out
holds "[.[] | select(.type == \"stream_io\" and .tid == $tid) | .fields |
		[.call, .inode, .to_inode, .bytes, .flags]] |
	contains([[\"tee\", $a, $b, 700, \"0x0\"], [\"splice\", $a, $s0, 300, \"0x0\"],
		[\"splice\", $a, 0, 400, \"0x0\"], [\"splice\", 0, $b, 200, \"0x0\"],
		[\"sendfile\", 0, $s1, 150, \"0x0\"], [\"vmsplice\", $b, 0, 50, \"0x1\"],
		[\"recvfrom\", $s1, 0, 300, \"0x4\"], [\"recvfrom\", $s1, 0, 300, \"0x2\"],
		[\"recvfrom\", $s1, 0, 0, \"0x2\"]])"
holds "[.[] | select(.type == \"stream_io\" and .tid == $tid and .fields.inode == $s1 and
	(.fields.ret == -11 or .fields.ret == \"-EAGAIN\"))] | length == 1"

# ---- calls that wait ----

record -- "$prog" waits
read -r _ tid ready highest ep child _ <out
holds "[.[] | select(.type == \"wait\" and .tid == $tid) | .fields] as \$w |
	([\$w[] | [.call, .ret, .count, .fd, .timeout_ns, .flags]] |
	contains([[\"poll\", 0, 3, -1, 2000000, \"0x1\"], [\"poll\", 1, 3, $ready, 0, \"0x0\"],
		[\"select\", 0, $highest, -1, 4000000, \"0x1\"],
		[\"epoll\", 0, 1, $ep, 5000000, \"0x1\"],
		[\"sleep\", 0, 0, -1, 3000000, \"0x1\"], [\"sleep\", 0, 0, -1, 0, \"0x2\"]])) and
	(\$w | map(select(.timeout_ns > 0 and .ret == 0)) | length == 4 and
		all(.duration_ns >= .timeout_ns)) and
	(\$w | map(select(.call == \"child\" and .ret == $child and .pid == $child)) | length == 1)"
holds "any(.type == \"wait\" and .tid == $child and .fields.call == \"sleep\" and
	.fields.duration_ns >= 3000000)"

# ---- those that the recording ends in: it may end too early for the program to get there ----

for seconds in 1 8 64; do
	: >out
	# shellcheck disable=SC2094 # read while it is written
	{ until grep -q inside out; do sleep 0.1; done && sleep $((seconds + 2)); } |
		"$XPUGAP" record -q -f -e stream,wait -o trace --max-duration $seconds -- \
			"$prog" hang >out 2>err || fail "record hang"
	"$XPUGAP" dump --json trace >events || fail "dump"
	read -r _ tid inode pid <out
	jq -es "any(.type == \"stream_blocked\" and .tid == $tid) and
		any(.type == \"wait_blocked\" and .tid == $pid)" events >/dev/null && break
done
holds "[.[] | select(.type == \"stream_blocked\" and .tid == $tid)] | length == 1 and
	.[0].fields.inode == $inode and .[0].fields.asked == 1 and .[0].fields.kind == \"pipe\" and
	.[0].fields.call == \"read\" and .[0].fields.start_ns < .[0].time_ns"
holds "any(.type == \"stream\" and .fields.inode == $inode)"
holds "[.[] | select(.type == \"wait_blocked\" and .tid == $pid)] | length == 1 and
	.[0].fields.call == \"poll\" and .[0].fields.count == 1 and .[0].fields.fd == -1 and
	.[0].fields.flags == \"0x0\""

# ---- only what was asked for; files are not streams ----

"$XPUGAP" record -q -f -e file,stream -o trace -- "$prog" waits >out 2>err || fail "without wait"
"$XPUGAP" dump --json trace >events
holds 'any(.type == "wait") | not'
holds '([.[] | select(.type == "stream_io") | .fields.inode]) as $s |
	[.[] | select(.type == "file_io" and .fields.call != "open") | .fields.inode] |
	length > 3 and all(. as $i | $s | index($i) | not)'
"$XPUGAP" record -q -f -o trace -- "$prog" waits >out 2>err || fail "the defaults"
"$XPUGAP" dump --json trace >events
holds 'any(.type == "stream_io" or .type == "stream" or .type == "wait") | not'
"$XPUGAP" record --no-btf -q -f -e stream,wait -o trace -- true >out 2>err || fail "--no-btf"
for probe in stream wait; do
	grep -q "cannot attach probe '$probe': type information is not used" err || fail "of $probe"
done
exit 0
