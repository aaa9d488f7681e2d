#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# doctor: what it finds is what the system itself says, and each thing missing has a remedy.
set -u

tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
chmod 755 "$tmp"

fail() {
	echo "$*"
	exit 1
}

# the JSON of a run, checked: well-formed, rows as in the text, a remedy for what is missing
check() {
	local json=$1 text=$2 status=$3
	python3 - "$json" "$text" "$status" <<-'END' || exit 1
		import json, os, re, sys
		rows = json.load(open(sys.argv[1]))
		text = open(sys.argv[2]).read()
		table, _, advice = text.partition("what to do:")
		for row in rows:
		    line = rf"^{row['kind']} +{row['name']} +{row['state']} "
		    assert re.search(line, table, re.M), f"not in the text: {row}"
		    assert row["state"] in ("ok", "limited", "missing"), row
		    assert row["what"] and row["why"] and row["found"], row
		    if row["state"] == "ok":
		        assert not row["remedy"], row
		    else:
		        assert row["remedy"] and row["remedy"] in advice, row
		found = {(r["kind"], r["name"]): r for r in rows}
		assert found["machine", "kernel"]["found"].split()[0] == os.uname().release
		cpus = len([1 for l in open("/proc/stat") if re.match(r"cpu\d", l)])
		assert found["machine", "cpus"]["found"].startswith(f"{cpus} online"), cpus
		btf = os.path.exists("/sys/kernel/btf/vmlinux")
		assert (found["machine", "btf"]["state"] == "ok") == btf
		assert found["device", "null"]["state"] == "ok"
		missing = any(r["state"] == "missing" for r in rows)
		assert int(sys.argv[3]) == int(missing), f"exit status {sys.argv[3]}"
	END
}

run() {
	"$@" doctor >"$tmp/text" 2>"$tmp/err"
	status=$?
	"$@" doctor --json >"$tmp/json" 2>>"$tmp/err"
	[ ! -s "$tmp/err" ] || fail "it complained: $(cat "$tmp/err")"
	check "$tmp/json" "$tmp/text" $status
}

run "$XPUGAP"
if [ "$(id -u)" -eq 0 ] && [ -e /sys/kernel/btf/vmlinux ]; then
	for probe in task sched ioctl block; do
		grep -Eq "^hook +$probe +ok +by " "$tmp/text" || fail "root cannot attach '$probe':
$(cat "$tmp/text")"
	done
fi

# without any right: every hook is missing, and the remedy is named
if [ "$(id -u)" -eq 0 ]; then
	cp "$XPUGAP" "$tmp/xpugap"
	chmod 755 "$tmp/xpugap"
	run setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$tmp/xpugap"
	! grep -E '^hook +.* ok ' "$tmp/text" || fail "a hook attached without rights"
	grep -q 'needs CAP_BPF and CAP_PERFMON' "$tmp/text" || fail "the remedy is not named"
fi

"$XPUGAP" doctor nonsense >"$tmp/text" 2>&1
[ $? -eq 2 ] || fail "an operand was accepted: $(cat "$tmp/text")"
"$XPUGAP" doctor >/dev/full 2>"$tmp/err" && fail "a full disk went unnoticed"
exit 0
