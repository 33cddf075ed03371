# SPDX-License-Identifier: MIT OR Apache-2.0
"""The Python package, by unittest. Run by test_package.sh."""
import asyncio
import gc
import inspect
import os
import re
import subprocess
import sys
import threading
import unittest

import numpy as np

import acuda

DRIVER = {"request": os.environ.get("ACUDA_TEST_DEVICE", "software")}
SCALE = """extern "C" __global__ void scale(float *y, const float *x, float by, int n)
{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = by * x[i]; }"""


class Case(unittest.TestCase):
    """Each test has a device, and leaves nothing behind."""

    OPTIONS = {}

    def setUp(self):
        self.device = acuda.open(driver=DRIVER, **self.OPTIONS)
        self.numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
        self.x = self.device.array(self.numbers)

    def tearDown(self):
        self.device.close()
        del self.device, self.x
        gc.collect()
        acuda.drain()
        self.assertEqual(acuda.live(), "")

    def same(self, have, want):
        have = have if isinstance(have, acuda.Tensor) else self.device.run(have)
        want = np.asarray(want)
        self.assertEqual((have.shape, np.dtype(want.dtype)), (want.shape, have.numpy().dtype))
        np.testing.assert_allclose(have.numpy(), want, rtol=1e-6)

    def fails(self, status, words, make):
        with self.assertRaises(acuda.Error) as caught:
            make()
        self.assertEqual(caught.exception.status, status)
        self.assertIn(words, str(caught.exception))
        return caught.exception


class Operations(Case):
    def test_arithmetic(self):
        x, n = self.x, self.numbers
        self.same(2 * x + 1 - x / 4, 2 * n + 1 - n / 4)
        self.same(-abs(3 - x), -abs(3 - n))
        self.same(x @ x.transpose(0, 1), n @ n.T)
        self.same(x ** 2 % 5, n ** 2 % 5)
        self.same(x >= 2, n >= 2)
        self.same(x == self.device.array(n[::-1].copy()), n == n[::-1])
        whole = self.device.array(np.arange(4, dtype=np.int32))
        self.same((whole << 2 | 1) & ~whole, (np.arange(4, dtype=np.int32) << 2 | 1) & ~np.arange(4, dtype=np.int32))
        self.same(np.float32(2) * x, n * 2)

    def test_reductions(self):
        self.same(self.x.sum(), [self.numbers.sum()])
        self.same(self.x.sum(0, keep=True), self.numbers.sum(0, keepdims=True))
        self.same(acuda.mean(self.x, dims=(0, -1)), [self.numbers.mean()])
        self.assertEqual(self.device.run(self.x.max_of()).item(), 5)

    def test_lists(self):
        x, n = self.x, self.numbers
        self.same(acuda.concat(0, x, x + 1, x), np.concatenate([n, n + 1, n]))
        self.same(acuda.permute(x, 1, 0), n.T)
        self.same(acuda.einsum("ij,kj->ik", x, x), n @ n.T)
        left, *rest = acuda.split(x, 1, 3)
        self.same(left, n[:, :1])
        self.same(rest[1], n[:, 2:])
        one, two = acuda.split_at(x, 1, [1, 2])
        self.same(one + two.sum(1, keep=True), n[:, :1] + n[:, 1:].sum(1, keepdims=True))
        pair = acuda.zip(x, x * 2)
        self.same(self.device.run(pair)[1], n * 2)
        self.same(pair.nth(0), n)

    def test_words_options_and_dtypes(self):
        index = self.device.array(np.array([0, 1, 1]))
        ones = self.device.array(np.ones(3, np.float32))
        self.same(acuda.scatter("add", acuda.zeros("f32", 4), 0, index, ones), np.float32([1, 2, 0, 0]))
        image = self.device.array(np.ones((1, 1, 4, 4), np.float32))
        weight = self.device.array(np.ones((1, 1, 3, 3), np.float32))
        self.same(acuda.conv(image, weight, 0, padding=(1, 1), stride=(2, 2)),
                  np.float32([[[[4, 6], [6, 9]]]]))
        image = self.device.array(np.arange(12, dtype=np.float32).reshape(3, 4, 1))
        self.same(acuda.warp_affine(image, [1, 0, 1, 0, 1, 0], 3, 4, filter="nearest").flatten(),
                  np.float32([0, 0, 1, 2, 0, 4, 5, 6, 0, 8, 9, 10]))
        self.same(acuda.full((2,), acuda.f64(1.5)), np.full(2, 1.5))
        self.same(acuda.full((2,), acuda.c128(1 + 2j)), np.full(2, 1 + 2j))
        self.same(self.x.convert(np.float16), self.numbers.astype(np.float16))
        self.same(acuda.fused("a * b + 1", self.x, 2), self.numbers * 2 + 1)

    def test_indices(self):
        n = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
        x = self.device.array(n)
        for index in (0, -1, slice(1, None), (slice(None), 1), (Ellipsis, 2), (1, slice(None), slice(1, 4, 2)),
                      (None, 0), (Ellipsis, None), (slice(None), None, slice(0, 2)), (0, 1, 2), Ellipsis):
            self.same(x[index], n[index])
        for wrong, kind in ((2, IndexError), ((0, 0, 0, 0), IndexError), (slice(None, None, -1), ValueError),
                            ("a", TypeError)):
            with self.assertRaises(kind):
                x[wrong]

    def test_every_operation_has_its_manual(self):
        for name in acuda._operations.names():
            function = getattr(acuda, name)
            self.assertGreater(len(function.__doc__), 20, name)
            self.assertTrue(inspect.signature(function), name)
        self.assertIn("Rotate along a dimension", acuda.roll.__doc__)
        self.assertIn("roll", dir(acuda))
        self.assertIn("roll", dir(self.x))

    def test_an_op_is_used_twice_and_runs_once(self):
        calls = []
        y = acuda.then(self.x, lambda t: calls.append(t.shape) or t + 1)
        self.same(y * y, (self.numbers + 1) ** 2)
        self.same(y, self.numbers + 1)
        self.assertEqual(calls, [(2, 3)])


