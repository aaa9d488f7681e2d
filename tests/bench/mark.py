# SPDX-License-Identifier: BSD-2-Clause
"""What a mark of a Python program costs it: batches that alternate with batches of an empty loop.

Prints, for each kind, the median over the batches, in ns. A pause after each batch lets a recorder
that shares our processor keep the rings empty.
"""

import statistics
import time

import xpugap_mark as m

BATCHES, PER_BATCH = 301, 500


def nothing(n):
    for _ in n:
        pass


def steps(n):
    for i in n:
        m.step(i, 32)


def counted_steps(n):
    for _ in n:
        m.step(items=32)


def ranges(n):
    for _ in n:
        with m.range("forward"):
            pass


def counters(n):
    for _ in n:
        m.counter("loss", 0.5)


def batch(function):
    begin = time.perf_counter_ns()
    function(range(PER_BATCH))
    return (time.perf_counter_ns() - begin) / PER_BATCH


def measure(function):
    costs = []
    for _ in range(BATCHES):
        costs.append(batch(function) - batch(nothing))
        time.sleep(0.0005)
    return statistics.median(costs)


for name, function in (("step", steps), ("step without a number", counted_steps),
                       ("range, both ends", ranges), ("counter", counters)):
    print(f"{name}\t{measure(function):.0f}")
