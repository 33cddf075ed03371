# SPDX-License-Identifier: MIT OR Apache-2.0
"""PyTorch's memory in and out, without a copy or a wait: torch computes x on a stream of its own, acuda
takes it over and computes y = gelu(2 x + 1), and torch continues with y. Without a GPU both sides use
host memory, and acuda's work runs on the software device.

    ACUDA_LIBRARY=build/dev/lib/libacuda.so PYTHONPATH=build/dev/python \
        python3 examples/python/torch_in_and_out.py
"""
import torch

import acuda

N = 1 << 20


def on_gpu():
    device = acuda.open()
    with torch.cuda.stream(torch.cuda.Stream()):
        x = torch.linspace(-3, 3, N, device="cuda").reshape(1024, 1024).t()  # any strides
        mine = device.take(x)
        mine = device.run(acuda.gelu(2 * mine + 1))
        y = torch.from_dlpack(mine)  # torch's stream is ordered behind acuda's work
        far = (y - torch.nn.functional.gelu(2 * x + 1)).abs().max().item()
    del mine, y
    torch.cuda.synchronize()
    device.close()
    return far


def on_host():
    device = acuda.open(software=True)
    x = torch.linspace(-3, 3, 4096).reshape(64, 64)
    mine = acuda.to_device(device, device.take(x))
    mine = device.run(acuda.gelu(2 * mine + 1))
    y = torch.from_dlpack(device.run(acuda.to_host(mine)))  # host memory has no streams: waits
    far = (y - torch.nn.functional.gelu(2 * x + 1)).abs().max().item()
    del mine, y
    device.close()
    return far


if __name__ == "__main__":
    difference = on_gpu() if torch.cuda.is_available() else on_host()
    print(f"acuda and torch differ by {difference:.2g} at most")
    assert difference < 1e-5
