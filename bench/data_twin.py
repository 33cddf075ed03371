#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The rows of bench/data.c by PyTorch (eager) and CuPy, for a machine that has them: one JSON object, with the
median time in microseconds of one of 4 queued calls, as bench/data.c measures it. python3 bench/data_twin.py"""
import json
import statistics
import time

QUEUED, SAMPLES, WARM = 4, 20, 2


def measure(call, wait):
    times = []
    for i in range(WARM + SAMPLES):
        wait()
        start = time.perf_counter()
        for _ in range(QUEUED):
            call()
        wait()
        times.append((time.perf_counter() - start) / QUEUED * 1e6)
    return statistics.median(times[WARM:])


def torch_rows(side):
    import torch

    f = torch.nn.functional
    x = torch.rand(side, side, device="cuda")
    y, flat, part = torch.empty_like(x), x.flatten(), x.flatten()[: side * side // 4]
    half = torch.rand(side // 2, side // 2, device="cuda").half()
    n = side // 2
    ones, zeros = torch.full((n,), 1.5, device="cuda").half(), torch.full((n,), 0.5, device="cuda").half()
    targets = torch.randint(0, n, (n,), device="cuda")
    keys = torch.randint(0, 1024, (part.numel(),), device="cuda")
    order, mask = torch.argsort(x[:, 0]), x < 0.5
    sums = torch.zeros(1024, device="cuda")
    left, top = x[:, : side // 2], x[: side // 2]
    inner, inner4 = x[:-2, :-2], x[:-8, :-8]
    rows = {
        "concat of 2, rows, f32": lambda: torch.cat([top, top], 0, out=y),
        "concat of 2, columns, f32": lambda: torch.cat([left, left], 1, out=y),
        "pad by 1 on all sides, f32": lambda: f.pad(inner, (1, 1, 1, 1)),
        "pad by 4, reflect, f32": lambda: f.pad(inner4[None], (4, 4, 4, 4), "reflect"),
        "flip rows, f32": lambda: x.flip(0),
        "flip columns, f32": lambda: x.flip(1),
        "roll columns by 1, f32": lambda: x.roll(1, 1),
        "roll columns by 1024, f32": lambda: x.roll(1024, 1),
        "tile, twice, f32": lambda: left.tile(1, 2),
        "repeat, twice, f32": lambda: left.repeat_interleave(2, 1),
        "tril, f32": lambda: torch.tril(x, out=y),
        "gather of rows, f32": lambda: torch.index_select(x, 0, order, out=y),
        "cumsum of all, f32": lambda: torch.cumsum(flat, 0),
        "cumsum of rows, f32": lambda: torch.cumsum(x, 1, out=y),
        "cumsum of columns, f32": lambda: torch.cumsum(x, 0, out=y),
        "sort of a quarter (2^26), f32": lambda: torch.sort(part),
        "top 64 of a quarter, f32": lambda: torch.topk(part, 64),
        "layer norm, 8192 x 8192 f16": lambda: f.layer_norm(half, (n,), ones, zeros, 1e-5),
        "rms norm, 8192 x 8192 f16": lambda: f.rms_norm(half, (n,), ones, 1e-5),
        "softmax, 8192 x 8192 f16": lambda: torch.softmax(half, 1),
        "cross entropy, 8192 x 8192 f16": lambda: f.cross_entropy(half, targets, reduction="none"),
        "masked select, half of f32": lambda: torch.masked_select(x, mask),
        "histogram, 256 bins, f32": lambda: torch.histc(flat, 256, 0, 1),
        "sum by 1024 keys, a quarter, f32": lambda: sums.index_add_(0, keys, part),
        "where, f32": lambda: torch.where(mask, x, y, out=y),
        "clamp, f32": lambda: torch.clamp(x, 0.25, 0.75, out=y),
    }
    return rows, torch.cuda.synchronize


def cupy_rows(side):
    import cupy

    x = cupy.random.random((side, side), dtype=cupy.float32)
    flat, part = x.ravel(), x.ravel()[: side * side // 4]
    keys, mask = cupy.random.randint(0, 1024, part.size, dtype=cupy.int32), x < 0.5
    left, top, y = x[:, : side // 2], x[: side // 2], cupy.empty_like(x)
    rows = {
        "concat of 2, rows, f32": lambda: cupy.concatenate([top, top], 0, out=y),
        "concat of 2, columns, f32": lambda: cupy.concatenate([left, left], 1, out=y),
        "pad by 1 on all sides, f32": lambda: cupy.pad(x[:-2, :-2], 1),
        "flip columns, f32": lambda: cupy.ascontiguousarray(x[:, ::-1]),
        "roll columns by 1, f32": lambda: cupy.roll(x, 1, 1),
        "cumsum of all, f32": lambda: cupy.cumsum(flat),
        "cumsum of rows, f32": lambda: cupy.cumsum(x, 1, out=y),
        "sort of a quarter (2^26), f32": lambda: cupy.sort(part),
        "masked select, half of f32": lambda: x[mask],
        "histogram, 256 bins, f32": lambda: cupy.histogram(flat, 256, (0, 1)),
        "sum by 1024 keys, a quarter, f32": lambda: cupy.bincount(keys, part, 1024),
    }
    return rows, cupy.cuda.Device().synchronize


def main(side=16384):
    result = {"bench": "data_twin", "unit": "us", "rows": []}
    for name, rows_of in (("PyTorch", torch_rows), ("CuPy", cupy_rows)):
        try:
            rows, wait = rows_of(side)
        except Exception as error:  # not there, or no GPU
            result[name] = str(error)
            continue
        for what, call in rows.items():
            try:
                result["rows"].append({"what": what, "side": name, "p50": round(measure(call, wait), 2)})
            except Exception as error:
                result["rows"].append({"what": what, "side": name, "failed": str(error)[:200]})
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
