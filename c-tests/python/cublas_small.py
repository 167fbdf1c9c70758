"""cuBLAS' small functions (vectors, triangles, halves, sums of matrices) through their C API, on CuPy's memory, compared with NumPy.

One line for each function: how many cases (types, increments, transpositions, scalars of the host and of the device) are right.
"""
import ctypes
import itertools
import os

import cupy
import numpy
from cupy.cuda import runtime
from cupy_backends.cuda.libs import cublas as loaded

loaded.getVersion(cupy.cuda.device.get_cublas_handle())
NAME = next(line.split()[-1] for line in open("/proc/self/maps", encoding="utf-8") if "libcublas.so" in line)
LIBRARY = ctypes.CDLL(NAME)
HANDLE = ctypes.c_void_p()
assert LIBRARY.cublasCreate_v2(ctypes.byref(HANDLE)) == 0
RANDOM = numpy.random.default_rng(3)
TYPES = {"S": numpy.float32, "D": numpy.float64, "C": numpy.complex64, "Z": numpy.complex128}
CASES, WIDE = {}, "_64" if os.environ.get("CUBLAS_WIDE") else ""


def some(shape, letter):
    values = RANDOM.standard_normal(shape)
    if letter in "CZ":
        values = values + 1j * RANDOM.standard_normal(shape)
    return values.astype(TYPES[letter])


def count(name, is_right):
    right, all_of_them = CASES.get(name, (0, 0))
    CASES[name] = (right + bool(is_right), all_of_them + 1)


def near(got, wanted, letter, size=1):
    wide = numpy.complex128 if letter in "CZ" else numpy.float64
    got, wanted = numpy.asarray(got).astype(wide), numpy.asarray(wanted).astype(wide)
    bound = numpy.abs(wanted).max(initial=0) + size
    return numpy.abs(got - wanted).max(initial=0) <= 8 * (size + 4) ** 0.5 * numpy.finfo(TYPES[letter]).eps * bound


def call(name, *arguments):
    """Converts arguments: numbers are sizes, CuPy arrays are device addresses, bytes are host addresses."""
    passed = []
    for argument in arguments:
        if isinstance(argument, cupy.ndarray):
            passed.append(ctypes.c_void_p(argument.data.ptr))
        elif isinstance(argument, int):
            passed.append((ctypes.c_int64 if WIDE else ctypes.c_int)(argument))
        else:
            passed.append(argument)
    function = getattr(LIBRARY, "cublas" + name + WIDE)
    status = function(HANDLE, *passed)
    if status:
        count("%s answered %d" % (name, status), False)
    return status == 0


def enum(value):
    return ctypes.c_int(value)


class Scalar:
    """A scalar on the host, or on the device."""

    def __init__(self, value, dtype, on_device):
        LIBRARY.cublasSetPointerMode_v2(HANDLE, int(on_device))
        self.host = numpy.array([value], dtype)
        self.device = cupy.array(self.host)
        self.at = self.device if on_device else ctypes.c_void_p(self.host.ctypes.data)
        self.on_device = on_device

    def value(self):
        return (self.device.get() if self.on_device else self.host)[0]


def strided(vector, step):
    """A vector in memory with this increment, and filled gaps."""
    memory = numpy.full(max(1, len(vector) * abs(step)), 77, vector.dtype)
    memory[::abs(step)][:len(vector)] = vector if step > 0 else vector[::-1]
    return cupy.array(memory)


def seen(memory, length, step):
    values = memory.get()[::abs(step)][:length]
    return values if step > 0 else values[::-1]


def vectors():
    for letter, n, (sx, sy), on_device in itertools.product("SDCZ", (0, 1, 5, 300, 4099), ((1, 1), (3, 2), (-2, 1), (2, -1)), (False, True)):
        x, y = some(n, letter), some(n, letter)
        dx, dy = strided(x, sx), strided(y, sy)
        for name, wanted in ((("dot", x @ y),) if letter in "SD" else (("dotu", x @ y), ("dotc", x.conj() @ y))):
            out = Scalar(9, TYPES[letter], on_device)
            if call(letter + name + "_v2", n, dx, sx, dy, sy, out.at):
                count("dot", near(out.value(), wanted, letter, n))
        alpha = Scalar(0.5 - (2j if letter in "CZ" else 0), TYPES[letter], on_device)
        into = dy.copy()
        if call(letter + "axpy_v2", n, alpha.at, dx, sx, into, sy):
            count("axpy", near(seen(into, n, sy), alpha.host[0] * x + y, letter))
        into = dy.copy()
        if call(letter + "copy_v2", n, dx, sx, into, sy):
            count("copy", (seen(into, n, sy) == x).all())
        one(letter, n, sx, x, dx, on_device)


