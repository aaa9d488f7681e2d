#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The trace by itself: bytes and time per record for streams as recordings have them; see
# micro/trace.c.
set -eu

"$BUILD/tests/bench/micro/trace" | awk -v OFS='\t' '
	NR == 1 || $2 < 0 { next }
	{ note = "of " $3 " bytes in a ring" }
	{ print "trace: bytes of a record, " $1, $4, ($1 ~ /ioctl/ ? "<= 9" : "-"), note }
	{ print "trace: ns to write a record, " $1, $5, "<= 100", "" }
	{ print "trace: ns to read a record, " $1, $6, "-", "" }'
