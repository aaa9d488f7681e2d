# SPDX-License-Identifier: BSD-2-Clause
"""Tell the profiler xpugap what a Python program is doing.

    from xpugap_mark import step, step_end, range, counter

    items = 0
    for images, labels in loader:
        step(items=items)  # of the step that ended
        with range("forward"):
            loss = model(images, labels)
        counter("loss", loss.item())
        items = len(images)
    step_end(items)

Every function may be called at any time, from any thread, in processes made by fork and spawn.
When nothing records, or the library is not installed, they do nothing; if a recorder waits for
marks and there is no library, standard error says so once. A program must not fail for being
recorded: a mark with a value of the wrong type is dropped, the first with a word. xpugap_mark(3) says what each means;
names and values are as there.
"""

import ctypes
import functools
import itertools
import operator
import os
import sys
import threading

__all__ = [
    "connect", "correlation", "counter", "device", "launch", "now", "range", "range_begin",
    "range_end", "recording", "role", "span", "step", "step_end", "unit", "unit_begin",
    "unit_end", "unit_handover", "KERNEL", "H2D", "D2H", "D2D", "P2P", "COLLECTIVE",
]

KERNEL, H2D, D2H, D2D, P2P, COLLECTIVE = 0, 1, 2, 3, 4, 5

_SONAME = "libxpugap_mark.so.1"
_U16, _U32, _U64 = ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64
_STR, _F64, _BOOL = ctypes.c_char_p, ctypes.c_double, ctypes.c_bool
_NO_STEP = 0xFFFFFFFFFFFFFFFF
# ctypes makes an object of each argument, except of integers that are said to be addresses
_FAST = ctypes.c_void_p

_FUNCTIONS = {
    "recording": (_BOOL, []),
    "wanted": (ctypes.c_void_p, [ctypes.c_uint]),
    "connect": (_BOOL, [_STR]),
    "now": (_U64, []),
    "step": (None, [_FAST, _FAST]),
    "unit_begin": (None, [_U64, _STR]),
    "unit_handover": (None, [_U64]),
    "unit_end": (None, [_U64, _U64]),
    "range_begin": (None, [_STR]),
    "range_end": (None, [_STR]),
    "device": (None, [_U32, _STR]),
    "correlation": (_U64, []),
    "launch": (None, [_U32, _U16, ctypes.c_int, _STR, _U64]),
    "span": (None, [_U32, _U16, ctypes.c_int, _STR, _U64, _U64, _U64, _U64]),
    "role": (None, [_STR]),
    "counter": (None, [_STR, _F64]),
}


def _candidates():
    """The recorder's own library; that of the same build or installation as this file; any."""
    here = os.path.dirname(os.path.abspath(__file__))
    given = os.environ.get("XPUGAP_MARK_LIB")
    if given:
        yield given
    for folder in (
        "..",  # BUILD/python
        "../../../build",  # userspace/mark/python, of the sources
        "../../../lib",  # PREFIX/share/xpugap/python
        "../../../lib64",
        "../..",  # PREFIX/lib/pythonX.Y/dist-packages
    ):
        path = os.path.normpath(os.path.join(here, folder, _SONAME))
        if os.path.exists(path):
            yield path
    yield _SONAME


def _load():
    # PyDLL keeps the interpreter's lock: a mark is shorter than giving it up and taking it back
    failed = []
    for path in _candidates():
        try:
            return ctypes.PyDLL(path)
        except OSError as error:
            failed.append(str(error))
    if "XPUGAP_MARK" in os.environ:
        print("xpugap_mark: marks of this program are not recorded, its library cannot be loaded "
              f"({'; '.join(failed)}); XPUGAP_MARK_LIB may name it", file=sys.stderr)
    return None


def _bind(lib, name):
    result, arguments = _FUNCTIONS[name]
    try:
        function = getattr(lib, "xpugap_" + name)
    except AttributeError:  # no library, or one older than this file
        fallback = {"now": 0, "correlation": 1}.get(name, False if result is _BOOL else None)
        return lambda *_: fallback
    function.restype = result
    function.argtypes = arguments
    return function


def _watch(what):
    """A view of the number that tells whether anybody wants such marks: [0] is cheap to read."""
    address = _c["wanted"](what)
    if address:
        number = (ctypes.c_uint8 * 2).from_address(address)
    else:  # all go to the library, if there is one
        number = (ctypes.c_uint8 * 2)(_lib is not None, 0)
    return memoryview(number).cast("B").cast("H")


_lib = _load()
_c = {name: _bind(_lib, name) for name in _FUNCTIONS}
_step, _counter, _role = _c["step"], _c["counter"], _c["role"]
_range_begin, _range_end = _c["range_begin"], _c["range_end"]
_unit_begin, _unit_end, _unit_handover = _c["unit_begin"], _c["unit_end"], _c["unit_handover"]
_launch, _span, _device = _c["launch"], _c["span"], _c["device"]
_recorder, _step_probe, _begin_probe, _end_probe = map(_watch, (0, 1, 2, 3))

