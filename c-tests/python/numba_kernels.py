"""Shared memory, atomics, streams and a reduction in Numba."""
import numpy

# Some releases of numba-cuda still use this name, which NumPy 2.5 no longer has.
if not hasattr(numpy, "row_stack"):
    numpy.row_stack = numpy.vstack
from numba import cuda, float32


@cuda.jit
def blocks(values, sums):
    shared = cuda.shared.array(128, float32)
    i = cuda.grid(1)
    shared[cuda.threadIdx.x] = values[i] if i < values.size else 0
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if cuda.threadIdx.x < step:
            shared[cuda.threadIdx.x] += shared[cuda.threadIdx.x + step]
        cuda.syncthreads()
        step //= 2
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(sums, 0, shared[0])


@cuda.reduce
def total(a, b):
    return a + b


stream = cuda.stream()
values = cuda.to_device(numpy.arange(1000, dtype=numpy.float32), stream=stream)
sums = cuda.to_device(numpy.zeros(1, dtype=numpy.float32), stream=stream)
blocks[8, 128, stream](values, sums)
stream.synchronize()
print("blocks", sums.copy_to_host()[0])
print("reduced", total(numpy.arange(1000, dtype=numpy.int64)))
print("device", cuda.get_current_device().compute_capability[0] >= 5)
