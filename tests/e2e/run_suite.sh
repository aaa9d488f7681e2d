#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# The suite's own workloads at size tiny, and the input pipeline within one of them.
set -u

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
data=${XPUGAP_TEST_DATA:-$dir/data} # generated input may be kept between runs

fail() {
	echo "FAIL: $*"
	cat "$dir/err"
	exit 1
}

# run STATUS DIR ARGS...
run() {
	local want=$1 out=$2 got
	shift 2
	"$XPUGAP" run "$@" --size tiny --no-trace --data-dir "$data" -o "$dir/$out" \
		>"$dir/out" 2>"$dir/err"
	got=$?
	[ "$got" = "$want" ] || fail "'run $*' exited with $got, expected $want"
}

said() {
	grep -q -- "$1" "$dir/err" || fail "nothing said of '$1'"
}

losses() {
	grep -o '"loss": [^}]*' "$dir/$1/resnet50.D0.data"
}

# under AddressSanitizer: its search for leaks faults in thread-local storage of dlopen'ed libraries
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

shm_before=$(ls /dev/shm 2>/dev/null)

# ---- every workload, computed and not ----

run 0 all all -d cpu,null
"$XPUGAP" list workloads --json >"$dir/list"
python3 - "$dir" <<'END' || fail "not every workload did what it should"
import glob, json, sys
for w in json.load(open(sys.argv[1] + "/list"))["workloads"]:
    for i, device in enumerate(("cpu", "null")):
        events = {}
        for line in open("%s/all/%s-%s.D%d.data" % (sys.argv[1], w["name"], device, i)):
            x = json.loads(line)
            events.setdefault(x["event"], []).append(x["data"])
        rates = [d["rate"] for d in events["data"] if "rate" in d]
        assert len(rates) == w["stop_tiny"] + 1 and all(r > 0 for r in rates), (w, rates)
        assert {d["units"] for d in events["data"] if "rate" in d} == {w["unit"]}
        assert "stop" in events and events["end"][0]["return_code"] == 0
END

python3 - "$dir" <<'END' || fail "config.json does not say what ran"
import json, sys
config = json.load(open(sys.argv[1] + "/all/config.json"))
options = {w["name"]: w["options"] for w in config["workloads"]}
assert options["flops"]["n"] == 256 and options["flops"]["number"] == 10, options
assert options["resnet50"]["batch-size"] == 4 and options["resnet50"]["image-size"] == 32, options
assert [w["stop"] for w in config["workloads"]] == [5, 5] and config["seed"] == 1
END

# ---- workers of all kinds load the same ----

run 0 threads resnet50 --workers 3
run 0 processes resnet50 --workers 2 --kind processes --prefetch 1
run 0 alone resnet50 --workers 0
[ "$(losses threads | wc -l)" = 6 ] || fail "not six losses"
# the first depends on nothing but the images; later ones also on the order of additions
for kind in processes alone; do
	[ "$(losses $kind | head -n 1 | cut -c 1-16)" = "$(losses threads | head -n 1 | cut -c 1-16)" ] ||
		fail "$kind: $(losses $kind), threads: $(losses threads)"
done
run 0 seed resnet50 --workers 2 --seed 2
[ "$(losses seed | head -n 1)" != "$(losses threads | head -n 1)" ] || fail "the seed does nothing"

# ---- a worker that is killed ----

"$XPUGAP" run resnet50 --size tiny --no-trace --data-dir "$data" -o "$dir/killed" --kind processes \
	--workers 2 --stop 100000 >"$dir/out" 2>"$dir/err" &
pid=$!
for ((i = 0; i < 2000; i++)); do
	grep -qs '"rate"' "$dir/killed/resnet50.D0.data" && break
	sleep 0.02
done
main=$(pgrep -P $pid)
worker=$(pgrep -P "$main" 'loader/1')
kill -KILL "$worker" || fail "no process 'loader/1' among $(pgrep -P "$main" -l)"
wait $pid
[ $? = 1 ] || fail "with a worker killed it exited with $?"
said "loader worker 1 (process $worker) was killed by signal 9"
said 'resnet50.D0 failed: exited with status 1'

# ---- bad input ----

cp -r "$(echo "$data"/fakeimagenet-*)" "$dir/mine"
rm -f "$dir/mine/manifest.json"
victim=$(find "$dir/mine" -name '*.jpeg' | head -n 1)
truncate -s 20000 "$victim"
run 1 truncated resnet50 --data "$dir/mine"
said "cannot load '$victim': the file is truncated"
: >"$victim"
run 1 empty resnet50 --data "$dir/mine" --kind processes
said "cannot load '$victim': the file is empty"
find "$dir/mine" -name '*.jpeg' -delete
run 1 none resnet50 --data "$dir/mine"
said 'no JPEG files in the subfolders'
run 1 missing resnet50 --data "$dir/nowhere"
said "cannot open the data folder '$dir/nowhere': no such file"

"$XPUGAP" run resnet50 --workers 64 --images 8 --size tiny --no-trace --data-dir "$data" -n 1 \
	-o "$dir/crowd" >"$dir/out" 2>"$dir/err" || fail "more workers than files: $?"
ls -d "$data"/fakeimagenet-8 >/dev/null || fail "no new set of images"

# ---- nothing is left ----

pgrep -f "^$XPUGAP workload" >/dev/null && fail "a workload is left"
[ "$(ls /dev/shm 2>/dev/null)" = "$shm_before" ] || fail "shared memory is left"
find "$data" -name '*.part' | grep -q . && fail "half files are left"
exit 0
