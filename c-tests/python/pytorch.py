"""A small training step, matrix products, a reduction and a CUDA graph in PyTorch."""
import torch

torch.manual_seed(0)
device = torch.device("cuda")
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(32, 64, device=device)
y = torch.randint(0, 10, (32,), device=device)
losses = []
for _ in range(5):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print("loss falls:", losses[-1] < losses[0])

a = torch.arange(256, dtype=torch.float32, device=device).reshape(16, 16)
print("trace of the product:", torch.trace(a @ a).item())
half = (a / 256).half()
print("half product:", tuple((half @ half).shape))

static = torch.zeros(1024, device=device)
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    static.add_(1).mul_(2)
torch.cuda.current_stream().wait_stream(side)
static.zero_()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    static.add_(1).mul_(2)
for _ in range(4):
    graph.replay()
torch.cuda.synchronize()
print("after the graph:", static[0].item(), static.sum().item())
