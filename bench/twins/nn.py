#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""PyTorch's side of bench/nn.c, in the same rows."""
import torch
import torch.nn.functional as F

from show import show

torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


def randn(dtype, *shape):
    return torch.randn(shape, device="cuda").to(dtype)


def attention(what, dtype, n, heads, groups, width, causal):
    q, k, v = randn(dtype, 1, heads, n, width), randn(dtype, 1, groups, n, width), randn(dtype, 1, groups, n, width)
    more = {"enable_gqa": True} if groups != heads else {}
    show(what, lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal, **more))


def conv(what, dtype):
    x, w = randn(dtype, 32, 64, 56, 56), randn(dtype, 64, 64, 3, 3)
    show(what, lambda: F.conv2d(x, w, padding=1))


with torch.no_grad():
    attention("attention, 16 x 128, 4096, causal, bf16", torch.bfloat16, 4096, 16, 16, 128, True)
    attention("attention, 16 x 128, 4096, bf16", torch.bfloat16, 4096, 16, 16, 128, False)
    attention("attention, 16 x 64, 4096, causal, f16", torch.float16, 4096, 16, 16, 64, True)
    try:
        attention("attention, 16 x 128 on 4 groups, 4096, causal, bf16", torch.bfloat16, 4096, 16, 4, 128, True)
    except TypeError:
        print("attention with groups: this PyTorch has none")
    attention("attention, 16 x 128, 2048, causal, f32", torch.float32, 2048, 16, 16, 128, True)
    conv("conv 3 x 3, [32, 64, 56, 56] to 64, f32", torch.float32)
    conv("conv 3 x 3, [32, 64, 56, 56] to 64, f16", torch.float16)
    for what, lines, n, dtype in (("fft, 64 of 2^20, c64", 64, 2**20, torch.complex64), ("fft, 65536 of 1024, c64", 65536, 1024, torch.complex64),
                                  ("fft, 64 of 10^6, c64", 64, 10**6, torch.complex64), ("fft, 64 of 65537, c64", 64, 65537, torch.complex64),
                                  ("fft, 64 of 2^18, c128", 64, 2**18, torch.complex128)):
        x = torch.randn((lines, n), device="cuda", dtype=dtype)
        show(what, lambda: torch.fft.fft(x))
