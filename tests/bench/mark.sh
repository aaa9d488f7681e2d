#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What a mark costs the program, recorded and not: in C, see mark.c, and in Python, see mark.py.
set -eu

"$BUILD/tests/bench/mark" | awk -F '\t' -v OFS='\t' '
	# the bound of a span: 100 ns through shared memory
	{ print "mark: " $1 ", recorded", $2 " ns", ($1 == "span" ? "<= 100" : "-"), "" }
	{ print "mark: " $1 ", nobody records", $3 " ns", "-", "" }'

command -v python3 >/dev/null || exit 0
version=$(python3 -c 'import platform; print(platform.python_version())')
rows() {
	awk -F '\t' -v OFS='\t' -v when="$1" -v note="Python $version" '
		{ print "mark: Python, " $1 ", " when, $2 " ns", "-", note }'
}
"$XPUGAP" record -q -e mark -o "$TMPDIR/python.xpt" -- \
	python3 tests/bench/mark.py >"$TMPDIR/recorded"
rows recorded <"$TMPDIR/recorded"
PYTHONPATH=$BUILD/python python3 tests/bench/mark.py >"$TMPDIR/alone"
rows "nobody records" <"$TMPDIR/alone"
# marks that find no room cost less: there must be none
"$XPUGAP" info --json "$TMPDIR/python.xpt" | python3 -c '
import json, sys
lost = json.load(sys.stdin)["lost"]["records"]
sys.exit(f"{lost} marks were lost" if lost else 0)'
