# SPDX-License-Identifier: BSD-2-Clause
"""Kernels that a guest boots: Debian's packages, fetched once, unpacked, never installed.

A kernel lies in a folder of the store named after its release, as `uname -r` says it:

    vmlinux             the ELF file out of boot/vmlinuz, which needs no decompressing in the guest
    lib/modules/        modules, decompressed, with depmod's files
    boot/               what the package had there

Which packages there are is asked of the mirror each time something is missing: point versions
vanish from it, and the newest of a series is taken. apt does the fetching and checks signatures,
with lists and a cache of its own, so no rights are needed and the system's apt is left alone.
"""

import contextlib
import fcntl
import filecmp
import lzma
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

DEFAULT = ("6.1", "6.12")  # what tests need
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
MIRROR = "http://deb.debian.org"
# archive, suite: the first holds 6.1 and 6.12, the second newer ones
SOURCES = (("debian-security", "bookworm-security"), ("debian", "trixie-backports"))
NAME = re.compile(r"linux-image-((\d[\d.]*\d)(-\d+|\+deb\d+)-amd64)")
UNPACKED = 8  # a kernel takes about that many times its packages' size while it is unpacked
PATH = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"


class Failure(Exception):
    """What cannot be done, and the remedy, as one line."""


def say(text):
    print(f"vm: {text}", file=sys.stderr, flush=True)


def tool(name, package):
    path = shutil.which(name, path=PATH)
    if not path:
        raise Failure(
            f"'{name}' is not installed: apt-get install {package} (or scripts/setup --tests)"
        )
    return path


def store():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "xpugap", "vm")


def release_key(release):
    return [int(n) for n in re.findall(r"\d+", release)]


def fits(series, release):
    """Whether @release is the one asked for, or belongs to the series: 6.1 is not 6.12."""
    return release in (series, series + "-amd64") or release.startswith(series + ".")


def prepared():
    """Releases in the store, the newest last."""
    try:
        names = os.listdir(store())
    except OSError:
        return []
    names = [n for n in names if os.path.exists(os.path.join(store(), n, "vmlinux"))]
    return sorted((n for n in names if not n.startswith(".")), key=release_key)


def newest(series, releases):
    found = [r for r in releases if fits(series, r)]
    return max(found, key=release_key) if found else None


def find(series):
    """The folder of the newest kernel of a series in the store, or None."""
    release = newest(series, prepared())
    return os.path.join(store(), release) if release else None


def command(args, what, **kw):
    """Run a tool; what it complained of is the reason if it fails."""
    try:
        done = subprocess.run(
            args,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, "PATH": PATH, "LC_ALL": "C"},
            check=False,
            **kw,
        )
    except OSError as e:
        raise Failure(f"cannot {what}: {args[0]}: {e.strerror}") from e
    if done.returncode:
        raise Failure(f"cannot {what}: {last_words(done.stderr + done.stdout)}")
    return done.stdout


