#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The loader against libjpeg-turbo alone, on FakeImageNet's files; see micro/loader.c.
set -eu

"$BUILD/tests/bench/micro/loader" "$TMPDIR" "${PAIRS:-40}" >"$TMPDIR/out"
read -r loads bares ratio low high reads decodes augments collates <"$TMPDIR/out"
printf 'loader: images/s of a core, as a ratio to libjpeg-turbo alone\t%s\t>= 0.9\t%s\n' "$ratio" \
	"95 % $low-$high; $loads/s and $bares/s"
printf 'loader: us an image\t%s\t-\tread %s, decode %s, augment %s, collate %s\n' \
	"$((reads + decodes + augments + collates))" "$reads" "$decodes" "$augments" "$collates"
