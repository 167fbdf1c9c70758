"""A function that PyTorch compiles by Triton, in a graph of its own."""
import torch


@torch.compile(mode="reduce-overhead")
def step(x, w):
    return torch.nn.functional.gelu(x @ w).softmax(dim=-1).sum(dim=0)


x = torch.linspace(-1, 1, 128 * 64, device="cuda").reshape(128, 64)
w = torch.linspace(-1, 1, 64 * 32, device="cuda").reshape(64, 32)
for _ in range(4):
    result = step(x, w)
print("sum %.3f" % result.double().sum().item())
