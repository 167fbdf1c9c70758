"""CUDA's driver, runtime and NVRTC by cuda.bindings: a kernel compiled to PTX and to machine code, copies on a stream, compared with NumPy."""
import numpy
from cuda.bindings import driver, nvrtc, runtime

CODE = b"""
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"""
N = 1000


def right(answer):
    """The results of a call, whose first is the error."""
    error, *results = answer
    if int(error):
        raise SystemExit("error %s" % error)
    return results[0] if len(results) == 1 else results


def compiled(form):
    program = right(nvrtc.nvrtcCreateProgram(CODE, b"saxpy.cu", 0, [], []))
    target = b"--gpu-architecture=" + (b"compute_%d%d" if form == "PTX" else b"sm_%d%d") % (MAJOR, MINOR)
    right(nvrtc.nvrtcCompileProgram(program, 1, [target]))
    image = b" " * right(getattr(nvrtc, "nvrtcGet%sSize" % form)(program))
    right(getattr(nvrtc, "nvrtcGet" + form)(program, image))
    return image


right(driver.cuInit(0))
device = right(driver.cuDeviceGet(0))
attribute = driver.CUdevice_attribute
MAJOR, MINOR = (right(driver.cuDeviceGetAttribute(getattr(attribute, "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_" + name), device))
                for name in ("MAJOR", "MINOR"))
right(driver.cuCtxSetCurrent(right(driver.cuDevicePrimaryCtxRetain(device))))
stream = right(driver.cuStreamCreate(0))
x, y, out = numpy.arange(N, dtype=numpy.float32), numpy.ones(N, dtype=numpy.float32), numpy.zeros(N, dtype=numpy.float32)
places = [right(driver.cuMemAlloc(x.nbytes)) for _ in range(2)]
for form in ("PTX", "CUBIN"):
    kernel = right(driver.cuModuleGetFunction(right(driver.cuModuleLoadData(compiled(form))), b"saxpy"))
    right(driver.cuMemcpyHtoDAsync(places[0], x.ctypes.data, x.nbytes, stream))
    right(driver.cuMemcpyHtoDAsync(places[1], y.ctypes.data, y.nbytes, stream))
    arguments = [numpy.array([2], numpy.float32)] + [numpy.array([int(place)], numpy.uint64) for place in places] + [numpy.array([N], numpy.int32)]
    packed = numpy.array([argument.ctypes.data for argument in arguments], numpy.uint64)
    right(driver.cuLaunchKernel(kernel, 4, 1, 1, 256, 1, 1, 0, stream, packed.ctypes.data, 0))
    right(driver.cuMemcpyDtoHAsync(out.ctypes.data, places[1], out.nbytes, stream))
    right(driver.cuStreamSynchronize(stream))
    print(form, numpy.array_equal(out, 2 * x + 1))
print("devices", right(runtime.cudaGetDeviceCount()))
place = right(runtime.cudaMalloc(x.nbytes))
kind = runtime.cudaMemcpyKind
right(runtime.cudaMemcpy(place, x.ctypes.data, x.nbytes, kind.cudaMemcpyHostToDevice))
out[:] = 0
right(runtime.cudaMemcpy(out.ctypes.data, place, x.nbytes, kind.cudaMemcpyDeviceToHost))
right(runtime.cudaFree(place))
print("runtime", numpy.array_equal(out, x))
