# SPDX-License-Identifier: MIT OR Apache-2.0
"""Collectives (comm.h, and docs/cluster.md)."""
from . import _convert
from ._convert import Call
from ._handles import Handle, Op, _handle
from ._library import FOREVER, NULL, check, ffi, lib, nanoseconds, text


@_handle("acu_comm *", "acu_comm_close", "acu_comm_close")
class Comm(Handle):
    """A communicator over the devices of this process, and of the others that a launcher started with it
    (mpiexec, Slurm, torchrun). Options are those of acu_comm_open: backend="nccl", "mpi" or "process", timeout
    in nanoseconds, checked=True. Blocks. Every method takes one tensor, or op, for each device of this process
    in order, works in place, and makes an op."""

    def __init__(self, *devices, **options):
        made = ffi.new("acu_comm **")
        with Call() as call:
            given = {**options, "devices": devices, "device_count": len(devices)}
            check(lib.acu_comm_open(_convert.options(ffi.typeof("acu_comm_options *"), given, call), made))
        super().__init__(made[0])

    def __del__(self):
        self.close()

    def close(self, timeout=None):
        """Blocks until what was submitted is done."""
        handle, self.handle = getattr(self, "handle", NULL), NULL
        if handle:
            check(lib.acu_comm_close(handle, nanoseconds(timeout)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def rank(self):
        """Of this process's first device."""
        return lib.acu_comm_rank(self.handle)

    @property
    def ranks(self):
        return lib.acu_comm_ranks(self.handle)

    @property
    def library(self):
        return text(lib.acu_comm_library(self.handle))

    def _make(self, kind, into=(), from_=(), how="sum", rank=0):
        count = max(len(into), len(from_), 0)
        with Call() as call:
            what = ffi.new("acu_collective *", {
                "kind": getattr(lib, "ACU_" + kind), "rank": rank,
                "reduction": _convert.convert(ffi.typeof("acu_reduction"), how, call)})
            a = _convert.operands(from_, call) if from_ else NULL
            b = _convert.operands(into, call) if into else NULL
            return Op(lib.acu_op_collective(self.handle, what, a, b, count, call.site))

    def all_reduce(self, *xs, how="sum"):
        return self._make("ALL_REDUCE", xs, how=how)

    def reduce(self, *xs, root=0, how="sum"):
        return self._make("REDUCE", xs, how=how, rank=root)

    def broadcast(self, *xs, root=0):
        return self._make("BROADCAST", xs, rank=root)

    def send(self, to, *xs):
        return self._make("SEND", from_=xs, rank=to)

    def receive(self, from_, *xs):
        return self._make("RECEIVE", xs, rank=from_)

    def all_gather(self, parts, alls):
        """From one list of tensors into another, as for the two that follow."""
        return self._make("ALL_GATHER", alls, parts)

    def reduce_scatter(self, alls, parts, how="sum"):
        return self._make("REDUCE_SCATTER", parts, alls, how=how)

    def all_to_all(self, into, from_):
        return self._make("ALL_TO_ALL", into, from_)

    def barrier(self):
        return self._make("BARRIER")
