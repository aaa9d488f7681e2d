# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# For tests that are shell scripts: how they fail, showing what a command said in the file err.

fail() {
	echo "FAIL: $*"
	echo "--- said:"
	cat err
	exit 1
}

# until_so COMMAND...: wait until it succeeds
until_so() {
	for _ in $(seq 600); do
		"$@" && return
		sleep 0.1
	done
	fail "never so: $*"
}

# whole HOOK: is no record of it lost in the file events? Of programs by classic tracepoints the
# kernel skips some now and then, those that come while another one runs, and counts them: a test of
# what is exact without that tries again. It is so of hook lock everywhere: an interrupt may wait for
# a lock while a wait is told of; tests of other hooks do not look at its losses.
whole() {
	jq -es --arg hook "$1" 'all(.type != "lost" or .fields.hook != $hook)' events >/dev/null
}
