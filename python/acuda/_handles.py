# SPDX-License-Identifier: MIT OR Apache-2.0
"""Devices, tensors, ops, futures and what else has a handle."""
import atexit
import numbers
import os
import threading
import weakref

from . import _convert, _loop, _operations
from ._convert import Call
from ._library import FOREVER, NULL, Error, check, ffi, lib, nanoseconds, text


class Handle:
    """A reference to one of acuda's objects, which is given back with this one."""

    _release = None

    def __init__(self, handle):
        self.handle = handle

    def __del__(self):
        handle = getattr(self, "handle", None)
        if handle:
            self.handle = NULL
            self._release(handle)

    @classmethod
    def borrowed(cls, handle):
        """A reference of its own to what somebody lends."""
        return cls(getattr(lib, cls._retain)(handle))


def _handle(pointer, release, retain=None):
    def register(cls):
        cls._release = staticmethod(getattr(lib, release))
        cls._retain = retain or release.replace("_release", "_retain")
        _convert.HANDLES[pointer] = cls
        return cls

    return register


# ---- operands: what tensors and ops have in common ----


class Operand:
    """Arithmetic, comparison and every operation of acuda whose first parameter is an operand, as a method:
    x.sum(), x.reshape((2, 3)). All of them make an op; nothing is computed until it is submitted."""

    __hash__ = object.__hash__
    __array_ufunc__ = None  # so that NumPy's numbers leave arithmetic to us
    __array_priority__ = 100

    def __getattr__(self, name):
        if name.startswith("_") or not _operations.takes_operand_first(name):
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        function = _operations.function(name)
        return lambda *args, **kwargs: function(self, *args, **kwargs)

    def __dir__(self):
        return sorted({*super().__dir__(), *filter(_operations.takes_operand_first, _operations.names())})

    def __bool__(self):
        raise TypeError("whether a lazy value is true is not known here: submit it, and look at item()")

    def __neg__(self):
        return self.neg()

    def __abs__(self):
        return self.abs()

    def __invert__(self):
        return self.invert()


def _operator(method, name, swapped=False):
    def both(a, b):
        if not isinstance(b, (Operand, numbers.Number, _convert.Typed)) and getattr(b, "shape", None) != ():
            return NotImplemented
        return _operations.function(name)(b, a) if swapped else _operations.function(name)(a, b)

    setattr(Operand, method, both)


for _method, _name in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "mod": "mod", "pow": "pow",
                       "matmul": "matmul", "and": "bit_and", "or": "bit_or", "xor": "bit_xor",
                       "lshift": "shift_left", "rshift": "shift_right"}.items():
    _operator(f"__{_method}__", _name)
    _operator(f"__r{_method}__", _name, swapped=True)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _operator(f"__{_name}__", _name)


@_handle("acu_op *", "acu_op_release")
class Op(Handle, Operand):
    """A lazy operation. It may be used any number of times; it runs once, for all of its users."""

    def named(self, name):
        """The same op, called that in messages and traces."""
        with Call() as call:
            return Op(lib.acu_op_named(_convert.operand(self, call), name.encode()))

    def __repr__(self):
        status = lib.acu_op_status(self.handle, NULL)
        return "<acuda.Op>" if status == 0 else f"<acuda.Op that fails: {text(lib.acu_status_name(status))}>"


# ---- tensors ----


