"""Halide, which compiles its schedules to PTX: tiles in shared memory, a product, atomic updates, doubles and a scan, beside NumPy."""

import halide as hl
import numpy as np

TARGET = hl.Target("x86-64-linux-cuda-cuda_capability_80")
x, y, xo, yo, xi, yi = (hl.Var(name) for name in ("x", "y", "xo", "yo", "xi", "yi"))
rng = np.random.default_rng(1)


def realized(function, *sizes):
    out = function.realize(list(sizes), TARGET)
    out.copy_to_host()
    return np.array(out)


image = rng.random((64, 96), dtype=np.float32)
source = hl.BoundaryConditions.repeat_edge(hl.Buffer(image))
across, blur = hl.Func("across"), hl.Func("blur")
across[x, y] = (source[x - 1, y] + source[x, y] + source[x + 1, y]) / 3
blur[x, y] = (across[x, y - 1] + across[x, y] + across[x, y + 1]) / 3
blur.gpu_tile(x, y, xo, yo, xi, yi, 16, 8)
across.compute_at(blur, xo).gpu_threads(x, y)
padded = np.pad(image, 1, mode="edge")
rows = (padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]) / 3
print("blur", bool(np.abs(realized(blur, 96, 64) - (rows[:-2] + rows[1:-1] + rows[2:]) / 3).max() < 1e-6))

a, b = rng.random((48, 40), dtype=np.float32), rng.random((40, 56), dtype=np.float32)
on_a, on_b, k = hl.Buffer(a), hl.Buffer(b), hl.RDom([(0, 40)])
sums, product = hl.Func("sums"), hl.Func("product")
sums[x, y] = 0.0
sums[x, y] += on_a[k, y] * on_b[x, k]
product[x, y] = sums[x, y]
product.gpu_tile(x, y, xo, yo, xi, yi, 8, 8)
sums.compute_at(product, xi)
print("product", bool(np.abs(realized(product, 56, 48) - a @ b).max() < 1e-4))

values = rng.integers(0, 256, (100, 100)).astype(np.uint8)
on_values, both = hl.Buffer(values), hl.RDom([(0, 100), (0, 100)])
counts = hl.Func("counts")
counts[x] = hl.cast(hl.Int(32), 0)
counts[hl.cast(hl.Int(32), on_values[both.x, both.y])] += 1
counts.compute_root().gpu_tile(x, xo, xi, 32)
counts.update(0).atomic().gpu_tile(both.x, hl.RVar("block"), hl.RVar("thread"), 10)
print("histogram", bool(np.array_equal(realized(counts, 256), np.bincount(values.ravel(), minlength=256))))

doubles, n = hl.Func("doubles"), np.arange(1000.0)
at = hl.cast(hl.Float(64), x)
doubles[x] = hl.exp(hl.sin(at / 100)) + hl.log(at + 1)
doubles.gpu_tile(x, xo, xi, 64)
print("doubles", bool(np.abs(realized(doubles, 1000) - (np.exp(np.sin(n / 100)) + np.log(n + 1))).max() < 1e-10))

scan, later = hl.Func("scan"), hl.RDom([(1, 99)])
scan[x, y] = hl.cast(hl.Int(32), on_values[x, y])
scan[later, y] = scan[later, y] + scan[later - 1, y]
scan.compute_root().gpu_tile(x, y, xo, yo, xi, yi, 10, 10)
scan.update(0).gpu_tile(y, yo, yi, 10)
print("scan", bool(np.array_equal(realized(scan, 100, 100), np.cumsum(values.astype(np.int32), axis=1))))