def last_words(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if "No space left on device" in text:
        return "no space left on device"
    errors = [line for line in lines if line.startswith("E: ")]
    return (errors or lines or ["it gave no reason"])[-1]


# ---- packages ----


class Apt:
    """apt with a folder of its own for everything that it writes."""

    def __init__(self, folder):
        tool("apt-get", "apt")
        if not os.path.exists(KEYRING):
            raise Failure(f"'{KEYRING}' is missing: apt-get install debian-archive-keyring")
        for name in ("lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        with open(os.path.join(folder, "sources.list"), "w", encoding="ascii") as f:
            for archive, suite in SOURCES:
                f.write(f"deb [arch=amd64 signed-by={KEYRING}] {self.mirror(suite)}/{archive}")
                f.write(f" {suite} main\n")
        settings = {
            "Dir::Etc::sourcelist": os.path.join(folder, "sources.list"),
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::State::lists": os.path.join(folder, "lists"),
            "Dir::State::status": "/dev/null",
            "Dir::Cache": os.path.join(folder, "cache"),
            "APT::Architecture": "amd64",
            "APT::Sandbox::User": "",
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
        }
        self.options = [x for key, value in settings.items() for x in ("-o", f"{key}={value}")]

    @staticmethod
    def mirror(suite):
        """The mirror that the system uses for the suite, else for the others, else Debian's."""
        text = ""
        with contextlib.suppress(Failure):
            form = "$(RELEASE) $(REPO_URI)"
            text = command(["apt-get", "indextargets", "--format", form], "ask apt for its mirror")
        sites = dict(re.findall(r"^(\S+) (https?://\S+?)/debian(?:-security)?/?$", text, re.M))
        return sites.get(suite) or sites.get("bookworm") or MIRROR

    def update(self):
        # a suite that cannot be reached is a warning to apt, and the other may be enough
        command(["apt-get", "-q", *self.options, "update"], "reach the Debian mirror (is there a network?)")

    def releases(self):
        names = command(["apt-cache", *self.options, "pkgnames", "linux-image-"], "list packages")
        return [m.group(1) for m in map(NAME.fullmatch, names.split()) if m]

    def packages(self, release):
        """The packages that hold a kernel's files: newer ones come in several."""
        image = f"linux-image-{release}"
        text = command(["apt-cache", *self.options, "depends", image], f"look into '{image}'")
        parts = re.findall(r"Depends: (linux-(?:base|binary|modules)-\d\S+)", text)
        return [image, *dict.fromkeys(parts)]

    def sizes(self, packages):
        args = ["apt-get", *self.options, "--print-uris", "download", *packages]
        return sum(map(int, re.findall(r" (\d+) SHA256:", command(args, "find the packages"))))

    def download(self, packages, into, progress):
        with open(os.path.join(into, "apt.log"), "w+", encoding="utf-8") as log:
            proc = subprocess.Popen(
                ["apt-get", "-q", *self.options, "download", *packages],
                cwd=into,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "LC_ALL": "C"},
            )
            try:
                while proc.poll() is None:
                    progress(sum(entry.stat().st_size for entry in files(into, ".deb")))
                    time.sleep(0.2)
            finally:
                if proc.poll() is None:
                    proc.kill()
                    proc.wait()
            log.seek(0)
            if proc.returncode:
                raise Failure(f"cannot fetch '{packages[-1]}': {last_words(log.read())}")


def files(folder, suffix):
    for entry in list(os.scandir(folder)):
        with contextlib.suppress(OSError):
            if entry.name.endswith(suffix) and entry.stat():
                yield entry


# ---- the kernel out of its image ----


def decompress(payload):
    if payload[:4] == b"\x28\xb5\x2f\xfd":
        # the last four bytes are the length, which zstd takes for a broken frame
        done = subprocess.run(
            [tool("zstd", "zstd"), "-dcq"], input=payload[:-4], capture_output=True, check=False
        )
        if done.returncode:
            raise Failure(f"cannot unpack the kernel: {last_words(done.stderr.decode())}")
        return done.stdout
    try:
        if payload[:6] == b"\xfd7zXZ\0":
            return lzma.LZMADecompressor().decompress(payload)
        if payload[:2] == b"\x1f\x8b":
            return zlib.decompressobj(wbits=31).decompress(payload)
    except (lzma.LZMAError, zlib.error) as e:
        raise Failure(f"cannot unpack the kernel: {e}") from e
    raise Failure(f"cannot unpack the kernel: unknown compression {payload[:6].hex()}")


def extract(image):
    """The ELF file in a bzImage; the layout is in Documentation/arch/x86/boot.rst of the kernel."""
    with open(image, "rb") as f:
        data = f.read()
    if data[0x202:0x206] != b"HdrS":
        raise Failure(f"'{image}' is no Linux image")
    sectors = (data[0x1F1] or 4) + 1
    offset, length = struct.unpack_from("<II", data, 0x248)
    begin = sectors * 512 + offset
    elf = decompress(data[begin : begin + length])
    (size,) = struct.unpack_from("<I", data, begin + length - 4)
    if elf[:4] != b"\x7fELF" or len(elf) != size:
        raise Failure(f"'{image}' holds {len(elf)} bytes where {size} of a kernel are expected")
    return elf


# ---- preparing ----


def unpack_modules(folder):
    """As plain files: a guest without hardware help is slow at decompressing."""
    for suffix, args in ((".ko.xz", ["xz", "-d"]), (".ko.zst", ["zstd", "-qd", "--rm"])):
        found = [
            os.path.join(where, name)
            for where, _, names in os.walk(os.path.join(folder, "lib/modules"))
            for name in names
            if name.endswith(suffix)
        ]
        if not found:
            continue
        tool(args[0], {"xz": "xz-utils", "zstd": "zstd"}[args[0]])
        with tempfile.TemporaryFile() as listed:
            listed.write(b"\0".join(os.fsencode(path) for path in found))
            listed.seek(0)
            done = subprocess.run(
                ["xargs", "-0", "-n", "64", "-P", str(os.cpu_count() or 1), *args, "--"],
                stdin=listed,
                stderr=subprocess.PIPE,
                check=False,
            )
        if done.returncode:
            raise Failure(f"cannot unpack modules: {last_words(done.stderr.decode())}")


def unpack(debs, folder, release):
    for deb in debs:
        command(["dpkg-deb", "-x", deb, folder], f"unpack '{os.path.basename(deb)}'")
        os.unlink(deb)
    merged = os.path.join(folder, "usr/lib/modules")
    if os.path.isdir(merged):
        os.makedirs(os.path.join(folder, "lib"), exist_ok=True)
        os.rename(merged, os.path.join(folder, "lib/modules"))
    shutil.rmtree(os.path.join(folder, "usr"), ignore_errors=True)
    unpack_modules(folder)
    command([tool("depmod", "kmod"), "-b", folder, release], "index modules")
    images = [f"boot/vmlinuz-{release}", f"lib/modules/{release}/vmlinuz"]
    images = [path for path in (os.path.join(folder, name) for name in images) if os.path.exists(path)]
    if not images:
        raise Failure(f"the packages of '{release}' have no vmlinuz where it is looked for")
    elf = extract(images[0])
    with open(os.path.join(folder, "vmlinux"), "wb") as f:
        f.write(elf)


def progress_of(release, total):
    """A function that shows how far a download is: on a terminal, all the time."""
    mega = total / 1e6
    say(f"{release}: fetching {mega:.0f} MB")

    def progress(done):
        if sys.stderr.isatty():
            print(f"\rvm: {release}: {done / 1e6:.0f} of {mega:.0f} MB\033[K", end="", file=sys.stderr)

    return progress


def fetch(apt, release):
    packages = apt.packages(release)
    size = apt.sizes(packages)
    free = shutil.disk_usage(store()).free
    if free < size * UNPACKED:
        raise Failure(
            f"'{store()}' has {free / 1e9:.1f} GB free, a kernel needs {size * UNPACKED / 1e9:.1f}: "
            "set XDG_CACHE_HOME to a folder with more room"
        )
    tmp = tempfile.mkdtemp(prefix=".new-", dir=store())
    try:
        apt.download(packages, tmp, progress_of(release, size))
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr)
        say(f"{release}: unpacking")
        folder = os.path.join(tmp, "kernel")
        unpack([entry.path for entry in files(tmp, ".deb")], folder, release)
        os.rename(folder, os.path.join(store(), release))
    except OSError as e:
        raise Failure(f"cannot unpack '{release}': {e.strerror}: '{e.filename or tmp}'") from e
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
    say(f"{release}: ready")