@_handle("acu_tensor *", "acu_tensor_release")
class Tensor(Handle, Operand):
    """Memory of a device, or of the host, with a shape and a dtype. It can be used at once, also while what
    computes it is still in flight; numpy() and item() wait."""

    def __init__(self, handle, future=None):
        super().__init__(handle)
        self.future = future  # of the submission that computes it, if that is known

    @property
    def shape(self):
        s = lib.acu_tensor_shape(self.handle)
        return tuple(s.dim[0:s.rank])

    @property
    def dtype(self):
        return _convert.dtype_name(lib.acu_tensor_dtype(self.handle))

    @property
    def strides(self):
        """In elements."""
        strides = lib.acu_tensor_strides(self.handle)
        return tuple(strides[i] for i in range(len(self.shape)))

    @property
    def nbytes(self):
        return lib.acu_tensor_bytes(self.handle)

    @property
    def device(self):
        return Device.of(lib.acu_tensor_device(self.handle))

    @property
    def on_host(self):
        return lib.acu_tensor_host(self.handle) != NULL

    def __len__(self):
        if not self.shape:
            raise TypeError("a tensor without dimensions has no length")
        return self.shape[0]

    def __repr__(self):
        return f"<acuda.Tensor {self.dtype} {list(self.shape)}>"

    def __getitem__(self, index):
        """A view, as an op: numbers, slices with steps of at least 1, None and one `...`."""
        return _view(self, index if isinstance(index, tuple) else (index,))

    def write(self, x):
        """Copies an array of NumPy's, of this shape and dtype, into it. Blocks until x is free again."""
        np = _numpy()
        array = np.ascontiguousarray(x, dtype=_numpy_dtype(self))
        if array.shape != self.shape:
            raise ValueError(f"an array of shape {array.shape} for a tensor of {self.shape}")
        check(lib.acu_write_sync(self.handle, ffi.from_buffer(array) if array.size else NULL, array.nbytes))

    def numpy(self):
        """A new array of NumPy's with what it holds once everything submitted on it so far is done. Blocks.
        (numpy.from_dlpack(x) does not copy, for a tensor in host memory.)"""
        array = _numpy().empty(self.shape, _numpy_dtype(self))
        check(lib.acu_read_sync(self.handle, ffi.from_buffer(array) if array.size else NULL, array.nbytes))
        return array

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def host_view(self):
        """An array of NumPy's over the memory of a host tensor, without a copy and without waiting: for
        functions that acuda.host calls, where what they were given is theirs meanwhile."""
        if not self.on_host:
            raise ValueError("the tensor is in a device's memory")
        np = _numpy()
        kind = np.dtype(_numpy_dtype(self))
        if not all(self.shape):
            return np.empty(self.shape, kind)
        strides = tuple(s * kind.itemsize for s in self.strides)
        extent = kind.itemsize + sum((n - 1) * s for n, s in zip(self.shape, strides))
        memory = ffi.buffer(lib.acu_tensor_host(self.handle), extent)
        return np.ndarray(self.shape, kind, memory, strides=strides)

    def item(self):
        """The one element, as a number of Python's. Blocks."""
        return self.numpy().item()

    def wait(self, timeout=None):
        """Blocks until the submission that computes it, if it came from one, is done; raises what that failed
        with, and TimeoutError."""
        if self.future is not None:
            self.future.wait(timeout)
        return self

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        from . import _dlpack

        return _dlpack.export(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        kind, ordinal = ffi.new("int *"), ffi.new("int *")
        check(lib.acu_dlpack_device(self.handle, kind, ordinal))
        return kind[0], ordinal[0]


def _numpy():
    try:
        import numpy
    except ImportError:
        raise ImportError("this needs NumPy (python3-numpy)") from None
    return numpy


def _numpy_dtype(tensor):
    name = _convert.TO_NUMPY.get(tensor.dtype)
    if name is None:
        raise TypeError(f"NumPy has no {tensor.dtype}: convert it first, as in "
                        "device.run(x.convert(\"f32\")).numpy()")
    return name


def _view(tensor, index):
    """One slice of all dimensions, in which a number is a slice of one; then these dimensions go."""
    shape = tensor.shape
    used = sum(i is not None and i is not Ellipsis for i in index)
    if used > len(shape):
        raise IndexError(f"{used} indices for {len(shape)} dimensions")
    rest = (slice(None),) * (len(shape) - used)
    at = next((k for k, i in enumerate(index) if i is Ellipsis), len(index))
    index = index[:at] + rest + index[at + 1:]
    cuts = [_cut(i, n) for i, n in zip((i for i in index if i is not None), shape)]
    x = _operations.function("slice_step")(tensor, *zip(*cuts)) if cuts else tensor
    dimension = 0
    for i in index:
        if i is None:
            x = _operations.function("unsqueeze")(x, dimension)
        elif not isinstance(i, slice):
            x = _operations.function("select")(x, dimension, 0)
            continue
        dimension += 1
    return x if x is not tensor else _operations.function("reshape")(tensor, ())


def _cut(i, extent):
    """(start, end, step)"""
    if isinstance(i, slice):
        start, end, step = i.indices(extent)
        if step < 1:
            raise ValueError("a step below 1: acuda.flip turns round")
        return start, max(start, end), step
    if not isinstance(i, numbers.Integral):
        raise TypeError(f"an index is a number, a slice, None or ..., not {type(i).__name__}; by a tensor of "
                        "numbers: acuda.index_select, acuda.gather")
    if not -extent <= i < extent:
        raise IndexError(f"index {i} of a dimension of {extent}")
    i = int(i) % extent
    return i, i + 1, 1


# ---- futures ----


@_handle("acu_future *", "acu_future_release")
class Future(Handle):
    """A submission in flight. Its values are there at once: future[0], or several by unpacking. `await` it in a
    coroutine, wait() for it, or look with done(). A task of asyncio's that is cancelled stops waiting; the
    submission goes on, unless cancel() gives it up."""

    def done(self):
        """Whether it is complete, however it ended. Never blocks."""
        return lib.acu_future_poll(self.handle) != lib.ACU_NOT_READY

    def wait(self, timeout=None):
        """Blocks until it is complete, for at most `timeout` seconds (then: TimeoutError). Raises what it failed
        with."""
        status = lib.acu_future_wait(self.handle, nanoseconds(timeout))
        if status == lib.ACU_TIMEOUT:
            raise TimeoutError(f"the submission was not complete after {timeout} s")
        self.check(status)
        return self

    def check(self, status):
        if status < 0:
            record = ffi.new("acu_error *")
            lib.acu_future_error(self.handle, record)
            raise Error(record if record.status else lib.acu_last_error())

    def error(self):
        """What it failed with, or None. Never blocks."""
        record = ffi.new("acu_error *")
        return Error(record) if lib.acu_future_error(self.handle, record) < 0 else None

    def cancel(self):
        """Gives it up: what is not on the device yet never will be."""
        check(lib.acu_future_cancel(self.handle))

    def __await__(self):
        return _loop.wait(self).__await__()

    def __len__(self):
        return lib.acu_future_values(self.handle)

    def __getitem__(self, i):
        if isinstance(i, slice):
            return tuple(self[k] for k in range(*i.indices(len(self))))
        count = len(self)
        if count == 0:
            check(lib.acu_future_planned(self.handle))
        if not -count <= i < count:
            raise IndexError(f"value {i} of {count}")
        i %= count
        lent = lib.acu_future_tensor(self.handle, i)
        if lent:
            tensor = Tensor.borrowed(lent)
            tensor.future = self
            return tensor
        kind, bits = ffi.new("acu_dtype *"), ffi.new("uint64_t *")
        check(lib.acu_future_scalar(self.handle, i, kind, bits))
        return _convert.Typed(kind[0], bits[0])

    def explain(self):
        """What became of it and why, in words; for a submission with explain=True."""
        return _text(lambda out, size, needed: lib.acu_explain(self.handle, lib.ACU_EXPLAIN_TEXT, out, size,
                                                               needed))


def _text(write):
    needed = ffi.new("size_t *")
    check(write(NULL, 0, needed))
    out = ffi.new("char[]", needed[0] + 1)
    check(write(out, len(out), needed))
    return text(out)


# ---- devices ----

_open_devices = weakref.WeakValueDictionary()
_devices_lock = threading.Lock()


@_handle("acu_device *", "acu_device_release")
class Device(Handle):
    """A GPU, or the software device. open() makes one; close() it, or use it in a `with`."""

    def __init__(self, handle):
        super().__init__(handle)
        self.opened = False
        self._taking = None
        # That the streams to which tensors are exported live as long as the tensors, as PyTorch's and CuPy's
        # do; 0: consumers finish their work before they let go of a tensor (dlpack.h).
        self.export_flags = lib.ACU_DLPACK_STREAM_LIVES

    @classmethod
    def of(cls, handle):
        with _devices_lock:
            return _open_devices.get(int(ffi.cast("uintptr_t", handle))) or cls.borrowed(handle)

    def close(self):
        """Blocks until its work is done. Tensors of it stay valid."""
        if self.opened:
            self.opened, self._taking = False, None
            check(lib.acu_close(self.handle))
            lib.acu_dlpack_drain()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "opened", False):
            self.opened = False
            lib.acu_close(self.handle)
        super().__del__()

    def taking_stream(self):
        """On which memory of other libraries is taken over."""
        if self._taking is None:
            self._taking = self.stream()
        return self._taking

    @property
    def info(self):
        """Its name, compute capability, sizes and so on, as a dictionary."""
        info = lib.acu_device_info_of(self.handle)
        return {name: _plain(getattr(info, name)) for name, _ in ffi.typeof(info).item.fields
                if name not in ("size", "reserved")}

    def __repr__(self):
        return f"<acuda.Device {self.info['ordinal']}: {self.info['name']}>"

    def submit(self, op, **options):
        """The op in flight, as a future. Never blocks. Options are those of acu_submit (future.h): timeout in
        nanoseconds, name, priority, explain=True, refuse_when_full=True, stream, policy and so on."""
        future = ffi.new("acu_future **")
        with Call() as call:
            c = _convert.options(_SUBMIT_OPTIONS, options, call)
            status = self._submit(_convert.operand(op, call), c, future, call)
            check(status)
        return Future(future[0])

    def _submit(self, op, options, future, call):
        """FULL leaves the op to the caller; all else consumes it."""
        call.ops.remove(op)
        status = lib.acu_submit(self.handle, op, options, future)
        if status == lib.ACU_ERR_FULL:
            call.ops.append(op)
        return status

    def run(self, op, **options):
        """Submits the op: its tensor, or a tuple if it yields several, of which each can be used at once."""
        future = self.submit(op, **options)
        values = future[:]
        return values[0] if len(values) == 1 else values

    def array(self, x, dtype=None):
        """A new tensor with the contents of x, which NumPy can make an array of. Blocks until x is free again.
        (device.take shares memory, and does not block.)"""
        np = _numpy()
        x = np.asarray(x, None if dtype is None else _convert.TO_NUMPY.get(dtype, dtype))
        tensor = self.empty(x.shape, x.dtype)
        tensor.write(x)
        return tensor

    def empty(self, shape, dtype="f32", pinned=False):
        """A tensor whose contents are undefined; `pinned`: in the host's memory."""
        made = ffi.new("acu_tensor **")
        make = lib.acu_tensor_alloc_pinned if pinned else lib.acu_tensor_alloc
        check(make(self.handle, _convert.dtype(dtype), _convert.shape(shape), made))
        return Tensor(made[0])

    def take(self, x, stream=None):
        """A tensor over the memory of x, an array of any library that speaks DLPack (PyTorch, CuPy, NumPy, JAX):
        no copy, and what that library has enqueued on x comes before acuda's work. For memory of the host,
        acuda.to_device(device, device.take(x)) copies without blocking; x must stay as it is until that is
        done. `stream`: a Stream on which the memory is taken over; None: one of the device's own."""
        from . import _dlpack

        return _dlpack.take(self, x, stream)

    def wait(self, timeout=None):
        """Blocks until all that was submitted to it is done."""
        if check(lib.acu_device_wait(self.handle, nanoseconds(timeout))) == lib.ACU_TIMEOUT:
            raise TimeoutError(f"the device was not idle after {timeout} s")

    def compile(self, source, **options):
        """CUDA C++ as a module. Blocks while it is compiled, unless that is cached. Options: acu_compile_options
        (compile.h), such as arguments=["-G"]. Raises Error with status COMPILE and the compiler's words."""
        return self._load({"cuda": source, "compile": options} if options else {"cuda": source})

    def load(self, path=None, ptx=None, image=None):
        """A module from a file, from PTX as text, or from a cubin or fatbin as bytes. Blocks."""
        given = {k: v for k, v in (("path", path), ("ptx", ptx), ("image", image)) if v is not None}
        if image is not None:
            given["bytes"] = len(image)
        return self._load(given)

    def _load(self, source):
        made = ffi.new("acu_module **")
        with Call() as call:
            check(lib.acu_module_load(self.handle, _convert.options(_MODULE_SOURCE, source, call), made))
        module = Module(made[0])
        check(lib.acu_module_wait(module.handle, FOREVER))
        return module

    def graph(self, op):
        """The op as a graph, of which acuda.replay(graph) is an op that runs it. Blocks while it is made."""
        made = ffi.new("acu_graph **")
        with Call() as call:
            given = _convert.operand(op, call)
            call.ops.remove(given)
            check(lib.acu_graph_load(self.handle, given, NULL, made))
        return Graph(made[0])

    def stream(self, priority=0):
        made = ffi.new("acu_stream **")
        check(lib.acu_stream_create(self.handle, priority, made))
        return Stream(made[0])


