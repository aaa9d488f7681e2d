#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# ResNet-50 trained by the cpu device beside PyTorch: same shape, batch and threads, blocks of steps
# in turn, each with PyTorch's faster layout of memory. Without a loader.
#
# PAIRS (default 12) blocks of STEPS (4); CORES (all) as the device's name has them. CPU_TIME=1
# counts CPU time, which with one core means something on a busy machine, too.
set -eu

PYTHON=${PYTHON:-/usr/bin/python3}
"$PYTHON" -c 'import torch' 2>/dev/null || { echo "needs PyTorch (Debian: python3-torch)"; exit 77; }
exec "$PYTHON" - "$BUILD/tests/bench/micro/train" "$SRC/tests/bench/torch_resnet.py" <<'PY'
import os, random, statistics, subprocess, sys

train, torch = sys.argv[1:]
pairs, steps = int(os.environ.get("PAIRS", "12")), int(os.environ.get("STEPS", "4"))
cores = os.environ.get("CORES", ",".join(map(str, sorted(os.sched_getaffinity(0)))))
count = sum(int(r.split("-")[-1]) - int(r.split("-")[0]) + 1 for r in cores.split(","))
where = ["taskset", "-c", cores]


def start(command):
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def block(p, n):
    p.stdin.write(f"{n}\n")
    p.stdin.flush()
    return float(p.stdout.readline().split()[1 if os.environ.get("CPU_TIME") else 0])


def compare(batch, side):
    ours = start([train, "cpu:" + cores, str(batch), str(side)])
    theirs = [start([*where, sys.executable, torch, str(count), str(batch), str(side), *layout])
              for layout in ([], ["channels_last"])]
    every = [ours, *theirs]
    for p in every:
        block(p, 2)
    rows = []
    for _ in range(pairs):
        order = random.sample(range(3), 3)
        took = {i: block(every[i], steps) for i in order}
        rows.append([took[i] for i in range(3)])
    for p in every:
        p.stdin.close()
        p.wait()
    return rows


def ratio(rows):
    ours, *theirs = (statistics.median(r[i] for r in rows) for i in range(3))
    return min(theirs) / ours


for batch, side in ((16, 64), (32, 64), (16, 224)):
    rows = compare(batch, side)
    rng = random.Random(1)
    spread = sorted(ratio(rng.choices(rows, k=len(rows))) for _ in range(2000))
    rate = [batch * steps / statistics.median(r[i] for r in rows) for i in range(3)]
    print(f"resnet50 batch {batch}, {side} px, {count} threads: images/s as a ratio to PyTorch\t"
          f"{ratio(rows):.2f}\t>= 1.0\t95 % {spread[50]:.2f}-{spread[1950]:.2f}; {rate[0]:.1f}/s, "
          f"PyTorch {rate[1]:.1f}, channels last {rate[2]:.1f}", flush=True)
PY
