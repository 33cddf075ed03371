# SPDX-License-Identifier: MIT OR Apache-2.0
"""The shared library, its errors, and where in the program a call stands."""
import os
import sys
import threading

from . import _c

ffi = _c.ffi


def _open():
    """The one that ACUDA_LIBRARY names, that of a wheel, that of the same prefix (lib/python3/dist-packages), or
    the system's."""
    here = os.path.dirname(os.path.abspath(__file__))
    own = [os.path.join(here, *up, "libacuda.so.0") for up in ([], [os.pardir] * 3)]
    name = os.environ.get("ACUDA_LIBRARY") or next(filter(os.path.exists, own), "libacuda.so.0")
    try:
        return ffi.dlopen(name)
    except OSError as error:
        raise ImportError(f"acuda's library can not be loaded: {error}. Install libacuda0, or name the "
                          "library in ACUDA_LIBRARY") from None


lib = _open()
NULL = ffi.NULL
FOREVER = 2**64 - 1


def struct(name, **fields):
    """A struct to be passed by value. (Of a bare mapping cffi would leave the other fields as they happen to
    be.)"""
    return ffi.new(f"{name} *", fields)[0]


def text(pointer):
    return ffi.string(pointer).decode(errors="replace") if pointer else ""


class Error(RuntimeError):
    """What a call or a submission failed with. `status` is its name without ACU_ERR_ ("SHAPE"); `op`, `file`
    and `line` are the operation and where the program made it, if that is known; `record` is the whole line
    as acuda writes it, which also is the exception's text."""

    def __init__(self, record):
        out = ffi.new("char[]", 2048)
        lib.acu_error_describe(record, out, len(out))
        super().__init__(text(out))
        self.status = text(lib.acu_status_name(record.status)).removeprefix("ACU_").removeprefix("ERR_")
        self.message = text(record.message)
        self.op = text(record.op)
        self.context = text(record.context)
        self.file, self.line = text(record.file), record.line


def check(status):
    """Raises what the call, which this thread just made, failed with. Gives the status back otherwise: OK,
    NOT_READY or TIMEOUT."""
    if status < 0:
        raise Error(lib.acu_last_error())
    return status


_files = {}  # acuda keeps the address of a file's name for good
_files_lock = threading.Lock()


def site():
    """The program's line: the innermost one that is not in this package."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "acuda":
        frame = frame.f_back
    name = frame.f_code.co_filename
    with _files_lock:
        file = _files.get(name)
        if file is None:
            file = _files[name] = ffi.new("char[]", os.fsencode(name))
    return struct("acu_site", file=file, line=frame.f_lineno)


def nanoseconds(seconds):
    """A timeout as acuda has them. None: no limit."""
    if seconds is None:
        return FOREVER
    if seconds < 0:
        raise ValueError(f"a timeout of {seconds} s")
    return min(int(seconds * 1e9), FOREVER)
