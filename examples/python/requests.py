# SPDX-License-Identifier: MIT OR Apache-2.0
"""Requests answered in asyncio: each is a coroutine that copies its numbers to the device, submits a small network
and awaits the result. They overlap, no thread waits for any of them, and one that takes too long, or whose numbers
are of no use, fails alone.

    ACUDA_LIBRARY=build/dev/lib/libacuda.so PYTHONPATH=build/dev/python python3 examples/python/requests.py
"""
import asyncio

import numpy as np

import acuda

FEATURES, HIDDEN, CLASSES, REQUESTS = 64, 128, 10, 100


class Network:
    def __init__(self, device):
        random = np.random.default_rng(1)
        self.host = [random.standard_normal(shape).astype(np.float32) / 8
                     for shape in ((FEATURES, HIDDEN), (HIDDEN, CLASSES))]
        self.first, self.second = map(device.array, self.host)

    def __call__(self, x):
        return acuda.softmax(acuda.relu(x @ self.first) @ self.second, -1)

    def by_numpy(self, x):
        y = np.maximum(x @ self.host[0], 0) @ self.host[1]
        y = np.exp(y - y.max(-1, keepdims=True))
        return y / y.sum(-1, keepdims=True)


async def answer(device, network, numbers):
    """The most likely class, and how likely it is."""
    x = device.array(numbers)
    future = device.submit(acuda.to_host(network(x)), name="request", timeout=5_000_000_000)
    await future
    likely = np.from_dlpack(future[0])
    return int(likely.argmax()), float(likely.max())


async def serve(device):
    network = Network(device)
    random = np.random.default_rng(2)
    asked = [random.standard_normal((1, FEATURES)).astype(np.float32) for _ in range(REQUESTS)]
    asked.append(np.zeros((1, FEATURES + 1), np.float32))  # one that does not fit
    answers = await asyncio.gather(*(answer(device, network, x) for x in asked), return_exceptions=True)
    *good, bad = answers
    for x, (kind, likely) in zip(asked, good):
        want = network.by_numpy(x)
        assert kind == want.argmax() and abs(likely - want.max()) < 1e-4
    print(f"{len(good)} requests answered; the first is of class {good[0][0]}, at {good[0][1]:.2f}")
    assert isinstance(bad, acuda.Error) and bad.status == "SHAPE"
    print(f"refused: {bad.message}")


if __name__ == "__main__":
    with acuda.open(software=True) as device:
        asyncio.run(serve(device))
