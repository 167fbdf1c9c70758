"""Model-like functions that torch.compile turns into Triton kernels, compared with PyTorch for the CPU.

Tensors are made on the host and copied: PyTorch's own kernels are machine code, which --backend cpu does not run.
"""
import torch
from torch._inductor import config as inductor, utils as inductor_utils
from torch.nn import functional

WEIGHT = torch.randn(200, 96, generator=torch.Generator().manual_seed(8)) / 14
VECTOR = torch.randn(200, generator=torch.Generator().manual_seed(9))


def rms_norm(x, w):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w


def rotated(x):
    left, right = x.chunk(2, -1)
    angle = torch.arange(left.shape[-1], device=x.device) * 0.01
    return torch.cat((left * angle.cos() - right * angle.sin(), right * angle.cos() + left * angle.sin()), -1)


def attention(x):
    """One attention head with 64 positions, by its formula."""
    query, key, value = x[:, :64], x[:, 64:128], x[:, 128:192]
    mask = torch.ones(64, 64, device=x.device, dtype=torch.bool).tril()
    scores = torch.where(mask, query @ key.t() / 8, float("-inf"))
    return torch.softmax(scores, -1) @ value


def cross_entropy(x):
    target = torch.arange(x.shape[0], device=x.device) % x.shape[1]
    return -torch.log_softmax(x, -1).gather(1, target[:, None]).mean()


# Each takes x (64 by 200), and the weight (200 by 96) or the vector (200) if it names them.
FUNCTIONS = {
    # Pointwise.
    "pointwise": lambda x: torch.sin(x) * 2 + x.exp(),
    "gelu": lambda x: functional.gelu(x),
    "gelu by tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
    "mish": functional.mish,
    "softplus": functional.softplus,
    "leaky relu": lambda x: functional.leaky_relu(x, 0.1),
    "hard swish": functional.hardswish,
    "sigmoid times tanh": lambda x: torch.sigmoid(x) * torch.tanh(x),
    "where": lambda x: torch.where(x > 0, x, -x).sqrt(),
    "clamp and round": lambda x: (x.clamp(-1, 1) * 8).round() / 8,
    "powers": lambda x: x.abs() ** 1.5 + x ** 3,
    "erf and log1p": lambda x: torch.erf(x) + torch.log1p(x.abs()),
    "remainder": lambda x: torch.fmod(x * 10, 3) + torch.remainder(x * 10, 3),
    "integers": lambda x: ((x * 100).int() // 7 % 5 ^ 3).float(),
    "shifts of bits": lambda x: ((x * 100).int().abs() << 2 >> 1 & 0xFF).float(),
    "half precision": lambda x: (x.half() * 2 + 1).float(),
    "bfloat16": lambda x: (x.bfloat16() * 2 + 1).float(),
    "double precision": lambda x: (x.double().sin() * 3).float(),
    "broadcast": lambda x, v: x * v + v.abs(),
    # Views.
    "transposed product": lambda x: functional.silu(x) * x.t().contiguous().t(),
    "concatenated": lambda x: torch.cat((x, x * 2), 1),
    "stacked": lambda x: torch.stack((x, -x), 1),
    "padded": lambda x: functional.pad(x, (3, 5), value=1.0),
    "rolled": lambda x: torch.roll(x, 3, 1) + x,
    "flipped": lambda x: x.flip(1) * 2,
    "strided": lambda x: x[:, ::3] + 1,
    "gated": lambda x: functional.glu(x),
    "rotary embedding": rotated,
    "embedding": lambda x: functional.embedding((x.abs() * 20).long().clamp(max=63), x[:, :8]),
    "chosen rows": lambda x: x.index_select(0, torch.arange(0, 64, 5, device=x.device)) * 2,
    "triangle": lambda x: x[:, :64].tril() + 1,
    # Reductions.
    "sum": lambda x: x.sum(0),
    "sum of all": lambda x: x.sum(),
    "mean and maximum": lambda x: x.mean(-1) + x.amax(-1),
    "variance": lambda x: x.var(-1),
    "norm": lambda x: torch.linalg.vector_norm(x, dim=-1),
    "greatest": lambda x: x.argmax(-1).float(),
    "any and all": lambda x: (x > 2).any(-1).float() + (x > -9).all(-1).float(),
    "product": lambda x: (1 + x / 100).prod(-1),
    "running sum": lambda x: x.cumsum(-1),
    "log of summed exponentials": lambda x: torch.logsumexp(x, -1),
    "mean squared error": lambda x, v: functional.mse_loss(x, v.expand_as(x)),
    "cosine similarity": lambda x, v: functional.cosine_similarity(x, v[None], dim=-1),
    # Layers.
    "softmax": lambda x: torch.softmax(x, -1),
    "softmax of columns": lambda x: torch.softmax(x, 0),
    "log softmax": lambda x: torch.log_softmax(x, -1),
    "cross entropy": cross_entropy,
    "layer norm": lambda x: functional.layer_norm(x, (x.shape[-1],)),
    "layer norm with weights": lambda x, v: functional.layer_norm(x, (x.shape[-1],), v, v * 2),
    "group norm": lambda x: functional.group_norm(x[None, :, :].transpose(1, 2), 8),
    "batch norm by its formula": lambda x: (x - x.mean(0)) * torch.rsqrt(x.var(0, unbiased=False) + 1e-5),
    "rms norm": lambda x, v: rms_norm(x, v),
    "average pool": lambda x: functional.avg_pool1d(x, 4),
    # Matrix products, by Inductor's Triton templates.
    "matrix product": lambda x, w: x @ w,
    "product with epilogue": lambda x, w: functional.gelu(x @ w),
    "linear layer": lambda x, w: functional.linear(x, w.t(), w[0]),
    "batched product": lambda x, w: torch.bmm(x.view(4, 16, 200), w.expand(4, 200, 96)),
    "product in halves": lambda x, w: (x.half() @ w.half()).float(),
    "two layers": lambda x, w: functional.relu(x @ w) @ w.t(),
    "attention": attention,
}

# PyTorch may only use its Triton templates for products: cuBLAS is machine code.
inductor.max_autotune_gemm = True
inductor.max_autotune_gemm_backends = "TRITON"
# A single candidate: each takes a compilation. pytorch_fill.py has several tried.
inductor.test_configs.max_mm_configs = 1
# Halves are rounded after every operation, as PyTorch's own kernels do.
inductor.emulate_precision_casts = True
# Inductor uses templates only on GPUs with at least 68 multiprocessors.
inductor_utils.is_big_gpu = lambda *_: True
given = torch.randn(64, 200, generator=torch.Generator().manual_seed(7))
OTHERS = {"w": WEIGHT, "v": VECTOR}
for name, function in FUNCTIONS.items():
    # PyTorch's own C++ functions take x alone, and their parameters cannot be inspected.
    names = function.__code__.co_varnames[1:function.__code__.co_argcount] if hasattr(function, "__code__") else ()
    others = [OTHERS[p] for p in names if p in OTHERS]
    try:
        got = torch.compile(function)(*[t.to("cuda") for t in [given] + others]).cpu()
    except Exception as error:
        if "no kernel image is available" in str(error):
            print(name, "refused: Inductor computes a constant by a kernel of PyTorch's own, which is machine code", flush=True)
            continue
        print(name, "failed:", type(error).__name__, str(error).strip().splitlines()[:1], "False", flush=True)
        continue
    near = 2e-2 if "halves" in name else 1e-4
    print(name, torch.allclose(got, function(given, *others), atol=near / 10, rtol=near), flush=True)
