"""Triton without PyTorch: kernels as in its first tutorials, compared with NumPy.

A tensor is memory from the driver with `data_ptr` and `dtype`: Triton needs nothing else of it.
"""
import ctypes
import importlib.metadata
import sys
import types

import numpy as np


def as_torch():
    """What Triton before 3.8 asks of PyTorch about the one device and the default stream."""
    torch = types.ModuleType("torch")
    torch.version = types.SimpleNamespace(hip=None)
    torch.cuda = types.SimpleNamespace(is_available=lambda: True, current_device=lambda: 0, set_device=lambda device: None,
                                       get_device_capability=capability)
    torch._C = types.ModuleType("torch._C")
    torch._C._cuda_getCurrentRawStream = lambda device: 0
    return {"torch": torch, "torch._C": torch._C}


def capability(device=0):
    values = ctypes.c_int(), ctypes.c_int()
    for value, attribute in zip(values, (75, 76)):
        assert cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device or 0) == 0
    return tuple(value.value for value in values)


if tuple(int(part) for part in importlib.metadata.version("triton").split(".")[:2]) < (3, 8):
    sys.modules.update(as_torch())
import triton
import triton.language as tl

cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuMemcpyHtoD_v2.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]
cuda.cuMemcpyDtoH_v2.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t]


class Tensor:
    def __init__(self, array):
        self.array, self.dtype, self.at = array, str(array.dtype), ctypes.c_uint64()
        assert cuda.cuMemAlloc_v2(ctypes.byref(self.at), ctypes.c_size_t(array.nbytes)) == 0
        assert cuda.cuMemcpyHtoD_v2(self.at.value, array.ctypes.data, array.nbytes) == 0

    def data_ptr(self):
        return self.at.value

    def numpy(self):
        assert cuda.cuMemcpyDtoH_v2(self.array.ctypes.data, self.at.value, self.array.nbytes) == 0
        return self.array


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax_kernel(x, out, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * columns + at, mask=at < columns, other=-float("inf"))
    top = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + tl.program_id(0) * columns + at, top / tl.sum(top, axis=0), mask=at < columns)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        inner = k + tl.arange(0, BK)
        left = tl.load(a + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0)
        right = tl.load(b + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0)
        sums = tl.dot(left, right, sums)
    tl.store(c + rows[:, None] * N + columns[None, :], sums, mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def dropout_kernel(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    kept = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(kept, tl.load(x + at, mask=inside) / (1 - p), 0.0), mask=inside)


@triton.jit
def norm_kernel(x, out, columns, eps, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < columns
    row = tl.load(x + tl.program_id(0) * columns + at, mask=inside, other=0.0)
    mean = tl.sum(row, axis=0) / columns
    apart = tl.where(inside, row - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(apart * apart, axis=0) / columns + eps)
    tl.store(out + tl.program_id(0) * columns + at, apart * scale, mask=inside)


random = np.random.default_rng(7)
# Before 3.8 nothing makes a context until the first launch, which comes after the first allocation.
context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cuda.cuCtxSetCurrent(context) == 0
triton.runtime.driver.active.get_current_device()

x, y = random.random(98432, dtype=np.float32), random.random(98432, dtype=np.float32)
out = Tensor(np.zeros_like(x))
add_kernel[(triton.cdiv(x.size, 1024),)](Tensor(x), Tensor(y), out, x.size, BLOCK=1024)
print("add", bool((out.numpy() == x + y).all()))

x = random.standard_normal((183, 781), dtype=np.float32)
out = Tensor(np.zeros_like(x))
softmax_kernel[(x.shape[0],)](Tensor(x), out, x.shape[1], BLOCK=1024)
top = np.exp(x - x.max(axis=1, keepdims=True))
print("softmax", bool(np.allclose(out.numpy(), top / top.sum(axis=1, keepdims=True), atol=1e-6)))

for kind, near in ((np.float16, 1e-2), (np.float32, 5e-2)):
    a, b = (random.standard_normal(shape).astype(kind) for shape in ((100, 96), (96, 70)))
    c = Tensor(np.zeros((100, 70), np.float32))
    try:
        matmul_kernel[(4, 3)](Tensor(a), Tensor(b), c, 100, 70, 96, BM=32, BN=32, BK=32)
    except RuntimeError as error:
        print("matmul", np.dtype(kind).name, "refused:", error)
        continue
    print("matmul", np.dtype(kind).name, bool(np.allclose(c.numpy(), a.astype(np.float32) @ b.astype(np.float32), atol=near)))

x = np.ones(10000, np.float32)
out = Tensor(np.zeros_like(x))
dropout_kernel[(triton.cdiv(x.size, 1024),)](Tensor(x), out, x.size, 0.5, 123, BLOCK=1024)
print("dropout", bool(set(np.unique(out.numpy())) == {0.0, 2.0} and 0.45 < (out.array > 0).mean() < 0.55))

x = random.standard_normal((64, 500), dtype=np.float32)
out = Tensor(np.zeros_like(x))
norm_kernel[(64,)](Tensor(x), out, 500, 1e-5, BLOCK=512)
expected = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
print("layer norm", bool(np.allclose(out.numpy(), expected, atol=1e-4)))