class Refusals(Case):
    def test_what_the_engine_refuses(self):
        error = self.fails("SHAPE", "matmul of f32 [2, 3] and f32 [2, 3]",
                           lambda: self.device.run(acuda.matmul(self.x, self.x)))
        self.assertEqual(os.path.basename(error.file), "package.py")
        self.assertEqual(error.op, "matmul")
        line = inspect.currentframe().f_lineno + 1
        op = acuda.roll(self.x, 7, 1)
        self.assertEqual(self.fails("SHAPE", "roll", lambda: self.device.submit(op)).line, line)

    def test_what_is_refused_before(self):
        x = self.x
        for make, kind, words in (
                (lambda: acuda.roll(x), TypeError, "'dimension'"),
                (lambda: acuda.nope(x), AttributeError, "nope"),
                (lambda: x.nope(), AttributeError, "nope"),
                (lambda: acuda.conv(x, x, None, strides=3), TypeError, "stride"),
                (lambda: self.device.submit(x, explaim=True), TypeError, "explain"),
                (lambda: acuda.scatter("plus", x, 0, x, x), ValueError, "ACU_SCATTER_ADD"),
                (lambda: acuda.zeros("float99", 3), TypeError, "f32"),
                (lambda: acuda.zeros("f32", (1,) * 7), ValueError, "7 dimensions"),
                (lambda: acuda.zeros("f32", 1.5), TypeError, ""),
                (lambda: acuda.sum(x, ()), ValueError, "None"),
                (lambda: acuda.add(x, self.numbers), TypeError, "device.array"),
                (lambda: acuda.full(3, 1.5), TypeError, "acuda.f32"),
                (lambda: acuda.u8(256), OverflowError, ""),
                (lambda: x + "a", TypeError, ""),
                (lambda: bool(x == x), TypeError, "item()"),
                (lambda: acuda.replay(x), TypeError, "Graph"),
                (lambda: acuda.warp_affine(x, [1, 0, 0], 2, 2), ValueError, "matrix has 6 numbers, not 3"),
                (lambda: acuda.blas_gemm_group(1, [x, x], [x], 0, [x, x]), ValueError, "1 of b"),
                (lambda: acuda.launch(x), TypeError, "Kernel"),
                (lambda: self.device.run(acuda.zeros("bf16", 2)).numpy(), TypeError, "convert"),
                (lambda: x.write(np.ones((3, 2))), ValueError, "(3, 2)"),
                (lambda: x.host_view(), ValueError, "device"),
                (lambda: self.device.wait(-1), ValueError, "")):
            with self.assertRaises(kind) as caught:
                make()
            self.assertIn(words, str(caught.exception))

    def test_a_closed_device(self):
        other = acuda.open(driver=DRIVER)
        other.close()
        other.close()
        with acuda.open(driver=DRIVER) as again:
            self.assertEqual(again.run(acuda.ones("i32", 2).sum()).item(), 2)