def clean_up():
    """What a killed run left; nobody else is at work while we hold the lock."""
    for name in os.listdir(store()):
        if name.startswith(".new-"):
            shutil.rmtree(os.path.join(store(), name), ignore_errors=True)


def prepare(series_list):
    """Fetch what is missing; touches no network if nothing is. Returns the kernels' folders."""
    if all(map(find, series_list)):
        return [find(s) for s in series_list]
    try:
        os.makedirs(store(), exist_ok=True)
        lock = open(os.path.join(store(), "lock"), "w", encoding="ascii")  # noqa: SIM115
    except OSError as e:
        raise Failure(f"cannot write to '{store()}': {e.strerror} (XDG_CACHE_HOME says where)") from e
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = [s for s in dict.fromkeys(series_list) if not find(s)]
        if missing:
            clean_up()
            apt = Apt(os.path.join(store(), ".apt"))
            apt.update()
            offered = apt.releases()
            for series in missing:
                release = newest(series, offered)
                if not release:
                    raise Failure(f"the mirror has no kernel '{series}': {offers(offered)}")
                fetch(apt, release)
    return [find(s) for s in series_list]


# ---- modules ----


def headers(release):
    """The folder that modules of the release are built in, fetched if it is not there."""
    kernel = os.path.join(store(), release)
    tree = os.path.join(kernel, "headers")
    build = os.path.join(tree, f"usr/src/linux-headers-{release}")
    with open(os.path.join(store(), "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(tree):
            return build
        clean_up()
        apt = Apt(os.path.join(store(), ".apt"))
        apt.update()
        first = f"linux-headers-{release}"
        text = command(["apt-cache", *apt.options, "depends", first], f"look into '{first}'")
        packages = [first, *re.findall(r"Depends: (linux-(?:headers|kbuild)-\S+)", text)]
        tmp = tempfile.mkdtemp(prefix=".new-", dir=store())
        try:
            apt.download(packages, tmp, progress_of(release, apt.sizes(packages)))
            folder = os.path.join(tmp, "headers")
            for entry in files(tmp, ".deb"):
                command(["dpkg-deb", "-x", entry.path, folder], f"unpack '{entry.name}'")
            os.rename(folder, tree)
        finally:
            shutil.rmtree(tmp, ignore_errors=True)
        # they are made to lie in /usr/src
        for name in ("Makefile", "arch/x86/Makefile"):
            path = os.path.join(build, name)
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, encoding="utf-8") as f:
                    text = f.read()
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text.replace("include /usr/src/", f"include {tree}/usr/src/"))
    return build


def build_modules(series, source, into):
    """Build the modules of a folder that has a Kbuild for a kernel, into a folder of its release."""
    release = os.path.basename(prepare([series])[0])
    build = headers(release)
    folder = os.path.join(os.path.abspath(into), release)
    os.makedirs(folder, exist_ok=True)
    for entry in os.scandir(source):
        to = os.path.join(folder, entry.name)
        if entry.is_file() and not (os.path.exists(to) and filecmp.cmp(entry.path, to, False)):
            shutil.copy(entry.path, to)
    # their types are described by a tool that need not be there, and nobody asks for them
    args = ["make", "-C", build, f"M={folder}", "modules"]
    args += ["CONFIG_DEBUG_INFO_BTF_MODULES="]
    done = subprocess.run(
        args,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        # a make that started us has settings of its own
        env={k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")},
        check=False,
    )
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        errors = [line for line in done.stdout.splitlines() if "rror: " in line]
        why = errors[0] if errors else last_words(done.stdout)
        raise Failure(f"cannot build modules for '{release}': {why}")
    return folder


def offers(releases):
    series = {tuple(release_key(r)[:2]) for r in releases}
    return "it has " + ", ".join(f"{a}.{b}" for a, b in sorted(series))
