# SPDX-License-Identifier: BSD-2-Clause
"""Tests that run in guests, by scripts/vm: one boot for all tests that want the same guest.

A test says in its head what it wants:

    # kernels: 6.1 6.12                  it runs once under each
    # append: lockdown=integrity         more for the kernel's command line
    # qemu: -device edu                  more for QEMU
    # modules: edudma                    kernel modules that it loads: those of tests/guest/modules are
                                         built, into $BUILD/tests/guest/modules/RELEASE
    # timeout: 300                       seconds, as for every test

Inside, tests/run is at work as outside; it tells in a journal, line by line, which test has begun
and how it went. Should a guest die in the middle of a test, that test has failed, and those after
it get another guest.
"""

import fnmatch
import json
import os
import re
import shutil
import subprocess
import tempfile

BOOT_SECONDS = 180  # on a machine that is busy with other things
TEST_SECONDS = 10  # what a test may take besides its own time
# What a kernel says where one thread of the emulator goes on with a stale copy of code that the
# kernel has patched in another: it loops, or takes a breakpoint that is there no more.
EMULATOR = ("soft lockup", "Oops: int3")


def header(path, key):
    with open(path, encoding="utf-8", errors="replace") as f:
        match = re.search(rf"^# {key}: (.*)$", f.read(4096), re.M)
    return match.group(1).strip() if match else ""


class Journal:
    """What the runner in the guest tells."""

    def __init__(self, path):
        self.done, self.begun = [], None
        try:
            with open(path, encoding="utf-8", errors="replace") as f:
                lines = f.read().split("\n")[:-1]  # the last one may have been cut
        except OSError:
            lines = []
        for line in lines:
            entry = json.loads(line)
            if entry["verdict"] == "begin":
                self.begun = entry["name"]
            else:
                self.done.append(entry)
                self.begun = None


class Boots:
    def __init__(self, runner, src, limit_of):
        self.runner = runner
        self.tally = runner.tally
        self.src = src
        self.limit_of = limit_of
        self.built = {}  # series: how building modules for it went
        self.have = {}  # series: why it cannot be had, None if it can
        self.again = set()  # tests that got a second guest

    def plan(self, paths, match):
        """{(kernel, append, qemu): [path]}, only tests whose name fits"""
        guests = {}
        for path in paths:
            name = os.path.splitext(os.path.basename(path))[0]
            kernels = header(path, "kernels").split()
            if not kernels:
                self.tally.fail(f"guest/{name}", "no line '# kernels:' in it")
            for kernel in kernels:
                if any(fnmatch.fnmatch(x, match or "*") for x in (name, f"guest/{kernel}/{name}")):
                    key = (kernel, header(path, "append"), header(path, "qemu"))
                    guests.setdefault(key, []).append(os.path.abspath(path))
        return guests

    def run(self, paths, match):
        """Kernels beside each other: an emulator has one thread."""
        guests = self.plan(paths, match)
        kernels = sorted({kernel for kernel, _, _ in guests})
        if len(kernels) < 2 or os.cpu_count() < 2:
            self.run_guests(guests)
            return
        self.runner.split([lambda k=k: self.run_guests(guests, k) for k in kernels])

    def run_guests(self, guests, kernel=None):
        for key, tests in sorted(guests.items()):
            if kernel in (None, key[0]):
                self.run_guest(key, tests)

    def run_guest(self, key, tests):
        why = self.lacks(key[0])
        if not why and any(header(path, "modules") for path in tests):
            tests, why = self.with_modules(key, tests)
        for path in tests if why else ():
            self.tally.skip(self.name(key, path), why)
        while tests and not why:
            tests = self.boot(key, tests)

    def lacks(self, kernel):
        if kernel not in self.have:
            done = subprocess.run(
                [os.path.join(self.src, "scripts/vm"), "--prepare", "--kernel", kernel],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                check=False,
            )
            words = done.stdout.strip().splitlines() or ["scripts/vm cannot be run"]
            self.have[kernel] = words[-1].removeprefix("vm: ") if done.returncode else None
        return self.have[kernel]

    def with_modules(self, key, tests):
        """The tests that can be run once modules are built, and why not all can."""
        if key[0] not in self.built:
            folder = os.path.join(self.src, "tests/guest/modules")
            into = os.path.join(self.runner.build, "tests/guest/modules")
            command = [os.path.join(self.src, "scripts/vm"), "--kernel", key[0]]
            self.built[key[0]] = subprocess.run(
                [*command, "--modules", folder, "--into", into],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                check=False,
            )
        done = self.built[key[0]]
        if not done.returncode:
            return tests, None
        rest = []
        words = done.stdout.strip().splitlines() or ["scripts/vm cannot be run"]
        for path in tests:
            if not header(path, "modules"):
                rest.append(path)
            elif "cannot build modules" in done.stdout:
                self.tally.fail(self.name(key, path), words[-1], done.stdout)
            else:
                self.tally.skip(self.name(key, path), words[-1].removeprefix("vm: "))
        return rest, None

    @staticmethod
    def name(key, path):
        return f"guest/{key[0]}/{os.path.splitext(os.path.basename(path))[0]}"

    def command(self, key, tests, out, limit):
        kernel, append, qemu = key
        args = self.runner.args
        command = [os.path.join(self.src, "scripts/vm"), "--kernel", kernel, "--out", out]
        command += ["--timeout", f"{limit:.0f}"]
        command += ["--append=" + append] if append else []
        command += ["--qemu=" + qemu] if qemu else []
        command += ["--", os.path.join(self.src, "tests/run"), "--build", self.runner.build]
        command += ["--slow", f"{args.slow:g}", "--journal", os.path.join(out, "journal")]
        return command + tests

    def boot(self, key, tests):
        """Run tests in one guest; returns those that are still to be run in another."""
        limit = BOOT_SECONDS + sum(
            self.limit_of(path, self.runner.args.timeout) + TEST_SECONDS for path in tests
        )
        limit *= self.runner.args.slow
        out = tempfile.mkdtemp(prefix="xpugap-guest.")
        try:
            status, text, _, left = self.runner.execute(
                self.command(key, tests, out, limit), limit + 30
            )
            journal = Journal(os.path.join(out, "journal"))
        finally:
            shutil.rmtree(out, ignore_errors=True)
        for entry in journal.done:
            self.tell(self.name(key, entry["name"]), entry)
        if left:
            self.tally.fail(f"guest/{key[0]}", "left behind: " + ", ".join(left), text)
        rest = tests[len(journal.done) :]
        if not rest:
            return []
        died = f"the guest ended in the middle of it (exit status {status})"
        mishap = next((m for m in EMULATOR if m in text), None)
        if journal.begun and mishap and (key, rest[0]) not in self.again:
            self.again.add((key, rest[0]))
            self.tally.line("again", self.name(key, rest[0]), f"the emulator's fault: {mishap}")
            return rest
        if journal.begun:
            self.tally.fail(self.name(key, rest[0]), died, text)
            return rest[1:]
        for path in rest:
            self.tally.fail(self.name(key, path), "its guest did not get that far", text)
            text = ""
        return []

    def tell(self, name, entry):
        if entry["verdict"] == "ok":
            self.tally.ok(name, entry["seconds"])
        elif entry["verdict"] == "skip":
            self.tally.skip(name, entry["why"])
        else:
            self.tally.fail(name, entry["why"], entry["output"])
