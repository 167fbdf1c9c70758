"""Two Triton kernels: compiled at run time, launched through the driver."""
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


@triton.jit
def scale_kernel(x, factor, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(x + offsets, tl.load(x + offsets, mask=mask) * factor, mask=mask)


n = 1000
x = torch.arange(n, dtype=torch.float32, device="cuda")
y = torch.ones(n, dtype=torch.float32, device="cuda")
out = torch.empty_like(x)
for _ in range(3):
    add_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
scale_kernel[(triton.cdiv(n, 128),)](out, 2.5, n, BLOCK=128)
torch.cuda.synchronize()
print("sum", out.sum().item())
