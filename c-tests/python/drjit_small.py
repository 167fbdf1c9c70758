"""Dr.Jit, which writes its kernels as PTX: gathers, scatters, a loop, a gradient and doubles, beside NumPy."""

import math

import drjit as dr
import numpy as np
from drjit.cuda import PCG32, Float, Float64, TensorXf, UInt
from drjit.cuda.ad import Float as Differentiable

N = 10000
x, on_host = dr.linspace(Float, 0, 10, N), np.linspace(0, 10, N, dtype=np.float32)
y = dr.sin(x) * dr.exp(-x) + dr.sqrt(x)
print("functions", bool(np.abs(y.numpy() - (np.sin(on_host) * np.exp(-on_host) + np.sqrt(on_host))).max() < 1e-5))
i, numbers = dr.arange(UInt, N), np.arange(N)
print("gather", bool(np.array_equal(dr.gather(Float, x, i * 7919 % N).numpy(), x.numpy()[numbers * 7919 % N])))
counts = dr.zeros(UInt, 16)
dr.scatter_add(counts, UInt(1), i % 16)
print("scatter", bool((counts.numpy() == N // 16).all()))
print("prefix sums", bool(np.array_equal(dr.cumsum(i % 5).numpy(), np.cumsum(numbers % 5))))
random = PCG32(size=N).next_float32().numpy()
print("random", bool(random.min() >= 0 and random.max() < 1 and abs(random.mean() - 0.5) < 0.02))


@dr.syntax
def collatz(value):
    """Steps of each number to 1."""
    steps, value = UInt(0), UInt(value)
    while value > 1:
        value = dr.select(value & 1 == 1, 3 * value + 1, value >> 1)
        steps += 1
    return steps


def one(value):
    steps = 0
    while value > 1:
        value, steps = 3 * value + 1 if value & 1 else value >> 1, steps + 1
    return steps


print("loop", collatz(dr.arange(UInt, 1, 2000)).numpy().tolist() == [one(value) for value in range(1, 2000)])
at, places = dr.linspace(Differentiable, 0, 1, 100), np.linspace(0, 1, 100)
dr.enable_grad(at)
dr.backward(dr.sum(dr.sin(at * at)))
print("gradient", bool(np.abs(dr.grad(at).numpy() - 2 * places * np.cos(places * places)).max() < 1e-5))
table = TensorXf(np.random.default_rng(0).random((33, 20), dtype=np.float32))
print("tensor", bool(np.abs(dr.sum(table, axis=0).numpy() - table.numpy().sum(0)).max() < 1e-4))
errors = dr.erf(dr.linspace(Float64, -2, 2, 51)).numpy()
print("doubles", max(abs(a - math.erf(b)) for a, b in zip(errors, np.linspace(-2, 2, 51))) < 1e-12)
