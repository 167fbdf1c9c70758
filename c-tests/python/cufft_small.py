"""cuFFT through CuPy: types, ranks, lengths (odd, prime, powers of two), axes, padding, in place, compared with NumPy and SciPy.

One line for each function: how many cases are right.
"""
import itertools

import cupy
import cupyx.scipy.fft
import numpy
import scipy.fft
from cupy.cuda import cufft

RANDOM = numpy.random.default_rng(5)
CASES = {}
LENGTHS = (1, 2, 3, 5, 8, 12, 17, 64, 67, 100, 127, 128, 210, 509, 1000, 1024, 2003)
SHAPES = ((3, 4), (7, 1), (16, 31), (67, 5), (2, 3, 4), (5, 8, 7), (4, 1, 67), (2, 3, 4, 5))


def some(shape, dtype):
    values = RANDOM.standard_normal(shape)
    if numpy.dtype(dtype).kind == "c":
        values = values + 1j * RANDOM.standard_normal(shape)
    return values.astype(dtype)


def count(name, got, wanted):
    got, size = cupy.asnumpy(got), max(numpy.size(wanted), 2)
    epsilon = numpy.finfo(got.dtype).eps
    bound = 8 * epsilon * numpy.log2(size + 2) * (numpy.abs(wanted).max(initial=0) + size ** 0.5)
    is_right = got.shape == wanted.shape and numpy.abs(got - wanted).max(initial=0) <= bound
    right, all_of_them = CASES.get(name, (0, 0))
    CASES[name] = (right + bool(is_right), all_of_them + 1)


def lines():
    complexes = (numpy.complex64, numpy.complex128)
    for length, dtype, norm in itertools.product(LENGTHS, complexes, (None, "ortho", "forward")):
        x = some((3, length), dtype)
        for name in ("fft", "ifft", "hfft"):
            if name == "hfft" and length < 2:
                continue
            wide = getattr(numpy.fft, name)(x.astype(complex), norm=norm)
            count(name, getattr(cupy.fft, name)(cupy.array(x), norm=norm), wide)
        real = some((2, length), x.real.dtype)
        count("rfft", cupy.fft.rfft(cupy.array(real), norm=norm), numpy.fft.rfft(real.astype(float), norm=norm))
        half = some((2, length // 2 + 1), dtype)
        wide = numpy.fft.irfft(half.astype(complex), length, norm=norm)
        count("irfft", cupy.fft.irfft(cupy.array(half), length, norm=norm), wide)
        # Padded, cut, and by the first axis.
        for n, axis in ((length + 3, -1), (max(1, length - 2), -1), (None, 0)):
            count("fft of an axis", cupy.fft.fft(cupy.array(x), n, axis), numpy.fft.fft(x.astype(complex), n, axis))


def several():
    for shape, dtype in itertools.product(SHAPES, (numpy.complex64, numpy.complex128)):
        x, real = some(shape, dtype), some(shape, numpy.zeros(0, dtype).real.dtype)
        choices = [None] + [axes for size in (1, 2, 3) for axes in itertools.combinations(range(len(shape)), size)]
        for axes in choices:
            for order in "CF":
                device = cupy.array(x, order=order)
                for name in ("fftn", "ifftn"):
                    count(name, getattr(cupy.fft, name)(device, axes=axes), getattr(numpy.fft, name)(x.astype(complex), axes=axes))
                wide = numpy.fft.rfftn(real.astype(float), axes=axes)
                count("rfftn", cupy.fft.rfftn(cupy.array(real, order=order), axes=axes), wide)
            half = wide.astype(dtype)
            sizes = [shape[axis] for axis in (axes or range(len(shape)))]
            count("irfftn", cupy.fft.irfftn(cupy.array(half), sizes, axes=axes),
                  numpy.fft.irfftn(half.astype(complex), sizes, axes=axes))


def in_place():
    for length, dtype in itertools.product(LENGTHS, (numpy.complex64, numpy.complex128)):
        x = some((4, length), dtype)
        device = cupy.array(x)
        got = cupyx.scipy.fft.fft(device, overwrite_x=True)
        count("in place", got, scipy.fft.fft(x.astype(complex)))
        device = cupy.array(x)
        with cupyx.scipy.fft.get_fft_plan(device, axes=1):
            count("by a plan", cupyx.scipy.fft.ifft(device), scipy.fft.ifft(x.astype(complex)))
        plan = cufft.Plan1d(length, cufft.CUFFT_C2C if dtype is numpy.complex64 else cufft.CUFFT_Z2Z, 4)
        plan.fft(device, device, cufft.CUFFT_FORWARD)
        count("in place by a plan", device, numpy.fft.fft(x.astype(complex)))


def streams():
    inputs = [some((8, 1 << 12), numpy.complex64) for _ in range(6)]
    results, chosen = [], [cupy.cuda.Stream(non_blocking=True) for _ in inputs]
    for x, stream in zip(inputs, chosen):
        with stream:
            results.append(cupy.fft.ifft(2 * cupy.fft.fft(cupy.array(x))))
    for x, stream, got in zip(inputs, chosen, results):
        stream.synchronize()
        count("in streams", got, 2 * x)
    # The library splits a large batch into several parts.
    x = some((9000, 1000), numpy.complex64)
    count("a large batch", cupy.fft.fft(cupy.array(x)), numpy.fft.fft(x))


def others():
    for length in (16, 67, 100):
        x = some((3, length), numpy.float64)
        for kind in (2, 3):
            count("dct", cupyx.scipy.fft.dct(cupy.array(x), kind), scipy.fft.dct(x, kind))
            count("dst", cupyx.scipy.fft.dst(cupy.array(x), kind), scipy.fft.dst(x, kind))
    from cupyx.scipy import signal as ours
    from scipy import signal as theirs
    a, b = some((20, 31), numpy.float64), some((5, 7), numpy.float64)
    for mode in ("full", "same", "valid"):
        count("fftconvolve", ours.fftconvolve(cupy.array(a), cupy.array(b), mode), theirs.fftconvolve(a, b, mode))


for part in (lines, several, in_place, streams, others):
    part()
for name, (right, all_of_them) in sorted(CASES.items()):
    print("%s: %d of %d right %s" % (name, right, all_of_them, right == all_of_them), flush=True)
print("cuFFT", cufft.getVersion())
