"""Elementwise, reduction and raw kernels in CuPy, compiled at run time."""
import cupy

square_sum = cupy.ReductionKernel("float32 x", "float32 y", "x * x", "a + b", "y = a", "0", "square_sum")
raw = cupy.RawKernel(r"""
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
""", "saxpy")
x = cupy.arange(1000, dtype=cupy.float32)
y = cupy.ones(1000, dtype=cupy.float32)
for _ in range(3):
    raw((4,), (256,), (cupy.float32(0.5), x, y, cupy.int32(1000)))
print("saxpy", float(y[999]))
print("square sum", float(square_sum(cupy.arange(10, dtype=cupy.float32))))
print("sorted", cupy.sort(cupy.array([5, 3, 9, 1])).tolist())
