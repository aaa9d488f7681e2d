#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What 'doctor' says of each hook to one user, against a table; and what 'record' then does.

usage: doctor_case.py TABLE root|bpf|nobody [FACT...]

'bpf' is a user with CAP_BPF and CAP_PERFMON and nothing else, 'nobody' one without rights. A row
of TABLE has fields separated by tabs: hook, state, found, remedy, and perhaps facts that must hold
for it (all of them; "!fact": not). Of each hook exactly one row may fit. "~" begins a regular
expression. Lines that begin with "#" are remarks.

As the same user it then records everything, and each hook must be attached, or refused, just as
doctor said, for the same reason.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

NOBODY = 65534
RIGHTS = {
    "root": [],
    "bpf": ["--inh-caps=+bpf,+perfmon", "--ambient-caps=+bpf,+perfmon"],
    "nobody": [],
}
STATES = {"attached": "ok", "degraded": "limited", "off": "limited", "refused": "missing"}
# what doctor asks those for that need an option
CALLS = "syscall:agg"
COUNTERS = "pmu:cycles,instructions,cache-misses,branch-misses,page-faults"

faults = []


def fault(*words):
    faults.append(" ".join(map(str, words)))


def fits(want, is_):
    return re.fullmatch(want[1:], is_) is not None if want.startswith("~") else want == is_


def holds(facts, wanted):
    return all((w.lstrip("!") in facts) != w.startswith("!") for w in wanted)


def read_table(path, facts):
    """{hook: [state, found, remedy]}"""
    rows = {}
    with open(path, encoding="utf-8") as f:
        for line in f.read().splitlines():
            fields = line.split("\t")
            if not line or line.startswith("#"):
                continue
            assert 4 <= len(fields) <= 5, f"{path}: {line!r}"
            if holds(facts, fields[4].split() if len(fields) > 4 else []):
                assert fields[0] not in rows, f"{path}: two rows of '{fields[0]}' fit"
                rows[fields[0]] = fields[1:4]
    return rows


def compare(rows, table):
    hooks = {r["name"]: r for r in rows if r["kind"] == "hook"}
    for name in hooks.keys() ^ table.keys():
        fault(name, "is in one of doctor and the table only")
    for name in hooks.keys() & table.keys():
        for key, want in zip(("state", "found", "remedy"), table[name]):
            if not fits(want, hooks[name][key]):
                fault(f"{name}: {key}: {hooks[name][key]!r} instead of {want!r}")


def summary(rows):
    """What a HOOK record must say of the probes of one hook that doctor says this of."""
    live = [r for r in rows if r["found"].startswith("by ")]
    parts = [re.fullmatch(r"by (.*) \(rung (\d+)\)", r["found"]).groups() for r in live]
    return parts, [r["remedy"] for r in rows if r["found"] != "nothing to see here"]


def compare_record(rows, probes, records):
    hooks = {r["name"]: r for r in rows if r["kind"] == "hook"}
    said = {r["fields"]["hook"]: r["fields"] for r in records if r["type"] == "hook"}
    for hook in {p["hook"] for p in probes}:
        mine = [hooks[p["name"]] for p in probes if p["hook"] == hook]
        told = said.get(hook)
        if not told:
            fault(f"{hook}: record tells nothing of it")
            continue
        several = hook == "gpu"  # its probes are attached each for itself
        parts, remedies = summary(mine)
        names = [r["name"] for r in mine if r["found"].startswith("by ")]
        ways = [f"{n} {way}" if several else way for n, (way, _) in zip(names, parts)]
        if not several:
            ways = ways[:1]
        if parts and told["way"] != ", ".join(ways):
            fault(f"{hook}: recorded by {told['way']!r}, doctor said {', '.join(ways)!r}")
        rung = max((int(rung) for _, rung in parts), default=0)
        if parts and told["rung"] != rung:
            fault(f"{hook}: recorded by rung {told['rung']}, doctor said {rung}")
        states = {r["state"] for r in mine if r["found"] != "nothing to see here"}
        want = "limited" if len(states) > 1 or not states else states.pop()
        if STATES[told["state"]] != want:
            fault(f"{hook}: {told['state']} when recorded, doctor said {want!r}")
        for reason in filter(None, remedies):
            if reason not in told["reason"]:
                fault(f"{hook}: {told['reason']!r} when recorded, doctor said {reason!r}")


def run(command, **options):
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False, **options
    )
    return done.returncode, done.stdout


def examine(folder, table, user, facts):
    program = shutil.copy(os.environ["XPUGAP"], os.path.join(folder, "xpugap"))
    os.chmod(program, 0o755)
    his = os.path.join(folder, "his")
    os.mkdir(his)
    prefix = []
    if user != "root":
        os.chown(his, NOBODY, NOBODY)
        ids = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        prefix = ["setpriv", *ids, *RIGHTS[user]]
    with open(os.path.join(folder, "words"), "w+", encoding="utf-8") as words:
        status, text = run([*prefix, program, "doctor", "--json"], cwd=his, stderr=words)
        words.seek(0)
        if said := words.read():
            fault("doctor complained:", said)
    rows = json.loads(text)
    if status != any(r["state"] == "missing" for r in rows if r["kind"] == "hook"):
        fault("doctor ended with", status)
    compare(rows, read_table(table, facts))

    probes = json.loads(run([program, "list", "probes", "--json"])[1])["probes"]
    probes = [p for p in probes if p["hook"] != "mark"]
    names = ",".join(p["name"] for p in probes if p["name"] not in ("pmu", "syscall"))
    asked = ",".join([names, CALLS, COUNTERS])
    record = [program, "record", "-q", "-e", asked, "-o", "t", "--", "true"]
    status, text = run([*prefix, *record], cwd=his, stderr=subprocess.STDOUT)
    if status:
        fault("record ended with", status, text)
    text = run([program, "dump", "--json", "-t", "hook", os.path.join(his, "t")])[1]
    compare_record(rows, probes, map(json.loads, text.splitlines()))
    return rows


def main():
    table, user, *facts = sys.argv[1:]
    assert user in RIGHTS, user
    folder = tempfile.mkdtemp(prefix="xpugap-doctor.", dir="/tmp")
    try:
        os.chmod(folder, 0o755)
        rows = examine(folder, table, user, facts)
    finally:
        shutil.rmtree(folder)
    for words in faults:
        print(f"FAIL: {os.path.basename(table)}: {words}")
    if faults:
        for r in rows:
            if r["kind"] == "hook":
                print("\t".join(r[key] for key in ("name", "state", "found", "remedy")))
    return bool(faults)


sys.exit(main())
