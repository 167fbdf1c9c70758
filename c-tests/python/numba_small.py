"""A kernel compiled by Numba at run time."""
import numpy

# Some releases of numba-cuda still use this name, which NumPy 2.5 no longer has.
if not hasattr(numpy, "row_stack"):
    numpy.row_stack = numpy.vstack
from numba import cuda


@cuda.jit
def triple(values, out):
    i = cuda.grid(1)
    if i < values.size:
        out[i] = values[i] * 3


values = cuda.to_device(numpy.arange(500, dtype=numpy.float64))
out = cuda.device_array(500, dtype=numpy.float64)
for _ in range(2):
    triple[4, 128](values, out)
print("sum", out.copy_to_host().sum())