def one(letter, n, step, x, dx, on_device):
    real = {"S": "S", "C": "S", "D": "D", "Z": "D"}[letter]
    prefix = {"S": "S", "D": "D", "C": "Sc", "Z": "Dz"}[letter]
    empty = n == 0 or step < 0
    size = numpy.abs(x.real) + numpy.abs(x.imag)
    for name, wanted in (("nrm2", numpy.sqrt((numpy.abs(x.astype(complex)) ** 2).sum())), ("asum", size.astype(float).sum())):
        out = Scalar(9, TYPES[real], on_device)
        if call(prefix + name + "_v2", n, dx, step, out.at):
            count(name, near(out.value(), 0 if empty else wanted, real, n))
    for name, wanted in (("amax", size.argmax() if n else 0), ("amin", size.argmin() if n else 0)):
        out = Scalar(9, numpy.int64 if WIDE else numpy.int32, on_device)
        if call("I" + letter.lower() + name + "_v2", n, dx, step, out.at):
            count(name, out.value() == (0 if empty else wanted + 1))
    for prefix, scale in [(letter, letter)] + {"C": [("Cs", "S")], "Z": [("Zd", "D")]}.get(letter, []):
        alpha = Scalar(-1.5 + (0.25j if scale in "CZ" else 0), TYPES[scale], on_device)
        into = dx.copy()
        if call(prefix + "scal_v2", n, alpha.at, into, step):
            count("scal", near(seen(into, n, step), x if empty else alpha.host[0] * x, letter))


def extremes():
    """Numbers whose squares overflow or vanish in double, and NaNs."""
    for letter in "SDCZ":
        biggest = numpy.finfo(TYPES[letter]).max / 8
        smallest = numpy.finfo(TYPES[letter]).tiny
        real = {"S": "S", "C": "S", "D": "D", "Z": "D"}[letter]
        prefix = {"S": "S", "D": "D", "C": "Sc", "Z": "Dz"}[letter]
        for values, wanted in (([3, 4], 5), ([3, numpy.inf], numpy.inf), ([3, numpy.nan], numpy.nan)):
            for factor in (biggest / 4, smallest):
                x = cupy.array((numpy.array(values) * factor).astype(TYPES[letter]))
                out = Scalar(9, TYPES[real], False)
                if call(prefix + "nrm2_v2", 2, x, 1, out.at):
                    count("nrm2 of extremes", numpy.allclose(out.value() / factor, wanted, rtol=1e-6, equal_nan=True))


def triangles():
    for letter, n, fill, operation, diagonal, step in itertools.product("SDCZ", (1, 7, 40), (0, 1), (0, 1, 2), (0, 1), (1, -2)):
        a = some((n, n), letter) + TYPES[letter](2 * n) * numpy.eye(n, dtype=TYPES[letter])
        memory = numpy.full((n, n + 3), 55, TYPES[letter])
        memory[:, :n] = a.T
        half = numpy.tril(a) if fill == 0 else numpy.triu(a)
        if diagonal:
            # Elements that are not read must not matter, and a triangle of ones must stay small for an accurate solution.
            memory[:, :n] = a.T / (2 * n)
            half = half / (2 * n)
            numpy.fill_diagonal(half, 1)
        half = (half, half.T, half.conj().T)[operation]
        b = some(n, letter)
        x = strided(b, step)
        da = cupy.array(memory)
        if call(letter + "trsv_v2", enum(fill), enum(operation), enum(diagonal), n, da, n + 3, x, step):
            count("trsv", near(half.astype(complex) @ seen(x, n, step), b, letter, n))


def halves():
    for letter, (n, k), fill, operation, beta, on_device in itertools.product(
            "SDCZ", ((1, 1), (5, 3), (40, 70), (130, 9), (33, 0)), (0, 1), (0, 1), (0, 0.5), (False, True)):
        for name in ("syrk", "herk") if letter in "CZ" else ("syrk",):
            hermitian = name == "herk"
            a = some((n, k), letter)
            memory = cupy.array(numpy.asarray(a.T if operation == 0 else a, order="C"))
            leading = n if operation == 0 else max(k, 1)
            scale = TYPES[{"C": "S", "Z": "D"}[letter]] if hermitian else TYPES[letter]
            alpha = Scalar(0.75 - (0 if hermitian or letter in "SD" else 1j), scale, on_device)
            factor = Scalar(beta, scale, on_device)
            c = some((n, n), letter)
            dc = cupy.array(numpy.ascontiguousarray(c.T))
            # For the conjugated form the memory holds the columns of op(a)^H.
            code = 0 if operation == 0 else (2 if hermitian else 1)
            left = a if operation == 0 or not hermitian else a.conj()
            wanted = alpha.host[0] * (left @ (left.conj().T if hermitian else left.T)) + TYPES[letter](beta) * c
            if hermitian:
                numpy.fill_diagonal(wanted, wanted.diagonal().real)
            inside = numpy.tril(numpy.ones((n, n), bool)) if fill == 0 else numpy.triu(numpy.ones((n, n), bool))
            if call(letter + name + "_v2", enum(fill), enum(code), n, k, alpha.at, memory, leading, factor.at, dc, n):
                count(name, near(dc.get().T, numpy.where(inside, wanted, c), letter, k))


