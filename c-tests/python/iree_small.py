"""IREE, which compiles MLIR to PTX: products of singles and halves, and softmax, beside NumPy."""

import iree.compiler as compiler
import iree.runtime as runtime
import numpy as np

PRODUCT = """
  func.func @{name}(%a: tensor<{m}x{k}x{of}>, %b: tensor<{k}x{n}x{of}>) -> tensor<{m}x{n}xf32> {{
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<{m}x{n}xf32>
    %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
    %out = linalg.matmul ins(%a, %b : tensor<{m}x{k}x{of}>, tensor<{k}x{n}x{of}>) outs(%fill : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
    return %out : tensor<{m}x{n}xf32>
  }}"""
SOFTMAX = """
  func.func @softmax(%x: tensor<17x100xf32>) -> tensor<17x100xf32> {
    %empty = tensor.empty() : tensor<17x100xf32>
    %out = linalg.softmax dimension(1) ins(%x : tensor<17x100xf32>) outs(%empty : tensor<17x100xf32>) -> tensor<17x100xf32>
    return %out : tensor<17x100xf32>
  }"""
CASES = {"odd": (33, 29, 65, "f32", 1e-4), "even": (128, 64, 256, "f32", 0.1), "halves": (128, 128, 256, "f16", 1e-2)}

rng = np.random.default_rng(0)


def loaded(text):
    made = compiler.compile_str("module {%s}" % text, target_backends=["cuda"], extra_args=["--iree-cuda-target=sm_80"])
    return runtime.load_vm_flatbuffer(made, driver="cuda")


for name, (m, n, k, of, near) in CASES.items():
    dtype = np.float16 if of == "f16" else np.float32
    a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    found = getattr(loaded(PRODUCT.format(name=name, m=m, n=n, k=k, of=of)), name)(a, b).to_host()
    print(name, bool(np.abs(found - a.astype(np.float32) @ b.astype(np.float32)).max() < near))
x = rng.standard_normal((17, 100)).astype(np.float32)
wanted = np.exp(x - x.max(1, keepdims=True))
print("softmax", bool(np.abs(loaded(SOFTMAX).softmax(x).to_host() - wanted / wanted.sum(1, keepdims=True)).max() < 1e-5))
