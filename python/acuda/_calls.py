# SPDX-License-Identifier: MIT OR Apache-2.0
"""Launches, and functions of Python's as parts of ops."""
import threading

from . import _convert
from ._convert import Call
from ._handles import Kernel, Op, Tensor
from ._library import NULL, Error, ffi, lib, struct

# ---- arguments ----


class Argument:
    """A tensor or op, and what is done with it: acuda.out(x) and so on."""

    def __init__(self, x, access):
        self.x, self.access = x, access


def in_(x):
    """It is read. A bare tensor or op is meant so, too."""
    return Argument(x, "READ")


def out(x):
    """All of it is written, and nothing read."""
    return Argument(x, "WRITE")


def inout(x):
    """It is read and written."""
    return Argument(x, "UPDATE")


def _arguments(args, call):
    made = [_argument(a, call) for a in args]
    return ffi.new("acu_arg[]", made) if made else NULL


def _argument(a, call):
    if isinstance(a, (Tensor, Op)):
        a = in_(a)
    if not isinstance(a, Argument):
        return _convert.scalar(a, call)
    if isinstance(a.x, Tensor):
        call.alive.append(a.x)
        return _convert.argument("TENSOR", lib.ACU_NO_DTYPE, a.x.handle, a.access)
    return _convert.argument("OP", lib.ACU_NO_DTYPE, _convert.operand(a.x, call), a.access)


# ---- launches ----

_THREADS = 256


def _three(x, what):
    sizes = (x,) if isinstance(x, int) else tuple(x)
    if not 1 <= len(sizes) <= 3 or not all(isinstance(n, int) and 0 <= n < 2**32 for n in sizes):
        raise ValueError(f"{what} is one to three sizes, not {x!r}")
    return list(sizes) + [1] * (3 - len(sizes))


def launch(kernel, *args, threads=None, grid=None, block=None, shared=0, cluster=None, cooperative=False,
           programmatic=False):
    """An op that runs the kernel, whose values are its tensors. Its arguments: tensors and ops (read unless they
    stand in acuda.out or acuda.inout), numbers that say their dtype, such as acuda.f32(2) or NumPy's. Sizes:
    threads=n is one thread for each of n elements; or grid= and block=, of one to three numbers; without any,
    the grid comes from the partitions among the arguments. `shared`: bytes of dynamic shared memory."""
    if not isinstance(kernel, Kernel):
        raise TypeError(f"a Kernel is wanted, not {type(kernel).__name__}")
    config = {"shared": shared, "cooperative": cooperative, "programmatic": programmatic}
    if threads is not None:
        if grid is not None or block is not None:
            raise ValueError("either threads, or grid and block")
        grid, block = -(-threads // _THREADS), _THREADS
    for name, sizes in (("grid", grid), ("block", block), ("cluster", cluster)):
        if sizes is not None:
            config[name] = _three(sizes, name)
    with Call() as call:
        made = ffi.new("acu_config *", config)
        return Op(lib.acu_op_launch(kernel.handle, made, _arguments(args, call), len(args), call.site))


# ---- functions of Python's ----

_users = {}  # what acuda holds of ours, by address
_users_lock = threading.Lock()


def _user(function):
    handle = ffi.new_handle(function)
    address = int(ffi.cast("uintptr_t", handle))
    with _users_lock:
        _users[address] = handle
    return struct("acu_user", data=handle, release=_released)


@ffi.callback("void(void *)")
def _released(data):
    with _users_lock:
        _users.pop(int(ffi.cast("uintptr_t", data)), None)


def _value(v):
    if v.kind == lib.ACU_TENSOR:
        return Tensor.borrowed(v.tensor)
    return _convert.Typed(v.dtype, v.bits) if v.kind == lib.ACU_SCALAR else None


def _failed(function, error):
    words = f"{getattr(function, '__qualname__', function)}: {type(error).__name__}: {error}"
    return lib.acu_callback_fail(b"%s", ffi.new("char[]", words.encode()))


@ffi.callback("acu_status(void *, acu_val *, size_t)")
def _call_host(data, values, count):
    function = ffi.from_handle(data)
    try:
        function(*[_value(values[i]) for i in range(count)])
    except BaseException as error:  # nothing passes through C
        return _failed(function, error)
    return lib.ACU_OK


@ffi.callback("acu_op *(void *, acu_val *, size_t)")
def _call_then(data, values, count):
    function = ffi.from_handle(data)
    try:
        made = function(*[_value(values[i]) for i in range(count)])
        with Call() as call:
            op = _convert.operand(made, call)
            call.ops.clear()
            return op
    except BaseException as error:
        _failed(function, error)
        return NULL


@ffi.callback("_Bool(void *, acu_error *)")
def _call_or_else(data, record):
    function = ffi.from_handle(data)
    try:
        return bool(function(Error(record)))
    except BaseException as error:
        _failed(function, error)
        return False


def host(function, *args):
    """An op that calls the function on a thread of acuda's, once everything before it is done, with its
    arguments: tensors, which must be in the host's memory (host_view() is an array over it), and numbers. It must
    not wait for work of acuda's. An exception fails the op: status CALLBACK, with its words."""
    with Call() as call:
        made = _arguments(args, call)
        return Op(lib.acu_op_host(_call_host, _user(function), made, len(args), call.site))


def then(x, function):
    """An op that runs x, and then the op that the function returns for x's values. The function is called while
    the op is submitted, by the thread that submits: the tensors are there, their contents not yet."""
    with Call() as call:
        return Op(lib.acu_op_then(_convert.operand(x, call), _call_then, _user(function), call.site))


def or_else_if(x, other, function):
    """An op that runs `other` where x fails and the function, given the Error, says so."""
    with Call() as call:
        a, b = _convert.operand(x, call), _convert.operand(other, call)
        return Op(lib.acu_op_or_else(a, b, _call_or_else, _user(function), call.site))


def or_else(x, other):
    """An op that runs `other` if x fails."""
    with Call() as call:
        a, b = _convert.operand(x, call), _convert.operand(other, call)
        return Op(lib.acu_op_or_else(a, b, NULL, struct("acu_user"), call.site))
