"""Fields, a product of matrices, a reduction, a structure of small matrices and a gradient in Taichi, compared with NumPy."""
import numpy
import taichi as ti

ti.init(arch=ti.cuda, log_level=ti.ERROR)
# Without a GPU Taichi goes on with the CPU, without an error.
if ti.lang.impl.current_cfg().arch != ti.cuda:
    raise SystemExit("Taichi sees no GPU")
N = 64
a, b, c = (ti.field(ti.f32, (N, N)) for _ in range(3))
total = ti.field(ti.i32, ())
vectors = ti.Vector.field(3, ti.f32, 100)
x = ti.field(ti.f32, 32, needs_grad=True)
loss = ti.field(ti.f32, (), needs_grad=True)


@ti.kernel
def product():
    for i, j in c:
        total_of_row = 0.0
        for k in range(N):
            total_of_row += a[i, k] * b[k, j]
        c[i, j] = total_of_row


@ti.kernel
def count(values: ti.types.ndarray()):
    for i in values:
        total[None] += ti.cast(values[i], ti.i32)


@ti.kernel
def normalized():
    for i in vectors:
        vectors[i] = ti.Vector([ti.sin(float(i)), ti.cos(float(i)), 2.0]).normalized()


@ti.kernel
def squares():
    for i in x:
        loss[None] += x[i] ** 2


random = numpy.random.default_rng(1)
left, right = (random.random((N, N), dtype=numpy.float32) for _ in range(2))
a.from_numpy(left)
b.from_numpy(right)
product()
print("product", numpy.allclose(c.to_numpy(), left @ right, rtol=1e-4))
count(numpy.arange(1000, dtype=numpy.int32))
print("sum", total[None])
normalized()
at = numpy.arange(100)
expected = numpy.stack([numpy.sin(at), numpy.cos(at), numpy.full(100, 2.0)], 1) / 5 ** 0.5
print("normalized", numpy.allclose(vectors.to_numpy(), expected, atol=1e-5))
x.from_numpy(numpy.arange(32, dtype=numpy.float32))
with ti.ad.Tape(loss):
    squares()
print("gradient", numpy.array_equal(x.grad.to_numpy(), 2 * numpy.arange(32)), loss[None])
