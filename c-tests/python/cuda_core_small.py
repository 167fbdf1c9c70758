"""A C++ template compiled by cuda.core to machine code and to PTX, launched on its memory, compared with NumPy."""
import numpy
from cuda.core import Device, EventOptions, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch

CODE = """
template <typename T> __global__ void scaled(const T *x, T *y, T factor, size_t n)
{
    for (size_t i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = factor * x[i];
}
"""
device = Device()
device.set_current()
stream = device.create_stream()
options = ProgramOptions(std="c++17", arch="sm_" + "".join(str(part) for part in device.compute_capability))
pinned = LegacyPinnedMemoryResource()
for form in ("cubin", "ptx"):
    module = Program(CODE, code_type="c++", options=options).compile(form, name_expressions=("scaled<float>", "scaled<double>"))
    for kind, name in ((numpy.float32, "scaled<float>"), (numpy.float64, "scaled<double>")):
        size = 1000 * numpy.dtype(kind).itemsize
        host, on_device, back = pinned.allocate(size), device.allocate(size, stream=stream), pinned.allocate(size)
        values, result = (numpy.from_dlpack(buffer).view(kind) for buffer in (host, back))
        values[:] = numpy.arange(1000)
        result[:] = 0
        launch(stream, LaunchConfig(grid=4, block=64), module.get_kernel(name), host, on_device, kind(1.5), numpy.uint64(1000))
        on_device.copy_to(back, stream=stream)
        stream.sync()
        print(form, name, numpy.array_equal(result, 1.5 * numpy.arange(1000, dtype=kind)))
first = stream.record(options=EventOptions(timing_enabled=True) if hasattr(EventOptions(), "timing_enabled") else EventOptions(enable_timing=True))
first.sync()
print("event", first.is_done)