def matrices():
    for letter, (m, n), on_device in itertools.product("SDCZ", ((1, 1), (6, 4), (130, 35), (3, 200)), (False, True)):
        number = 0.5 - (2j if letter in "CZ" else 0)
        for name, conjugate in (("ger", False),) if letter in "SD" else (("geru", False), ("gerc", True)):
            x, y, a = some(m, letter), some(n, letter), some((m, n), letter)
            for sx, sy in ((1, 1), (2, -3)):
                da = cupy.array(numpy.ascontiguousarray(a.T))
                alpha = Scalar(number, TYPES[letter], on_device)
                if call(letter + name + "_v2", m, n, alpha.at, strided(x, sx), sx, strided(y, sy), sy, da, m):
                    wanted = a + alpha.host[0] * numpy.outer(x, y.conj() if conjugate else y)
                    count("ger", near(da.get().T, wanted, letter))
        for first, second, beta in itertools.product((0, 1, 2), (0, 1, 2), (0, 1.5)):
            a, b = some((m, n), letter), some((m, n), letter)
            turned = [numpy.ascontiguousarray((v.T, v, v.conj())[op]) for v, op in ((a, first), (b, second))]
            leading = [m if op == 0 else n for op in (first, second)]
            out = cupy.zeros((n, m), TYPES[letter])
            alpha, factor = Scalar(number, TYPES[letter], on_device), Scalar(beta, TYPES[letter], on_device)
            if call(letter + "geam", enum(first), enum(second), m, n, alpha.at, cupy.array(turned[0]), leading[0],
                    factor.at, cupy.array(turned[1]), leading[1], out, m):
                count("geam", near(out.get().T, alpha.host[0] * a + TYPES[letter](beta) * b, letter))
        for side, step in ((0, 1), (1, 1), (0, -2), (1, 3)):
            a, x = some((m, n), letter), some(m if side == 0 else n, letter)
            out = cupy.zeros((n, m), TYPES[letter])
            if call(letter + "dgmm", enum(side), m, n, cupy.array(numpy.ascontiguousarray(a.T)), m, strided(x, step), step, out, m):
                count("dgmm", near(out.get().T, x[:, None] * a if side == 0 else a * x, letter))
        for operation, step in itertools.product((0, 1, 2), (1, 2)):
            batched(letter, m, n, operation, step, on_device)


def batched(letter, m, n, operation, step, on_device):
    several, number = 3, 0.5 - (2j if letter in "CZ" else 0)
    long, inner = (m, n) if operation == 0 else (n, m)
    a, x, y = some((several, m, n), letter), some((several, inner * step), letter), some((several, long * step), letter)
    columns = cupy.array(numpy.ascontiguousarray(a.transpose(0, 2, 1)))
    product = [(v, v.T, v.conj().T)[operation] @ w[::step] for v, w in zip(a, x)]
    alpha, beta = Scalar(number, TYPES[letter], on_device), Scalar(2, TYPES[letter], on_device)
    wanted = y.copy()
    wanted[:, ::step] = alpha.host[0] * numpy.array(product) + 2 * y[:, ::step]
    dx, dy = cupy.array(x), cupy.array(y)
    long64 = ctypes.c_int64
    if call(letter + "gemvStridedBatched", enum(operation), m, n, alpha.at, columns, m, long64(m * n), dx, step, long64(inner * step),
            beta.at, dy, step, long64(long * step), several):
        count("gemvStridedBatched", near(dy.get(), wanted, letter, inner))
    dy = cupy.array(y)
    places = [cupy.array([v[i].data.ptr for i in range(several)], numpy.uint64) for v in (columns, dx, dy)]
    if call(letter + "gemvBatched", enum(operation), m, n, alpha.at, places[0], m, places[1], step, beta.at, places[2], step, several):
        count("gemvBatched", near(dy.get(), wanted, letter, inner))


def with_types():
    """Functions with types as arguments: halves, whose sums are wider."""
    number = {numpy.float16: 2, numpy.float32: 0, numpy.float64: 1, numpy.complex64: 4, numpy.complex128: 5}
    for dtype, code in number.items():
        x = RANDOM.standard_normal(700).astype(dtype)
        dx = cupy.array(x)
        execution = 0 if dtype is numpy.float16 else code
        out = Scalar(9, dtype, False)
        if call("DotEx", 700, dx, enum(code), 1, dx, enum(code), 1, out.at, enum(code), enum(execution)):
            wanted = (x.astype(complex) ** 2).sum()
            count("DotEx", abs(out.value() - wanted) <= 4 * numpy.finfo(dtype).eps * abs(wanted))
        real = {numpy.complex64: 0, numpy.complex128: 1}.get(code and dtype, code)
        out = Scalar(9, numpy.zeros(0, dtype).real.dtype, False)
        if call("Nrm2Ex", 700, dx, enum(code), 1, out.at, enum(real), enum(0 if dtype is numpy.float16 else real)):
            count("Nrm2Ex", abs(out.value() - abs(wanted) ** 0.5) <= 4 * numpy.finfo(dtype).eps * abs(wanted))


for part in (vectors, extremes, triangles, halves, matrices, with_types):
    part()
for name, (right, all_of_them) in sorted(CASES.items()):
    print("%s%s: %d of %d right %s" % (name, WIDE, right, all_of_them, right == all_of_them), flush=True)
print("runtime", runtime.runtimeGetVersion())
