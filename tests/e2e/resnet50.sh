#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ResNet-50 on cpu in both types, and on null; what it may not be asked for.
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; cat "$dir"/err 2>/dev/null || true; exit 1; }

run() { "$XPUGAP" run resnet50 --size tiny --no-trace --data-dir "$dir/data" "$@"; }

run -o "$dir/cpu" >"$dir/out" 2>"$dir/err" || fail "tiny on cpu"
losses=$(grep -c '"loss"' "$dir"/cpu/*.data)
[ "$losses" = 6 ] || fail "6 losses expected, not $losses"
run --precision bf16 --kind processes -o "$dir/bf16" >"$dir/out" 2>"$dir/err" || fail "bf16"
grep -q emulated "$dir/err" "$dir"/bf16/* || fail "nobody says that bf16 is emulated"

run --device null -o "$dir/null" >"$dir/out" 2>"$dir/err" || fail "tiny on null"
! grep -q '"loss"' "$dir"/null/*.data || fail "null has computed a loss"

# the number of a class counts the empty ones before it: 1000 is one too many, 999 is not
mkdir -p "$dir/images"
(cd "$dir/images" && seq -f %04.0f 0 1000 | xargs mkdir)
mapfile -t files < <(find "$dir/data" -name '*.jpeg' -o -name '*.JPEG' -o -name '*.jpg' | head -8)
[ ${#files[@]} = 8 ] || fail "no images were made"
cp "${files[@]}" "$dir/images/0999"
run --data "$dir/images" -o "$dir/999" >"$dir/out" 2>"$dir/err" || fail "class 999 was refused"
mv "$dir/images/0999"/* "$dir/images/1000"
! run --data "$dir/images" -o "$dir/1000" >"$dir/out" 2>"$dir/err" || fail "class 1000 was accepted"
grep -q "has 1001 classes, more than 1000" "$dir/err" || fail "nobody says what is wrong with class 1000"
grep -q "setup failed" "$dir/err" "$dir"/1000/*.data || fail "class 1000 was found out too late"

for bad in "--batch-size 1" "--image-size 16" "--data $dir/nowhere"; do
	# shellcheck disable=SC2086
	! run $bad -o "$dir/bad" >"$dir/out" 2>"$dir/err" || fail "$bad was accepted"
	rm -rf "$dir/bad"
done
