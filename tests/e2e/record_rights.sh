#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Recording with all rights, some, and none; as the user behind sudo; rights given up.
# timeout: 120
set -u
# shellcheck source=tests/common.sh
. "$SRC/tests/common.sh"

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
command -v setpriv >/dev/null || { echo "needs setpriv"; exit 77; }
dir=$(mktemp -d /tmp/rights.XXXXXX)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
cd "$dir" || exit 1
# where anybody can run them
cp "$XPUGAP" xpugap
cp "$BUILD/tests/e2e/ioctl_tree" ioctl_tree
chmod 755 xpugap ioctl_tree
mkdir his
chown 65534:65534 his
cd his || exit 1

# gave_up PID: no thread of it has rights any more
gave_up() {
	! grep -h '^CapPrm' "/proc/$1/task"/*/status | grep -qv ':	0*$'
}

said() {
	grep -q -- "$1" err || fail "nothing said of '$1'"
}

# holds EXPRESSION: a jq program over the array of records of t must be true
holds() {
	jq -es "$1" events >/dev/null || { cat events; fail "not so: $1"; }
}

as_nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

# ---- no rights: the target runs, what is missing is said, and stands in the trace ----

as_nobody ../xpugap record -o t -- ../ioctl_tree 2 1 10 >out 2>err || fail "without rights"
[ "$(cat out)" = 20 ] || fail "the target did not run"
for probe in task sched ioctl; do
	said "cannot attach probe '$probe': needs CAP_BPF and CAP_PERFMON"
done
"$XPUGAP" dump --json t >events || fail "dump"
holds '[.[] | select(.type == "hook" and .fields.state == "refused")] | map(.fields.hook) |
	unique == ["block", "fault", "gpu", "io_uring", "irq", "lock", "reclaim", "sched", "sideband", "syscall", "task"]'
holds 'any(.type == "hook" and .fields.hook == "mark" and .fields.state == "attached")'
holds 'any(.fields.value == "exited with status 0")'
# nobody tells who lives on: there is nothing to wait for
as_nobody timeout 60 ../xpugap record -f -o t --wait-tree -- true 2>err || fail "--wait-tree"
rm -f out
as_nobody ../xpugap record -f -o t --require ioctl -- ../ioctl_tree 2 1 10 >out 2>err &&
	fail "--require without rights is no success"
said "cannot attach probe 'ioctl': needs CAP_BPF"
[ -s out ] && fail "the target ran"
as_nobody ../xpugap doctor >out 2>err && fail "doctor is content without rights"
grep -q 'hook  *ioctl  *missing' out || fail "doctor: $(cat out)"

# ---- CAP_BPF and CAP_PERFMON only: everything but what tracefs tells ----

as_nobody --inh-caps=+bpf,+perfmon --ambient-caps=+bpf,+perfmon \
	../xpugap record -f -o t --require task,sched,ioctl -- ../ioctl_tree 6 2 50 >out 2>err ||
	fail "with CAP_BPF and CAP_PERFMON"
"$XPUGAP" dump --json t >events || fail "dump"
holds "[.[] | select(.type == \"ioctl\" and .fields.cmd == \"0x7801\")] | length == $(cat out)"
holds '[.[] | select(.type == "hook")] | all((.fields.state | IN("attached", "off")) or
	(.fields.hook == "gpu" and .fields.way == "fence tp_btf" and (.fields.reason | contains("tracefs"))))'
as_nobody --inh-caps=+bpf --ambient-caps=+bpf ../xpugap record -f -o t -- true 2>err || fail "CAP_BPF"
said "needs CAP_PERFMON besides CAP_BPF"

# ---- through sudo: as the caller, whose trace it is ----

export SUDO_UID=65534 SUDO_GID=65534
mkfifo gate
../xpugap record -f -o t -- sh -c 'id -u; id -g; grep CapEff /proc/self/status; read -r _ || :' \
	<gate >out 2>err &
pid=$!
exec 9>gate
until_so grep -q CapEff out
# the recorder has given up what it had
until_so gave_up $pid
grep -q '^Uid:	65534	65534	65534	65534$' /proc/$pid/status || fail "$(grep Uid /proc/$pid/status)"
grep -q '^Gid:	65534	65534	65534	65534$' /proc/$pid/status || fail "$(grep Gid /proc/$pid/status)"
grep -q '^CapEff:	0*$' /proc/$pid/status || fail "$(grep CapEff /proc/$pid/status)"
grep -q '^CapPrm:	0*$' /proc/$pid/status || fail "$(grep CapPrm /proc/$pid/status)"
exec 9>&-
wait $pid || fail "through sudo"
[ "$(sed -n 1,2p out | xargs)" = "65534 65534" ] || fail "ran as $(xargs <out)"
grep -q '^CapEff:	0*$' out || fail "the target has $(grep Cap out)"
[ "$(stat -c '%u:%g %a' t)" = '65534:65534 600' ] || fail "the trace is $(stat -c '%u:%g %a' t)"
"$XPUGAP" dump --json t >events || fail "dump"
holds 'any(.type == "task" and .fields.uid == 65534 and .fields.flags == "0x1")'
holds '[.[] | select(.type == "hook")] | all(.fields.state | IN("attached", "off"))'
holds '[.[] | select(.type == "task_exit")] | length == 4'
# where he may not write, root does not write for him
../xpugap record -o ../t -- true 2>err && fail "wrote where the caller may not"
said "cannot create '../t': permission denied"
../xpugap record -f -o t --as-root -- id -u >out 2>err || fail "--as-root"
[ "$(cat out)" = 0 ] || fail "--as-root ran as $(cat out)"
[ "$(stat -c %u t)" = 0 ] || fail "--as-root: the trace is of $(stat -c %u t)"
SUDO_UID=nobody ../xpugap record -f -o t -- true 2>err && fail "a SUDO_UID that is none was taken"
said "'SUDO_UID=nobody' is no user"

# ---- as root without sudo: the recorder gives up its capabilities all the same ----

unset SUDO_UID SUDO_GID
# shellcheck disable=SC2016 # for that shell to expand
../xpugap record -f -o t -- sh -c '
	for i in $(seq 100); do
		grep -h "^CapPrm" /proc/$PPID/task/*/status | grep -qv ":.0*$" || break
		sleep 0.1
	done
	cat /proc/$PPID/task/*/status' >out 2>err || fail "as root"
grep 'Cap[EP]' out | grep -v ':	0*$' && fail "the recorder kept this"

# ---- older files where only root's rights may replace them: put back or gone, as the program runs ----

chown 65534:65534 .
rm -f out t
printf '#!%s/no-interpreter\n' "$dir" >bad
chmod 755 bad
# replaces WHO HOW WHAT...: as that user behind sudo, none: as root
replaces() {
	local who=$1 how=$2
	shift 2
	rm -rf t*
	echo old >t
	echo old >t.0007.xpt
	chown 65534:65534 t t.0007.xpt
	[ -z "$who" ] || export SUDO_UID=$who SUDO_GID=$who
	# shellcheck disable=SC2086 # words
	../xpugap record -f -e mark -o t $how -- "$@" 2>err
	set -- $?
	unset SUDO_UID SUDO_GID
	return "$1"
}
for who in 65534 ""; do
	for how in "" "--flight 1h"; do
		replaces "$who" "$how" ./bad && fail "ran a script without its interpreter"
		[ "$(echo t*)" = "t t.0007.xpt" ] || fail "'$who' '$how': left $(echo t*)"
		[ "$(sort -u t*)" = old ] || fail "'$who' '$how': the old files are not what they were"
	done
	replaces "$who" "" true || fail "'$who': no older file is replaced"
	[ "$(echo t*)" = "t t.0007.xpt" ] || fail "'$who': left $(echo t*)"
	"$XPUGAP" info t >out 2>err || fail "'$who': the older file is not replaced"
done
replaces 65534 "--flight 1h" true || fail "no older files are replaced"
[ "$(echo t*)" = "t t.0001.xpt" ] || fail "left $(echo t*)"
"$XPUGAP" info t.0001.xpt >out 2>err || fail "the new file is none"
exit 0