recording = _c["recording"]
now = _c["now"]
correlation = _c["correlation"]


_BAD = (TypeError, ValueError, OverflowError, ctypes.ArgumentError)
_refused = []


def _refuse(error):
    if not _refused:
        _refused.append(error)
        print(f"xpugap_mark: a mark is dropped: {error}", file=sys.stderr)


class _Steps(threading.local):
    """Numbers of the steps of a thread that gives none."""

    def __init__(self):
        super().__init__()
        self.next = itertools.count().__next__


_steps = _Steps()


@functools.lru_cache(maxsize=4096)
def _text(name):
    """Bytes of a name; the same object each time, which the library then knows by its address."""
    if name is None or isinstance(name, bytes):
        return name
    return str(name).encode("utf-8", "replace")


def connect(address):
    """Attach to a recorder by the address that XPUGAP_MARK has in programs that it starts."""
    return _c["connect"](_text(address))


def step(number=None, items=0):
    """Step `number` begins; the one that ended processed `items`.

    Without a number, steps are counted from 0, for each thread.
    """
    if number is None:
        number = _steps.next()
    if _recorder[0] or _step_probe[0]:
        try:
            if number.__class__ is not int or items.__class__ is not int:
                number, items = operator.index(number), operator.index(items)
            _step(number, items)
        except _BAD as error:
            _refuse(error)


def step_end(items=0):
    """The last step ended and none begins."""
    step(_NO_STEP, items)


def unit_begin(unit_id, kind="unit"):
    """A unit of work with an id of its own begins, on this thread."""
    if _recorder[0]:
        try:
            _unit_begin(unit_id, _text(kind))
        except _BAD as error:
            _refuse(error)


def unit_handover(unit_id):
    """This thread carries the unit from now on."""
    if _recorder[0]:
        try:
            _unit_handover(unit_id)
        except _BAD as error:
            _refuse(error)


def unit_end(unit_id, items=0):
    """The unit ended after `items`."""
    if _recorder[0]:
        try:
            _unit_end(unit_id, items)
        except _BAD as error:
            _refuse(error)


def range_begin(name):
    """A named range of this thread opens; ranges nest."""
    if _recorder[0] or _begin_probe[0]:
        try:
            _range_begin(_text(name))
        except _BAD as error:
            _refuse(error)


def range_end(name):
    """The innermost range of that name closes."""
    if _recorder[0] or _end_probe[0]:
        try:
            _range_end(_text(name))
        except _BAD as error:
            _refuse(error)


def role(name):
    """What this thread does: "loader", "pin", "server"."""
    if _recorder[0]:
        try:
            _role(_text(name))
        except _BAD as error:
            _refuse(error)


def counter(name, value):
    """A value over time: "loss", "queue_depth"."""
    if _recorder[0]:
        try:
            _counter(_text(name), value)
        except _BAD as error:
            _refuse(error)


def device(number, name):
    """Name the device that spans call `number`."""
    try:
        _device(number, _text(name))
    except _BAD as error:
        _refuse(error)


def launch(number, queue, kind, name, corr):
    """This thread hands work to a queue of a device; the span with the same `corr` follows."""
    if _recorder[0]:
        try:
            _launch(number, queue, kind, _text(name), corr)
        except _BAD as error:
            _refuse(error)


def span(number, queue, kind, name, start_ns, end_ns, corr=0, size=0):
    """Work of a device queue that has ended, times as now(); `size`: bytes moved by a copy."""
    if _recorder[0]:
        try:
            _span(number, queue, kind, _text(name), start_ns, end_ns, corr, size)
        except _BAD as error:
            _refuse(error)


class range:  # pylint: disable=redefined-builtin,invalid-name
    """A range as `with range("forward"):` or as the decorator `@range("forward")`."""

    __slots__ = ("_name",)

    def __init__(self, name):
        self._name = _text(name)

    def __enter__(self):
        if _recorder[0] or _begin_probe[0]:
            _range_begin(self._name)
        return self

    def __exit__(self, *_):
        if _recorder[0] or _end_probe[0]:
            _range_end(self._name)
        return False

    def __call__(self, function):
        name = self._name

        @functools.wraps(function)
        def marked(*args, **kwargs):
            range_begin(name)
            try:
                return function(*args, **kwargs)
            finally:
                range_end(name)

        return marked


class unit:  # pylint: disable=invalid-name
    """A unit as `with unit(request_id, "request"):`, ended on the thread that leaves the block."""

    __slots__ = ("_id", "_kind", "items")

    def __init__(self, unit_id, kind="unit"):
        self._id = unit_id
        self._kind = _text(kind)
        self.items = 1

    def __enter__(self):
        unit_begin(self._id, self._kind)
        return self

    def __exit__(self, *_):
        unit_end(self._id, self.items)
        return False
