#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What a mark costs the program, recorded and not; see mark.c.
set -eu

"$BUILD/tests/bench/mark" | awk -F '\t' -v OFS='\t' '
	# the bound of a span: 100 ns through shared memory
	{ print "mark: " $1 ", recorded", $2 " ns", ($1 == "span" ? "<= 100" : "-"), "" }
	{ print "mark: " $1 ", nobody records", $3 " ns", "-", "" }'
