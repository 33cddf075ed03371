# SPDX-License-Identifier: MIT OR Apache-2.0
"""A row of the programs in this folder, as benches print them: microseconds of one, the median of 20 times 4."""
import statistics
import time

import torch


def show(what, work, whose="PyTorch"):
    times = []
    for _ in range(22):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(4):
            work()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e6 / 4)
    print("%-8s %-52s %10.1f us" % (whose, what, statistics.median(times[2:])), flush=True)
