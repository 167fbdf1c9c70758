"""Small kernels in a row, a model, and a graph of both: python3 pytorch_loop.py [ROUNDS]. The output does not depend on ROUNDS."""

import sys

import torch

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).cuda()
given = torch.ones(16, 32, device="cuda")
stream = torch.cuda.Stream()
with torch.no_grad(), torch.cuda.stream(stream):
    for _ in range(3):
        model(given)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        captured = model(given) + 1
seen = set()
with torch.no_grad():
    for _ in range(rounds):
        a = torch.zeros(64, device="cuda")
        for _ in range(500):
            a.add_(1.0)
        for _ in range(20):
            graph.replay()
        out = model(given) + 1
        torch.cuda.synchronize()
        seen.add((float(a.sum()), bool(torch.allclose(out, captured, atol=1e-5))))
print(sorted(seen))
