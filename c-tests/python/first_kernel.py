"""Imports one of Python's CUDA stacks, runs its first kernel, and looks at what it computed: `first_kernel.py STACK`.

For scripts/python-start, which times the whole process.
"""

import sys


def numba():
    import numpy

    # Some releases of numba-cuda still use this name, which NumPy 2.5 no longer has.
    if not hasattr(numpy, "row_stack"):
        numpy.row_stack = numpy.vstack
    from numba import cuda

    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    x = cuda.to_device(numpy.arange(1000, dtype=numpy.float32))
    double[8, 128](x)
    return x.copy_to_host()[999] == 1998


def cupy():
    import cupy

    return float((cupy.arange(1000, dtype=cupy.float32) * 2)[999]) == 1998


def jax():
    import jax
    import jax.numpy

    return float(jax.jit(lambda x: x * 2)(jax.numpy.arange(1000.0))[999]) == 1998


def triton():
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def double(x, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

    x = torch.tensor([float(i) for i in range(1000)]).to("cuda")
    double[(8,)](x, 1000, BLOCK=128)
    return float(x.to("cpu")[999]) == 1998


def compiled():
    import torch

    double = torch.compile(lambda x: x * 2)
    x = torch.tensor([float(i) for i in range(1000)]).to("cuda")
    return float(double(x).to("cpu")[999]) == 1998


def cudacore():
    from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

    device = Device()
    device.set_current()
    stream = device.create_stream()
    arch = "".join(str(part) for part in device.compute_capability)
    code = 'extern "C" __global__ void nothing() { }'
    program = Program(code, "c++", ProgramOptions(arch="sm_" + arch)).compile("cubin")
    launch(stream, LaunchConfig(grid=1, block=1), program.get_kernel("nothing"))
    stream.sync()
    return True


STACKS = {"numba": numba, "cupy": cupy, "jax": jax, "triton": triton, "torch.compile": compiled, "cuda.core": cudacore}

if __name__ == "__main__":
    sys.exit(0 if STACKS[sys.argv[1]]() else 1)
