"""A compiled function with a reduction and a product in JAX."""
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp

if jax.default_backend() != "gpu":
    raise SystemExit("JAX sees no GPU")


@jax.jit
def f(x, w):
    return jnp.tanh(x @ w).sum(axis=1) * 2


x = jnp.ones((32, 64), dtype=jnp.float32) / 64
w = jnp.ones((64, 16), dtype=jnp.float32)
for _ in range(3):
    result = f(x, w)
print("result", tuple(result.shape), round(float(result[0]), 3))
print("sorted", [int(v) for v in jnp.sort(jnp.array([5, 3, 9, 1]))])