_SUBMIT_OPTIONS = ffi.typeof("acu_submit_options *")
_MODULE_SOURCE = ffi.typeof("acu_module_source *")


def _plain(x):
    """A field as a value of Python's."""
    if not isinstance(x, ffi.CData):
        return x
    return text(x) if ffi.typeof(x).item.cname == "char" else tuple(x)


def open(ordinal=0, software=False, **options):
    """A device: by default the first GPU. `software`: the software device where there is no GPU; driver=
    {"request": "software"} asks for it in any case. Options are those of acu_open (device.h), such as
    max_in_flight=8, runtime_thread=True. Blocks."""
    made = ffi.new("acu_device **")
    given = {"ordinal": ordinal, "allow_software": software, **options}
    with Call() as call:
        check(lib.acu_open(_convert.options(ffi.typeof("acu_open_options *"), given, call), made))
    device = Device.borrowed(made[0])  # a reference of its own, so that it can be named when it is closed
    device.opened = True
    with _devices_lock:
        _open_devices[int(ffi.cast("uintptr_t", made[0]))] = device
    return device


@atexit.register
def _close_all():
    """Nothing calls into Python once it is gone."""
    for device in list(_open_devices.values()):
        if device.opened:
            device.opened = False
            lib.acu_close(device.handle)