class Futures(Case):
    def test_values_wait_and_look(self):
        future = self.device.submit(acuda.zip(self.x, self.x + 1), name="pair", explain=True)
        a, b = future
        self.assertEqual(len(future), 2)
        self.same(b * 2, (self.numbers + 1) * 2)
        future.wait(60)
        self.assertTrue(future.done())
        self.assertIsNone(future.error())
        self.assertIn("add", future.explain())
        with self.assertRaises(IndexError):
            future[2]
        self.same(a, self.numbers)

    def test_a_timeout_and_a_cancel(self):
        gate = threading.Event()
        future = self.device.submit(acuda.host(gate.wait))
        with self.assertRaises(TimeoutError):
            future.wait(0)
        self.assertFalse(future.done())
        behind = self.device.submit(acuda.after(self.x + 1, acuda.host(gate.wait)))
        behind.cancel()
        self.assertEqual(behind.error().status, "CANCELLED")
        gate.set()
        future.wait()

    def test_await(self):
        async def one(i):
            future = await self.device.submit(self.x * i)
            return future[0].numpy()[1, 2]

        async def main():
            many = await asyncio.gather(*(one(i) for i in range(200)))
            self.assertEqual(many, [5.0 * i for i in range(200)])
            with self.assertRaises(acuda.Error) as caught:
                await self.device.submit(acuda.host(lambda: [][1]))
            self.assertIn("IndexError", str(caught.exception))
            gate = threading.Event()
            future = self.device.submit(acuda.host(gate.wait))
            waiter = asyncio.ensure_future(self._wait(future))
            await asyncio.sleep(0)
            waiter.cancel()
            gate.set()
            await future
            with self.assertRaises(asyncio.CancelledError):
                await waiter

        asyncio.run(main())
        asyncio.run(main())  # another loop

    @staticmethod
    async def _wait(future):
        await future

    def test_threads(self):
        results = [None] * 4

        def work(i):
            y = self.x
            for _ in range(20):
                y = self.device.run(y + 1)
            results[i] = y.numpy()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for r in results:
            np.testing.assert_array_equal(r, self.numbers + 20)


class Full(Case):
    OPTIONS = {"max_in_flight": 1}

    def test_the_op_is_left_to_the_program(self):
        gate = threading.Event()
        held = self.device.submit(acuda.host(gate.wait))
        op, waits = self.x + 1, acuda.host(gate.wait)
        with self.assertRaises(acuda.Error) as caught:
            while True:
                self.device.submit(acuda.after(op * 1, waits), refuse_when_full=True)
        self.assertEqual(caught.exception.status, "FULL")
        gate.set()
        held.wait()
        self.same(op, self.numbers + 1)


