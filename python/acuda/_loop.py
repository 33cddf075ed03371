# SPDX-License-Identifier: MIT OR Apache-2.0
"""Futures in asyncio: each event loop has a queue of acuda's, whose file descriptor it watches. So no thread
waits for a submission, and a thousand of them cost one wake-up."""
import asyncio
import weakref

from ._library import NULL, check, ffi, lib, struct

_queues = weakref.WeakKeyDictionary()  # loop -> _Queue
_ROOM = 64


class _Queue:
    def __init__(self, loop):
        made = ffi.new("acu_queue **")
        check(lib.acu_queue_create(NULL, made))
        self.handle = made[0]
        self.waiting = {}  # tag -> the asyncio future
        self.tag = 0
        loop.add_reader(lib.acu_queue_fd(self.handle), self.take)

    def __del__(self):
        if getattr(self, "handle", None):
            lib.acu_queue_release(self.handle)

    def add(self, future, waiter):
        self.tag += 1
        self.waiting[self.tag] = waiter
        status = lib.acu_future_when_complete(future.handle, self.handle, self.tag, NULL, struct("acu_user"))
        if status < 0:
            del self.waiting[self.tag]
            check(status)

    def take(self):
        """What is complete. The descriptor stays readable while there is more."""
        done, count = ffi.new("acu_completion[]", _ROOM), ffi.new("size_t *")
        check(lib.acu_queue_take(self.handle, done, _ROOM, count))
        for i in range(count[0]):
            lib.acu_future_release(done[i].future)
            waiter = self.waiting.pop(done[i].tag)
            if not waiter.done():  # its task may have been cancelled
                waiter.set_result(done[i].status)


def _queue_of(loop):
    queue = _queues.get(loop)
    if queue is None:
        queue = _queues[loop] = _Queue(loop)
    return queue


async def wait(future):
    """Until the future is complete; gives it back, or raises what it failed with."""
    if not future.done():
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        _queue_of(loop).add(future, waiter)
        await waiter
    future.check(lib.acu_future_poll(future.handle))
    return future
