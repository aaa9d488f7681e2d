# SPDX-License-Identifier: BSD-2-Clause
"""The guest's first file system: a shell, the modules that reach the host, and our init.

An archive in cpio's "newc" format, described in the kernel's
Documentation/driver-api/early-userspace/buffer-format.rst.
"""

import os
import shutil

from kernels import PATH, Failure

APPLETS = ("sh", "cat", "cp", "insmod", "mkdir", "mount", "poweroff", "switch_root")
# in 6.1 some of these are modules that are part of the kernel in 6.12
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")


class Cpio:
    def __init__(self, out):
        self.out = out
        self.inode = 0
        self.at = 0

    def write(self, data):
        self.out.write(data)
        self.at += len(data)

    def pad(self):
        self.write(b"\0" * (-self.at % 4))

    def add(self, name, mode, data=b""):
        path = os.fsencode(name) + b"\0"
        self.inode += 1
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
        self.write(b"070701" + b"".join(b"%08x" % field for field in fields) + path)
        self.pad()
        self.write(data)
        self.pad()

    def folder(self, name):
        self.add(name, 0o040755)

    def file(self, name, data, mode=0o755):
        self.add(name, 0o100000 | mode, data)

    def link(self, name, to):
        self.add(name, 0o120777, os.fsencode(to))

    def end(self):
        self.add("TRAILER!!!", 0)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def module_files(kernel):
    """Files of MODULES with what they need, each after what it needs."""
    base = os.path.join(kernel, "lib/modules", os.path.basename(kernel))
    needs = {}
    with open(os.path.join(base, "modules.dep"), encoding="ascii") as f:
        for line in f:
            path, _, rest = line.partition(":")
            needs[path] = rest.split()
    names = {os.path.basename(path).removesuffix(".ko"): path for path in needs}
    ordered = []
    for name in MODULES:
        if name in names:  # else it is part of the kernel
            # the line lists all that is needed, the most basic last
            ordered += [*reversed(needs[names[name]]), names[name]]
    return [os.path.join(base, path) for path in dict.fromkeys(ordered)]


def busybox():
    """A busybox that needs no libraries."""
    path = shutil.which("busybox", path=PATH)
    if path and b"/ld-linux-x86-64.so" not in read(path)[:4096]:
        return path
    raise Failure(
        "a static busybox is not installed: apt-get install busybox-static (or scripts/setup --tests)"
    )


def write(path, kernel, init, files):
    """Write the archive: @init, and @files, a dictionary of what init finds in /vm."""
    with open(path, "wb") as out:
        cpio = Cpio(out)
        for name in ("bin", "dev", "proc", "sys", "vm", "host", "over", "root", "modules"):
            cpio.folder(name)
        cpio.file("bin/busybox", read(busybox()))
        for applet in APPLETS:
            cpio.link("bin/" + applet, "busybox")
        order = []
        for module in module_files(kernel):
            order.append(os.path.basename(module))
            cpio.file("modules/" + order[-1], read(module), 0o644)
        cpio.file("modules/order", "".join(name + "\n" for name in order).encode(), 0o644)
        cpio.file("init", read(init))
        for name, data in files.items():
            cpio.file("vm/" + name, data)
        cpio.end()
