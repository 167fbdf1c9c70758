"""MLX on CUDA: functions beside its processor, and a small transformer that learns to copy."""

import os

import wheels

HOME = wheels.toolkit()
os.environ["CUDA_HOME"] = HOME.name
import mlx.core as mx  # noqa: E402
import mlx.nn as nn  # noqa: E402
import mlx.optimizers as optimizers  # noqa: E402
import numpy as np  # noqa: E402

print(mx.default_device())
rng = np.random.default_rng(0)
x, q = (mx.array(rng.standard_normal(shape).astype(np.float32)) for shape in ((8, 100), (1, 4, 16, 64)))
FUNCTIONS = {
    "attention": lambda: mx.fast.scaled_dot_product_attention(q, q, q, scale=0.125, mask="causal"),
    "positions": lambda: mx.fast.rope(q, 64, traditional=False, base=10000.0, scale=1.0, offset=3),
    "norms": lambda: mx.fast.rms_norm(q, mx.ones(64), 1e-5) + mx.fast.layer_norm(q, None, None, 1e-5),
    "softmax": lambda: mx.softmax(x, axis=1),
    "sorting": lambda: mx.sort(x, axis=1) + mx.take_along_axis(x, mx.argsort(x, axis=1), axis=1),
    "sums": lambda: mx.cumsum(x, axis=1) + mx.logsumexp(x, axis=1, keepdims=True),
    "scatter": lambda: mx.zeros((10,)).at[mx.array([1, 2, 2, 5])].add(mx.array([1.0, 2.0, 3.0, 4.0])),
    "products": lambda: q @ q.transpose(0, 1, 3, 2),
    "convolution": lambda: mx.conv2d(q, mx.ones((6, 3, 3, 64)) * 0.01),
    "transform": lambda: mx.abs(mx.fft.rfft2(x)) + mx.abs(mx.fft.fft(x, axis=1))[:, :51],
    "quantized": lambda: mx.dequantize(*mx.quantize(q[0, 0], 32, 8), 32, 8),
    "halves": lambda: (x.astype(mx.float16) * x.astype(mx.float16)).astype(mx.float32),
}
for name, function in FUNCTIONS.items():
    results = []
    for device in mx.gpu, mx.cpu:
        with mx.stream(device):
            results.append(np.array(function()))
    print(name, bool(np.allclose(*results, rtol=1e-3, atol=1e-3)))


class Copies(nn.Module):
    """Says which of 16 words it reads."""

    def __init__(self):
        super().__init__()
        self.embed, self.encode, self.out = nn.Embedding(16, 32), nn.TransformerEncoder(1, 32, 2, 64), nn.Linear(32, 16)

    def __call__(self, words):
        return self.out(self.encode(self.embed(words), None))


mx.random.seed(0)
model, adam, words = Copies(), optimizers.Adam(1e-2), mx.array(rng.integers(0, 16, (16, 8)))
step = nn.value_and_grad(model, lambda m, w: nn.losses.cross_entropy(m(w), w).mean())
losses = []
for _ in range(15):
    loss, slopes = step(model, words)
    adam.update(model, slopes)
    mx.eval(model.parameters(), adam.state)
    losses.append(loss.item())
print("training", losses[0] > 2 and losses[-1] < 0.01)
