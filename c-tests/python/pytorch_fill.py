"""Tensors that PyTorch fills on the device, of every type and of sizes that take its kernels for whole vectors and for single
elements, and kernels of Triton and Inductor that are tuned, for which both clear a buffer.

PyTorch's wheel has machine code only: on --backend cpu this takes cushim's kernel.
"""
import torch
import triton
import triton.language as tl

TYPES = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32,
         torch.float64, torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2)

wrong = 0
for kind in TYPES:
    for count in (0, 1, 3, 1000, 4099, 1 << 20):
        for value in (0, 1, 1.5):
            # From an odd place too, so that elements do not lie where vectors begin.
            for skipped in (0, 1):
                host = torch.zeros(count + skipped, dtype=kind)
                device = host.to("cuda")
                host[skipped:].fill_(value)
                device[skipped:].fill_(value)
                same = torch.equal(device.cpu().view(torch.uint8), host.view(torch.uint8))
                if not same:
                    wrong += 1
                    print("%s, %d elements from %d on, %s: False" % (kind, count, skipped, value))
print("filled, %d types:" % len(TYPES), wrong == 0)
for name, made, value in (("zeros", torch.zeros(7, device="cuda"), 0), ("ones", torch.ones(7, device="cuda"), 1),
                          ("full", torch.full((7,), 3, device="cuda"), 3)):
    print(name, made.cpu().tolist() == [value] * 7)


@triton.autotune([triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})], key=["n"])
@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


x = torch.arange(1000.0).to("cuda")
y = torch.empty_like(x)
double[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, 1000)
print("tuned by Triton:", y.cpu()[999].item() == 1998)
print("tuned by Inductor:", torch.compile(lambda v: v * 2)(x).cpu()[999].item() == 1998)
