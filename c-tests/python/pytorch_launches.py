"""Measures the host's cost of a small PyTorch operation: python3 pytorch_launches.py [profiler]. For each line of its input it
makes bursts of additions of 64 numbers, waits until their records were delivered, and prints the median and the minimum of
the bursts, and the processor time of the whole process, in ns per operation. profiler: under torch.profiler with CUDA activity."""

import contextlib
import sys
import time

import torch

BURSTS, PER_BURST, HANDED_OVER_S = 20, 1000, 0.15

a = torch.ones(64, device="cuda")


def burst():
    torch.cuda.synchronize()
    begun = time.perf_counter_ns()
    for _ in range(PER_BURST):
        a.add_(1.0)
    return (time.perf_counter_ns() - begun) / PER_BURST


def turn():
    begun = time.process_time_ns()
    took = sorted(burst() for _ in range(BURSTS))
    torch.cuda.synchronize()
    time.sleep(HANDED_OVER_S)
    spent = (time.process_time_ns() - begun) / (BURSTS * PER_BURST)
    print("%.1f %.1f %.1f" % (took[BURSTS // 2], took[0], spent), flush=True)


is_profiled = "profiler" in sys.argv
profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) if is_profiled else contextlib.nullcontext()
with profiler:
    for _ in range(5):
        burst()
    for _ in sys.stdin:
        turn()