# ---- what else there is ----


def _make(kind, function, device, options):
    """The handle that the function makes of the device and these options."""
    made = ffi.new(f"acu_{kind} **")
    with Call() as call:
        check(function(device.handle, _convert.options(ffi.typeof(f"acu_{kind}_options *"), options, call), made))
    return made[0]


@_handle("acu_stream *", "acu_stream_release")
class Stream(Handle):
    """A CUDA stream, for other libraries (its __cuda_stream__) and for acu_submit's stream=."""

    @property
    def raw(self):
        return int(ffi.cast("uintptr_t", lib.acu_stream_raw(self.handle)))

    def __cuda_stream__(self):
        return 0, self.raw


@_handle("acu_module *", "acu_module_release")
class Module(Handle):
    """Loaded code: module["name"] is a kernel."""

    def __getitem__(self, name):
        made = ffi.new("acu_kernel **")
        check(lib.acu_kernel_get(self.handle, name.encode(), made))
        return Kernel(made[0])

    @property
    def log(self):
        """What the compiler said."""
        return text(lib.acu_module_log(self.handle))


@_handle("acu_kernel *", "acu_kernel_release")
class Kernel(Handle):
    """A kernel: acuda.launch makes an op of it."""


@_handle("acu_graph *", "acu_graph_release")
class Graph(Handle):
    """An op, instantiated once. Its values are those of the op, valid after a replay: graph[0]."""

    def __len__(self):
        return lib.acu_graph_values(self.handle)

    def __getitem__(self, i):
        if not 0 <= i < len(self):
            raise IndexError(f"value {i} of {len(self)}")
        return Tensor.borrowed(lib.acu_graph_tensor(self.handle, i))


