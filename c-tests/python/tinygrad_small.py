"""tinygrad on its CUDA device: products, reductions, a convolution, sorting and a gradient, beside NumPy."""

import os

import wheels

os.environ.update(DEV="CUDA", NVRTC_PATH=wheels.path("libnvrtc.so.12"))
import numpy as np  # noqa: E402
from tinygrad import Device, Tensor  # noqa: E402

print(Device.DEFAULT)
rng = np.random.default_rng(1)
a, b = (rng.standard_normal((48, 48)).astype(np.float32) for _ in range(2))
found = (Tensor(a) @ Tensor(b)).relu().sum(axis=1).numpy()
print("product", bool(np.allclose(found, (a @ b).clip(0).sum(axis=1), atol=1e-3)))
print("softmax", bool(np.allclose(Tensor(a).softmax().numpy().sum(axis=1), 1, atol=1e-5)))
x, w = rng.standard_normal((2, 3, 8, 8)).astype(np.float32), rng.standard_normal((4, 3, 3, 3)).astype(np.float32)
padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
print("convolution", bool(np.allclose(Tensor(x).conv2d(Tensor(w), padding=1).numpy(), np.einsum("ncyxij,kcij->nkyx", windows, w), atol=1e-3)))
print("sorted", bool((Tensor(a[0]).sort()[0].numpy() == np.sort(a[0])).all()))
weight = Tensor(b)
slope = (Tensor(a) @ weight).square().mean().gradient(weight)[0]
print("gradient", bool(np.allclose(slope.numpy(), 2 * a.T @ (a @ b) / a.size, atol=1e-3)))
