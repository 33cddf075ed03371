# SPDX-License-Identifier: MIT OR Apache-2.0
"""acuda and PyTorch in one process: two threads compute the same by cuBLAS, cuDNN, cuFFT, cuSOLVER and cuSPARSE at
the same time, one by each; while PyTorch goes on, acuda's device is closed, with all of its handles, and opened
again. Run by test_torch.sh; on the software device, which these libraries do not know, by what both have themselves.
"""
import ctypes
import os
import re
import threading
from ctypes import POINTER, Structure, byref, c_bool, c_int, c_int64, c_size_t, c_void_p

import numpy as np
import torch
from torch.nn.functional import conv2d

import acuda_raw as acuda

on_gpu = os.environ.get("ACUDA_TEST_DEVICE") == "gpu"
on = "cuda" if on_gpu else "cpu"
TURNS, OPENINGS = 20, 3
torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False


class ConvOptions(Structure):
    _fields_ = [("size", c_size_t), ("stride", c_int64 * 3), ("padding", c_int64 * 3), ("dilation", c_int64 * 3),
                ("groups", c_int64), ("bias", c_void_p), ("activation", c_int), ("deterministic", c_bool),
                ("measure", c_bool), ("most_bytes", c_size_t)]


def declare(name, *arguments):
    function = getattr(acuda._lib, name)
    function.restype, function.argtypes = c_void_p, (*arguments, acuda.Site)
    return lambda *values: function(*values, acuda.Site(b"beside_torch.py", 0))


conv = declare("acu_op_dnn_conv", c_void_p, c_void_p, POINTER(ConvOptions))
matmul = declare("acu_op_matmul", c_void_p, c_void_p)
rfft = declare("acu_op_rfft", c_void_p, c_int)
cholesky = declare("acu_op_cholesky", c_void_p, c_int)
csr_matmul = declare("acu_op_csr_matmul", c_void_p, c_void_p, c_void_p, c_int64, c_void_p)

random = np.random.default_rng(1)
x = random.standard_normal((4, 16, 20, 20), np.float32)
w = random.standard_normal((8, 16, 3, 3), np.float32)
a = random.standard_normal((256, 256), np.float32)
definite = a @ a.T + 256 * np.eye(256, dtype=np.float32)
thin = np.where(a > 1, a, 0)
offsets = np.concatenate([[0], np.cumsum((thin != 0).sum(1))]).astype(np.int32)
columns = np.nonzero(thin)[1].astype(np.int32)


def by_torch():
    tx, tw, ta, td = (torch.from_numpy(each).to(on) for each in (x, w, a, definite))
    results = [conv2d(tx, tw, padding=1), ta @ ta, torch.view_as_real(torch.fft.rfft(ta))]
    if on_gpu:
        sparse = torch.sparse_csr_tensor(torch.from_numpy(offsets), torch.from_numpy(columns),
                                         torch.from_numpy(thin[thin != 0]), (256, 256)).to(on)
        results += [torch.linalg.cholesky(td), sparse @ ta]
    return [each.cpu().numpy() for each in results]


def by_acuda(device):
    def up(array):
        return acuda.upload(device, array).operand()

    options = ConvOptions(size=ctypes.sizeof(ConvOptions), padding=(c_int64 * 3)(1, 1))
    ops = [conv(up(x), up(w), byref(options)), matmul(up(a), up(a)), rfft(up(a), 1)]
    if on_gpu:
        ops += [cholesky(up(definite), 0),
                csr_matmul(up(offsets), up(columns), up(thin[thin != 0]), 256, up(a))]
    results = [acuda.run(device, op) for op in ops]
    results[2] = results[2].view(np.float32).reshape(256, 129, 2)
    return results


def check(have, want, who):
    for i, (one, other) in enumerate(zip(have, want)):
        far = np.abs(one - other).max() / np.abs(other).max()
        assert far < 1e-4, f"{who}: result {i} is {far:.2g} from what it was to be"


failed = []


def turns(compute, want, who):
    try:
        for _ in range(TURNS):
            check(compute(), want, who)
    except BaseException as error:
        failed.append(error)
        raise


def open_device():
    return acuda.open_device(request=b"gpu" if on_gpu else b"software")


want = by_torch()
for opening in range(OPENINGS):
    device = open_device()
    check(by_acuda(device), want, "acuda")
    theirs = threading.Thread(target=turns, args=(by_torch, want, "PyTorch"))
    ours = threading.Thread(target=turns, args=(lambda: by_acuda(device), want, "acuda"))
    theirs.start()
    ours.start()
    ours.join()
    device.close()
    theirs.join()
    assert not failed, failed
    check(by_torch(), want, "PyTorch, after acuda's device was closed")
assert not acuda.live(), acuda.live()
if on_gpu:  # those that are in the process are used, and no others beside them
    maps = open("/proc/self/maps").read()
    for name in "libcublas", "libcublasLt", "libcudnn", "libcufft", "libcusparse", "libcusolver":
        files = set(re.findall(rf"/\S*/{name}\.so\S*", maps))
        print(*sorted(files))
        assert len(files) == 1, f"{name} is loaded {len(files)} times"
print(f"{len(want)} results beside PyTorch {torch.__version__}'s on {on}, {OPENINGS} x {TURNS} times")