class Functions(Case):
    def test_host(self):
        there, seen = self.device.run(acuda.to_host(self.x)), []

        def look(t, n):
            seen.append((t.host_view().copy(), t.dtype, threading.current_thread() is threading.main_thread()))
            t.host_view()[:] = 7

        self.device.submit(acuda.host(look, acuda.inout(there), acuda.i32(3))).wait()
        np.testing.assert_array_equal(seen[0][0], self.numbers)
        self.assertEqual(seen[0][1:], ("f32", False))
        np.testing.assert_array_equal(there.numpy(), np.full((2, 3), 7))

    def test_exceptions_become_errors(self):
        def breaks(*_):
            raise ValueError("on purpose")

        self.fails("CALLBACK", "ValueError: on purpose", lambda: self.device.submit(acuda.host(breaks)).wait())
        self.fails("CALLBACK", "ValueError: on purpose", lambda: self.device.submit(acuda.then(self.x, breaks)))
        self.fails("CALLBACK", "TypeError", lambda: self.device.submit(acuda.then(self.x, lambda t: "no op")))

    def test_alternatives(self):
        def breaks():
            raise ValueError

        def failing():
            return acuda.last(acuda.zip(acuda.host(breaks), acuda.zeros("f32", (2, 3))))

        self.same(acuda.or_else(failing(), self.x * 2), self.numbers * 2)
        asked = []
        self.same(acuda.or_else_if(failing(), self.x, lambda e: asked.append(e.status) or True), self.numbers)
        self.assertEqual(asked, ["CALLBACK"])
        self.fails("CALLBACK", "", lambda: self.device.submit(
            acuda.or_else_if(failing(), self.x, lambda e: False)).wait())

    def test_kernels(self):
        try:
            module = self.device.compile(SCALE)
        except acuda.Error as error:
            self.assertEqual(error.status, "NOT_FOUND")
            self.skipTest("there is no compiler")
        y = self.device.empty((2, 3))
        by, n = acuda.f32(10), np.int32(6)
        self.device.submit(acuda.launch(module["scale"], acuda.out(y), self.x, by, n, threads=6)).wait()
        np.testing.assert_array_equal(y.numpy(), self.numbers * 10)
        op = acuda.launch(module["scale"], acuda.out(acuda.empty("f32", (2, 3))), self.x + 1, by, n, grid=1, block=32)
        self.same(acuda.first(op), (self.numbers + 1) * 10)
        self.fails("ARGUMENTS", "scale", lambda: self.device.submit(acuda.launch(module["scale"], y, grid=1, block=1)))
        self.fails("NOT_FOUND", "nope", lambda: module["nope"])
        error = self.fails("COMPILE", "", lambda: self.device.compile("this is no C"))
        self.assertTrue(error.message)
        with self.assertRaises(ValueError):
            acuda.launch(module["scale"], threads=1, grid=1)

    def test_graphs(self):
        out = self.device.empty((2, 3))
        graph = self.device.graph(acuda.into(out, self.x * 2))
        for i in range(3):
            self.x.write(self.numbers + i)
            self.device.submit(acuda.replay(graph)).wait()
            np.testing.assert_array_equal(graph[0].numpy(), (self.numbers + i) * 2)
        with self.assertRaises(IndexError):
            graph[1]

    def test_collectives(self):
        with acuda.Comm(self.device, backend="process") as comm:
            self.assertEqual((comm.rank, comm.ranks), (0, 1))
            self.device.submit(comm.all_reduce(self.x, how="max")).wait()
        np.testing.assert_array_equal(self.x.numpy(), self.numbers)

    def test_files(self):
        path = f"{os.environ['TMPDIR']}/numbers"
        there = self.device.run(acuda.to_host(self.x))
        file = acuda.File(path, "w")
        self.device.submit(acuda.file_write(file, 0, there)).wait()
        np.testing.assert_array_equal(np.fromfile(path, np.float32), self.numbers.ravel())
        back = self.device.empty((3, 2), pinned=True)
        self.device.submit(acuda.file_read(file, 0, back)).wait()
        np.testing.assert_array_equal(back.numpy(), self.numbers.reshape(3, 2))
        with self.assertRaises(ValueError):
            acuda.File(path, "a")

    def test_options(self):
        pool = acuda.Pool(self.device)
        self.same(acuda.with_pool(pool, self.x + 1), self.numbers + 1)
        self.device.submit(self.x + 1, policy=acuda.Policy(self.device, streams=2)).wait()
        self.fails("NOT_FOUND", "", lambda: acuda.Model(self.device, "/nowhere.onnx"))
        self.assertGreaterEqual(acuda.device_count(software=True), 1)

    def test_streams(self):
        stream = self.device.stream()
        version, raw = stream.__cuda_stream__()
        self.assertEqual((version, raw), (0, stream.raw))
        self.device.submit(self.x + 1, stream=stream).wait()


class Pages(unittest.TestCase):
    def test_the_programs_in_the_docs_run(self):
        for page in ("docs/python.md",):
            with open(page, encoding="utf-8") as file:
                programs = re.findall(r"```python\n(.*?)```", file.read(), re.S)
            self.assertTrue(programs)
            for program in programs:
                done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
                if "no CUDA C++ compiler" not in done.stderr:
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertTrue(done.stdout)

    def test_the_example(self):
        done = subprocess.run([sys.executable, "examples/python/requests.py"], capture_output=True, text=True,
                              timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("100 requests answered", done.stdout)


class Endings(unittest.TestCase):
    def test_exit_with_work_in_flight(self):
        program = f"""
import acuda
device = acuda.open(driver={DRIVER!r})
x = device.run(acuda.ones("f32", (256, 256)))
import time
busy = device.submit(acuda.host(lambda: time.sleep(0.05)))
for _ in range(20):
    x = device.run(x @ x * 0.001)
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_no_library(self):
        done = subprocess.run([sys.executable, "-c", "import acuda"], capture_output=True, text=True,
                              env={**os.environ, "ACUDA_LIBRARY": "/nowhere/libacuda.so"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("ACUDA_LIBRARY", done.stderr)


if __name__ == "__main__":
    unittest.main()
