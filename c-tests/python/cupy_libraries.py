"""CuPy over cuBLAS, cuFFT, cuSOLVER, cuSPARSE and cuRAND, with streams, memory pools and managed memory."""
import cupy
import cupyx.scipy.sparse

a = cupy.arange(64, dtype=cupy.float64).reshape(8, 8) + 8 * cupy.eye(8)
print("product %.6g" % float((a @ a).sum()))
print("solved %.6g" % float(cupy.linalg.solve(a, cupy.ones(8)).sum()))
print("transform %.6g" % float(cupy.abs(cupy.fft.fft(a)).sum()))
sparse = cupyx.scipy.sparse.csr_matrix(cupy.eye(16))
print("sparse %.6g" % float((sparse @ cupy.arange(16.0)).sum()))
cupy.random.seed(7)
print("random", bool(0.4 < float(cupy.random.random(10000).mean()) < 0.6))
streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(3)]
sums = []
for number, stream in enumerate(streams):
    with stream:
        sums.append(cupy.arange(1000 * (number + 1), dtype=cupy.int64).sum())
for stream in streams:
    stream.synchronize()
print("streams", [int(s) for s in sums])
with cupy.cuda.using_allocator(cupy.cuda.MemoryPool(cupy.cuda.malloc_managed).malloc):
    print("managed", int(cupy.arange(100).sum()))
with cupy.cuda.using_allocator(cupy.cuda.MemoryAsyncPool().malloc):
    print("pool", int(cupy.arange(100).sum()))
module = cupy.RawModule(code=r"""
__constant__ float factor[4];
__device__ int counted;
template <typename T> __global__ void scaled(T *x, int n)
{
    for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        x[i] *= factor[i & 3];
        atomicAdd(&counted, 1);
    }
}
""", options=("-std=c++17",), name_expressions=("scaled<float>", "scaled<double>"))
for kind, name in ((cupy.float32, "scaled<float>"), (cupy.float64, "scaled<double>")):
    factor = cupy.ndarray(4, cupy.float32, module.get_global("factor"))
    factor[...] = cupy.arange(1, 5, dtype=cupy.float32)
    x = cupy.ones(4096, dtype=kind)
    module.get_function(name)((8,), (128,), (x, cupy.int32(x.size)))
    print(name, float(x.sum()))
print("counted", int(cupy.ndarray(1, cupy.int32, module.get_global("counted"))[0]))
