#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs whose limits do not let them make the rings of their marks: the recorder says why, and
# each mark that is lost by it is counted.
set -u

cd "$TMPDIR" || exit 1
trap 'rm -rf "${TMPDIR:?}"/*' EXIT

# shellcheck source=tests/common.sh
. "$SRC/tests/common.sh"

# limited HOW: record a program that is limited so
limited() {
	"$XPUGAP" record -f -e mark -o t.xpt -- "$BUILD/tests/e2e/mark_limits" "$1" 1000 >out 2>err ||
		fail "$1: the program was disturbed: $?"
	"$XPUGAP" info --json t.xpt >facts || fail "info"
	"$XPUGAP" report t.xpt 2>err2 | tr -s " \n" " " >said || fail "report"
}

# told REASON LOST
told() {
	grep -q "marks of process [0-9]* (uid [0-9]*) are not recorded: .*($1)" err || fail "nothing said of $1"
	grep -q "not let in (.*($1)): some of its steps may be missing" said || fail "the report knows nothing of $1"
	python3 - "$1" "$2" <<'END' || fail "the trace does not know $1"
import json, sys
info = json.load(open("facts"))
assert info["facts"]["mark.refused"] == "1", info["facts"]
assert sys.argv[1] in info["facts"]["mark.refused_why"], info["facts"]
[mark] = [h for h in info["hooks"] if h["hook"] == "mark"]
assert (mark["records"], mark["lost"]) == (0, int(sys.argv[2])), mark
END
}

limited files
told "ulimit -n" 1000
limited used
told "ulimit -n" 1000
# of this there is no hope: they are not counted, as of others who are not let in
limited size
told "ulimit -f" 0
exit 0
