"""Functions that torch.compile makes Triton kernels of, compared with PyTorch for the CPU.

Tensors are made on the host and copied: PyTorch's own kernels are machine code, which --backend cpu does not run.
"""
import torch
from torch.nn import functional

FUNCTIONS = {
    "pointwise": lambda x: torch.sin(x) * 2 + x.exp(),
    "gelu": functional.gelu,
    "where": lambda x: torch.where(x > 0, x, -x).sqrt(),
    "transposed product": lambda x: functional.silu(x) * x.t().contiguous().t(),
    "sum": lambda x: x.sum(0),
    "variance": lambda x: x.var(-1),
    "greatest": lambda x: x.argmax(-1).float(),
    "running sum": lambda x: x.cumsum(-1),
    "softmax": lambda x: torch.softmax(x, -1),
    "layer norm": lambda x: functional.layer_norm(x, (x.shape[-1],)),
}

given = torch.randn(64, 200, generator=torch.Generator().manual_seed(7))
on_device = given.to("cuda")
for name, function in FUNCTIONS.items():
    try:
        got = torch.compile(function)(on_device).cpu()
    except Exception as error:
        print(name, "failed:", type(error).__name__, str(error).strip().splitlines()[:1], "False", flush=True)
        continue
    print(name, torch.allclose(got, function(given), atol=1e-5, rtol=1e-4), flush=True)
