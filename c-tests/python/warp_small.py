"""Kernels with a sine, vectors and matrices, and atomic additions in Warp, compared with NumPy."""
import numpy
import warp as wp

wp.config.quiet = True
wp.init()
if not wp.is_cuda_available():
    raise SystemExit("Warp sees no GPU")


@wp.kernel
def sines(x: wp.array(dtype=float), y: wp.array(dtype=float), positive: wp.array(dtype=int)):
    i = wp.tid()
    y[i] = 2.0 * wp.sin(x[i])
    if y[i] > 0.0:
        wp.atomic_add(positive, 0, 1)


@wp.kernel
def turned(m: wp.mat33, points: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = m * points[i] + wp.cross(points[i], wp.vec3(0.0, 0.0, 1.0))


values = numpy.linspace(-4, 4, 1000, dtype=numpy.float32)
with wp.ScopedDevice("cuda:0"):
    x, y, positive = wp.array(values), wp.zeros(1000, dtype=float), wp.zeros(1, dtype=int)
    wp.launch(sines, dim=1000, inputs=[x, y, positive])
    print("sines", numpy.allclose(y.numpy(), 2 * numpy.sin(values), atol=1e-6))
    print("positive", int(positive.numpy()[0]) == int((numpy.sin(values) > 0).sum()))
    m = numpy.arange(9, dtype=numpy.float32).reshape(3, 3)
    points = numpy.random.default_rng(1).random((500, 3), dtype=numpy.float32)
    out = wp.zeros(500, dtype=wp.vec3)
    wp.launch(turned, dim=500, inputs=[wp.mat33(*m.ravel().tolist()), wp.array(points, dtype=wp.vec3), out])
    print("turned", numpy.allclose(out.numpy(), points @ m.T + numpy.cross(points, [0, 0, 1]), atol=1e-4))
