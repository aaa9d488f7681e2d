#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What the test of that name claims, under other kernels; and a kernel on which io_uring is switched
# off, where there is that switch.
# kernels: 6.1 6.12
# timeout: 600
set -u

"$SRC/tests/e2e/io_uring.sh" 2 1 5 || exit 1
cd "$TMPDIR" || exit 1
trap 'rm -f rows trace err' EXIT
switch=/proc/sys/kernel/io_uring_disabled
[ -e $switch ] || exit 0

fail() {
	echo "$*"
	cat err
	exit 1
}

echo 2 >$switch
"$XPUGAP" doctor --json >rows 2>err
jq -e 'any(.[]; .kind == "hook" and .name == "io_uring" and .state == "limited" and
	(.remedy | contains("kernel.io_uring_disabled=0")))' rows >/dev/null || fail "doctor: $(cat rows)"
for option in '' --no-btf; do
	# shellcheck disable=SC2086 # none or one
	"$XPUGAP" record -q -f $option -e task,io_uring --require io_uring -o trace -- true 2>err &&
		fail "recorded what cannot be"
	grep -q "cannot attach probe 'io_uring': io_uring is switched off" err || fail "not said"
	# by default that is no reason to complain
	# shellcheck disable=SC2086 # none or one
	"$XPUGAP" record -q -f $option -o trace -- true 2>err || fail "the defaults"
	grep -q io_uring err && fail "complained"
done
echo 0 >$switch
exit 0
