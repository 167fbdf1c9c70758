"""slangpy, which compiles Slang to CUDA by NVRTC, and keeps the driver's functions in variables of their names."""

import os
import subprocess
import sys

import wheels

if "CUDA_PATH" not in os.environ:
    # Slang's compiler opens libnvrtc.so by its name.
    with wheels.toolkit() as home:
        there = {"CUDA_PATH": home, "LD_LIBRARY_PATH": home + "/lib64:" + os.environ.get("LD_LIBRARY_PATH", "")}
        sys.exit(subprocess.run([sys.executable, __file__], env={**os.environ, **there}).returncode)

import numpy as np  # noqa: E402
import slangpy as spy  # noqa: E402

SOURCE = """
[shader("compute")] [numthreads(64, 1, 1)]
void scale(uint3 at : SV_DispatchThreadID, StructuredBuffer<float> a, RWStructuredBuffer<float> c, uniform uint n)
{
    if (at.x < n) c[at.x] = a[at.x] * 2 + sin(a[at.x]);
}

groupshared float part[64];
[shader("compute")] [numthreads(64, 1, 1)]
void sums(uint3 at : SV_DispatchThreadID, uint3 local : SV_GroupThreadID, uint3 group : SV_GroupID,
          StructuredBuffer<float> a, RWStructuredBuffer<float> c, RWStructuredBuffer<uint> counts)
{
    part[local.x] = a[at.x];
    GroupMemoryBarrierWithGroupSync();
    for (uint k = 32; k > 0; k /= 2) {
        if (local.x < k) part[local.x] += part[local.x + k];
        GroupMemoryBarrierWithGroupSync();
    }
    if (local.x == 0) c[group.x] = part[0];
    InterlockedAdd(counts[uint(a[at.x] * 8)], WaveActiveSum(1u) / 32);
}

[shader("compute")] [numthreads(8, 8, 1)]
void turn(uint3 at : SV_DispatchThreadID, Texture2D<float4> from, RWTexture2D<float4> to)
{
    to[at.xy] = from[at.yx].wzyx;
}

[Differentiable] float3 wave(float3 x) { return sin(x) * x; }
"""

spy.Logger.get().level = spy.LogLevel.error  # It warns that there is no OptiX.
device = spy.create_device(spy.DeviceType.cuda)
module = device.load_module_from_source("small", SOURCE)
rng = np.random.default_rng(1)
a = rng.random(1024, dtype=np.float32)


def buffer(data):
    usage = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access
    return device.create_buffer(element_count=len(data), struct_size=4, usage=usage, data=data)


def kernel(name):
    return device.create_compute_kernel(device.link_program([module], [module.entry_point(name)]))


on_a, out = buffer(a), buffer(np.zeros(1024, np.float32))
kernel("scale").dispatch([1000, 1, 1], a=on_a, c=out, n=1000)
scaled = out.to_numpy().view(np.float32)
expected = np.where(np.arange(1024) < 1000, a * 2 + np.sin(a), 0)
print("scale", bool(np.abs(scaled - expected).max() < 1e-6))

totals, counts = buffer(np.zeros(16, np.float32)), buffer(np.zeros(8, np.uint32))
kernel("sums").dispatch([1024, 1, 1], a=on_a, c=totals, counts=counts)
print("sums", bool(np.allclose(totals.to_numpy().view(np.float32), a.reshape(16, 64).sum(1), rtol=1e-5)))
print("counts", bool(np.array_equal(counts.to_numpy().view(np.uint32), np.bincount((a * 8).astype(int), minlength=8))))


def texture(kind, *sizes):
    size = dict(zip(("width", "height", "depth"), sizes))
    usage = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    return device.create_texture(type=kind, format=spy.Format.rgba32_float, usage=usage, **size)


image = rng.random((32, 32, 4), dtype=np.float32)
source, turned = texture(spy.TextureType.texture_2d, 32, 32), texture(spy.TextureType.texture_2d, 32, 32)
source.copy_from_numpy(image)
kernel("turn").dispatch([32, 32, 1], **{"from": source, "to": turned})
print("textures", bool(np.array_equal(turned.to_numpy(), image.transpose(1, 0, 2)[:, :, ::-1])))

volume, box = texture(spy.TextureType.texture_3d, 8, 6, 4), rng.random((4, 6, 8, 4), dtype=np.float32)
volume.copy_from_numpy(box)
print("volume", bool(np.array_equal(volume.to_numpy(), box)))

x = rng.random((100, 3), dtype=np.float32)
points = spy.Tensor.from_numpy(device, x).with_grads(zero=True)
wave = spy.Module(module).wave.return_type(spy.Tensor)
values = wave(points).with_grads()
print("function", bool(np.abs(values.to_numpy() - np.sin(x) * x).max() < 1e-6))
values.grad.storage.copy_from_numpy(np.ones((100, 3), np.float32))
wave.bwds(points, _result=values)
print("gradient", bool(np.abs(points.grad.to_numpy() - (np.cos(x) * x + np.sin(x))).max() < 1e-6))
