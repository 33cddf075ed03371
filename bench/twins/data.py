#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""PyTorch's and CuPy's side of bench/data.c, in the same rows."""
import sys

import torch
import torch.nn.functional as F

from show import show


def arrange(x):
    left = x[:, :8192].contiguous()
    show("concat of 2, rows, f32", lambda: torch.cat((x[:8192], x[:8192])))
    show("pad by 4, reflect, f32", lambda: F.pad(x[None, :16376, :16376], (4, 4, 4, 4), mode="reflect"))
    show("flip columns, f32", lambda: torch.flip(x, (1,)))
    show("roll columns by 1, f32", lambda: torch.roll(x, 1, 1))
    show("tile, twice, f32", lambda: left.repeat(1, 2))
    show("repeat, twice, f32", lambda: left.repeat_interleave(2, 1))


def main():
    x = torch.rand((16384, 16384), device="cuda")
    half = torch.rand((8192, 8192), device="cuda").to(torch.float16)
    weight, bias = torch.full((8192,), 1.5, device="cuda").half(), torch.full((8192,), 0.5, device="cuda").half()
    targets = torch.randint(0, 8192, (8192,), device="cuda")
    show("layer norm, 8192 x 8192 f16", lambda: F.layer_norm(half, (8192,), weight, bias))
    show("rms norm, 8192 x 8192 f16", lambda: F.rms_norm(half, (8192,), weight, 1e-5))
    show("softmax, 8192 x 8192 f16", lambda: F.softmax(half, 1))
    show("cross entropy, 8192 x 8192 f16", lambda: F.cross_entropy(half, targets, reduction="none"))
    arrange(x)
    flat = x.view(-1)
    part = flat[: 1 << 26]
    keys = torch.randint(0, 1024, (1 << 26,), device="cuda")
    show("cumsum of all, f32", lambda: torch.cumsum(flat, 0))
    show("cumsum of rows, f32", lambda: torch.cumsum(x, 1))
    show("cumsum of columns, f32", lambda: torch.cumsum(x, 0))
    # torch.sort yields the places too
    show("sort of a quarter (2^26), f32", lambda: torch.sort(part))
    show("top 64 of a sixteenth (2^24), f32", lambda: torch.topk(flat[: 1 << 24], 64))
    show("top 64 of a quarter, f32", lambda: torch.topk(part, 64))
    show("sum by 1024 keys, a quarter, f32", lambda: torch.zeros(1024, device="cuda").index_add_(0, keys, part))
    try:
        import cupy
    except ImportError:
        return
    y = cupy.from_dlpack(x)
    bits = cupy.random.randint(0, 1 << 32, 1 << 26, dtype=cupy.uint32)
    show("sort of a quarter, u32", lambda: cupy.sort(bits), "CuPy")
    show("argsort of a quarter, u32", lambda: cupy.argsort(bits), "CuPy")
    show("cumsum of all, f32", lambda: cupy.cumsum(y.reshape(-1)), "CuPy")
    show("histogram, 256 bins, f32", lambda: cupy.histogram(y.reshape(-1), 256, (0, 1)), "CuPy")


if __name__ == "__main__":
    sys.exit(main())
