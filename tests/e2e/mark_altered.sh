#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A program with impossible times and one of another version: the trace, info and report say so.
set -u

cd "$TMPDIR" || exit 1
trap 'rm -rf "${TMPDIR:?}"/*' EXIT

fail() {
	echo "FAIL: $*"
	cat err out 2>/dev/null
	exit 1
}

"$XPUGAP" record -e mark -o odd.xpt -- "$BUILD/tests/e2e/mark_odd" >out 2>err || fail "record"
grep -q "not recorded: its library of marks is of another version" err || fail "nothing is said"
"$XPUGAP" info --json odd.xpt >out || fail "info"
python3 - <<'END' || fail "the trace does not say what was altered"
import json
info = json.load(open("out"))
facts = {k: v for k, v in info["facts"].items() if k.startswith(("mark.", "trace."))}
assert facts == {"mark.clamped": "2", "mark.refused": "1",
                 "mark.refused_why": "its library of marks is of another version"}, facts
[mark] = [h for h in info["hooks"] if h["hook"] == "mark"]
assert (mark["hits"], mark["records"], mark["lost"]) == (0, 7, 0), mark
# the two steps stand within the recording
assert {c["type"]: c["count"] for c in info["counts"]}["mark_step"] == 7
assert info["duration_ns"] < 60e9, info["duration_ns"]
END
"$XPUGAP" info odd.xpt >out || fail "info"
grep -Eq '^mark.clamped +2$' out || fail "info does not show the altered times"
"$XPUGAP" report odd.xpt >out 2>err || fail "report"
grep -q "2 records have another time" out || fail "the report does not warn"
grep -q "not let in" out || fail "the report does not tell of the refused process"

# where nothing was altered nothing is said of it
"$XPUGAP" record -e mark -o plain.xpt -- "$BUILD/tests/e2e/mark_tree" 1 1 50 >out 2>err || fail "record"
"$XPUGAP" info plain.xpt >out || fail "info"
! grep -Eq '^(mark|trace)\.' out || fail "facts of nothing"
"$XPUGAP" report plain.xpt >out 2>err || fail "report"
! grep -Eq "another time|not let in" out || fail "warnings of nothing"
