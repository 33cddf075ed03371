# SPDX-License-Identifier: MIT OR Apache-2.0
"""acuda: asynchronous CUDA. Work for a GPU (or for the software device) is composed of lazy operations, ordered
by the data that it touches, and never blocks; a submission is awaited in asyncio, waited for, or looked at.

    import acuda

    with acuda.open(software=True) as device:       # a GPU; the software device where there is none
        x = device.array(numbers)                   # of NumPy's
        y = acuda.softmax(x * 2 - 1, -1)            # an op: nothing happens yet
        z = device.run(y)                           # in flight; a tensor that can be used at once
        print(z.numpy())                            # waits

        async def serve():
            await device.submit(y)                  # no thread waits

Every operation of acuda's headers is here under its name without acu_, with the header's text as its help:
help(acuda.roll), and docs/operations.md for what NumPy and PyTorch call it. Most are methods too: x.sum(-1).
Errors are raised as acuda.Error, with the program's line that made the operation.
"""
from . import _convert, _operations
from ._calls import host, in_, inout, launch, or_else, or_else_if, out, then
from ._comm import Comm
from ._dlpack import drain
from ._handles import (Device, Expression, File, Future, Graph, Kernel, Model, Module, Op, Policy, Pool, Stream,
                       Tensor, open)
from ._library import Error, check as _check, ffi, lib, text

__version__ = ".".join(str(lib.acu_version() // d % 100) for d in (10000, 100, 1))


def _number_maker(name):
    kind = _convert.dtype(name)

    def make(value):
        return _convert.number_of(kind, value)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"A number of dtype {name}, for acuda.launch, acuda.full and acuda.fill."
    return make


for _name in ("bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f16", "f32", "f64", "c64", "c128"):
    globals()[_name + "_" if _name == "bool" else _name] = _number_maker(_name)


def device_count(software=False):
    """How many devices acuda.open can open. Blocks, the first time."""
    count = ffi.new("int *")
    options = ffi.new("acu_open_options *", {"size": ffi.sizeof("acu_open_options"),
                                             "allow_software": software})
    _check(lib.acu_device_count_load(options, count))
    return count[0]


def describe_driver():
    """Which driver is used, and what is missing, in words."""
    out_ = ffi.new("char[]", 4096)
    lib.acu_driver_describe(out_, len(out_))
    return text(out_)


def live():
    """acuda's objects that are alive, one kind a line; "" if there are none."""
    out_ = ffi.new("char[]", 4096)
    lib.acu_debug_live_report(out_, len(out_))
    return text(out_)


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return _operations.function(name)
    except AttributeError:
        raise AttributeError(f"acuda has no {name!r}") from None


def __dir__():
    return sorted({*globals(), *_operations.names()})