@_handle("acu_expression *", "acu_expression_release")
class Expression(Handle):
    """A formula, for acuda.fused and acuda.scan_by; these take the text itself, too."""

    def __init__(self, formula):
        made = ffi.new("acu_expression **")
        check(lib.acu_expression_create(formula.encode(), made))
        super().__init__(made[0])


@_handle("acu_policy *", "acu_policy_release")
class Policy(Handle):
    """Which streams work goes to, for submit's policy=: options are those of acu_policy_create (stream.h)."""

    def __init__(self, device, **options):
        super().__init__(_make("policy", lib.acu_policy_create, device, options))


@_handle("acu_pool *", "acu_pool_release")
class Pool(Handle):
    """Memory for tensors (pool.h), for acuda.with_pool."""

    def __init__(self, device, **options):
        super().__init__(_make("pool", lib.acu_pool_create, device, options))


@_handle("acu_file *", "acu_file_release")
class File(Handle):
    """A file, for acuda.file_read and acuda.file_write. Modes: "r"; "r+" (written too, and made if there is
    none); "w" (the same, but emptied first)."""

    def __init__(self, path, mode="r"):
        modes = {"r": lib.ACU_FILE_READ, "r+": lib.ACU_FILE_WRITE, "w": lib.ACU_FILE_CREATE}
        if mode not in modes:
            raise ValueError(f"a file's mode is r, r+ or w, not {mode!r}")
        made = ffi.new("acu_file **")
        check(lib.acu_file_open(os.fsencode(path), modes[mode], made))
        super().__init__(made[0])


@_handle("acu_model *", "acu_model_release")
class Model(Handle):
    """A network in ONNX's format (infer.h), for acuda.infer. Blocks while it is loaded."""

    def __init__(self, device, path, **options):
        super().__init__(_make("model", lib.acu_model_load, device, {"path": path, **options}))
