"""Convolution, scan, gradients, linear algebra and sorting in JAX."""
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp

if jax.default_backend() != "gpu":
    raise SystemExit("JAX sees no GPU")


def loss(w, x):
    y = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME")
    return jnp.mean(jax.nn.relu(y) ** 2)


x = jnp.linspace(-1, 1, 2 * 3 * 16 * 16).reshape(2, 3, 16, 16)
w = jnp.linspace(-0.5, 0.5, 4 * 3 * 3 * 3).reshape(4, 3, 3, 3)
value, gradient = jax.jit(jax.value_and_grad(loss))(w, x)
print("loss %.4f, gradient %.3f" % (value, jnp.abs(gradient).sum()))
carry, _ = jax.lax.scan(lambda c, v: (c * 0.5 + v, c), 0.0, jnp.arange(64.0))
print("scan %.4f" % carry)
m = jnp.eye(16) * 4 + jnp.arange(256.0).reshape(16, 16) / 256
print("solved %.4f" % jnp.linalg.solve(m, jnp.ones(16)).sum())
print("eigenvalues %.3f" % jnp.linalg.eigvalsh(m + m.T).sum())
print("transform %.2f" % jnp.abs(jnp.fft.fft(jnp.arange(128.0))).sum())
print("sorted", jnp.sort(jax.random.permutation(jax.random.key(1), 100))[:5].tolist())
