"""Typical operations of models, through cuDNN, cuBLAS, cuFFT, cuRAND and cuSPARSE, on several streams."""
import torch

torch.manual_seed(0)
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.deterministic = True
device = torch.device("cuda")


def show(name, value):
    print("%s %.4g" % (name, value.double().abs().sum().item()))


convolution = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
    torch.nn.Flatten(), torch.nn.Linear(8 * 16 * 16, 10)).to(device)
optimizer = torch.optim.AdamW(convolution.parameters(), lr=1e-2)
images = torch.linspace(-1, 1, 4 * 3 * 32 * 32, device=device).reshape(4, 3, 32, 32)
labels = torch.tensor([1, 3, 5, 7], device=device)
losses = []
for _ in range(4):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(convolution(images), labels)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print("the loss falls", losses[-1] < losses[0])

attention = torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True).to(device).eval()
words = torch.arange(2 * 16 * 64, dtype=torch.float32, device=device).sin().reshape(2, 16, 64)
with torch.no_grad():
    show("attention", attention(words))
    show("half", attention.half()(words.half()))

show("transform", torch.fft.fft(words).real)
show("inverse", torch.linalg.inv(torch.eye(32, device=device) * 3 + 0.01))
sparse = torch.eye(64, device=device).to_sparse_csr()
show("sparse", sparse @ words[0].T)
show("sorted", torch.sort(words.flatten()).values.cumsum(0)[::97])
print("random", torch.rand(4096, device=device).mean().item() < 0.6)

streams = [torch.cuda.Stream() for _ in range(4)]
parts = []
for number, stream in enumerate(streams):
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        parts.append((words * number).sum())
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record()
for stream in streams:
    torch.cuda.current_stream().wait_stream(stream)
total = sum(parts)
end.record()
end.synchronize()
show("streams", total)
print("time passed", start.elapsed_time(end) >= 0)

pinned = torch.arange(1 << 20, dtype=torch.int32).pin_memory()
there = pinned.to(device, non_blocking=True)
back = torch.empty_like(pinned, pin_memory=True)
back.copy_(there, non_blocking=True)
torch.cuda.synchronize()
print("there and back", bool((back == pinned).all()))
try:
    torch.ones(1, device=device)[torch.tensor([0], device=device)].view(2)
except RuntimeError as error:
    print("refused", str(error).split("'")[0].strip())
print("memory", torch.cuda.memory_allocated() > 0, torch.cuda.get_device_properties(0).major >= 5)
