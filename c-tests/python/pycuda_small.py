"""A module from source, arrays, elementwise, reduction and scan kernels in PyCUDA, compared with NumPy."""
import numpy
import pycuda.autoinit  # noqa: F401
import pycuda.driver
from pycuda import gpuarray
from pycuda.compiler import SourceModule
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel
from pycuda.scan import InclusiveScanKernel

module = SourceModule("""
__constant__ float factor;
__global__ void turned(float *out, const float *x, int n)
{
    __shared__ float part[128];
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n)
        out[i] = factor * part[blockDim.x - 1 - threadIdx.x];
}
""")
x = numpy.arange(1024, dtype=numpy.float32)
out = numpy.empty_like(x)
pycuda.driver.memcpy_htod(module.get_global("factor")[0], numpy.float32(3))
module.get_function("turned")(pycuda.driver.Out(out), pycuda.driver.In(x), numpy.int32(1024), block=(128, 1, 1), grid=(8, 1))
print("turned", numpy.array_equal(out, 3 * x.reshape(8, 128)[:, ::-1].ravel()))
values = gpuarray.to_gpu(x)
print("array", numpy.array_equal((2 * values + 1).get(), 2 * x + 1))
square = ElementwiseKernel("float *y, const float *x", "y[i] = x[i] * x[i]", "square")
squares = gpuarray.empty_like(values)
square(squares, values)
print("elementwise", numpy.array_equal(squares.get(), x * x))
dot = ReductionKernel(numpy.float64, neutral="0", reduce_expr="a + b", map_expr="(double)x[i] * y[i]", arguments="const float *x, const float *y")
print("reduction", float(dot(values, values).get()))
integers = gpuarray.to_gpu(numpy.arange(5000, dtype=numpy.int32))
print("scan", numpy.array_equal(InclusiveScanKernel(numpy.int32, "a + b")(integers).get(), numpy.cumsum(numpy.arange(5000))))
