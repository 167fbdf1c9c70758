"""cuBLAS' functions of rotations, one half of a matrix, bands and packed triangles, batches of factorisations and of least squares, by their C
interface, over CuPy's memory, beside SciPy's BLAS and NumPy.

One line for each function: how many cases (types, halves, sides, transpositions, increments) are right.
"""
import ctypes
import itertools

import cupy
import numpy
from cupy_backends.cuda.libs import cublas as loaded

loaded.getVersion(cupy.cuda.device.get_cublas_handle())
NAME = next(line.split()[-1] for line in open("/proc/self/maps", encoding="utf-8") if "libcublas.so" in line)
LIBRARY = ctypes.CDLL(NAME)
HANDLE = ctypes.c_void_p()
assert LIBRARY.cublasCreate_v2(ctypes.byref(HANDLE)) == 0
RANDOM = numpy.random.default_rng(9)
TYPES = {"S": numpy.float32, "D": numpy.float64, "C": numpy.complex64, "Z": numpy.complex128}
REAL = {"S": "S", "D": "D", "C": "S", "Z": "D"}
CASES = {}
N, M, K, BANDS = 9, 7, 5, 2


def some(shape, letter):
    values = RANDOM.standard_normal(shape)
    if letter in "CZ":
        values = values + 1j * RANDOM.standard_normal(shape)
    return values.astype(TYPES[letter])


def count(name, is_right):
    right, all_of_them = CASES.get(name, (0, 0))
    CASES[name] = (right + bool(is_right), all_of_them + 1)


def near(got, wanted, letter, size=0):
    """Whether they differ by rounding alone, of numbers as large as those wanted, or as `size`."""
    wanted = numpy.asarray(wanted)
    bound = 64 * numpy.finfo(TYPES[letter]).eps * (max(numpy.abs(wanted).max(initial=0), size) + 1)
    return got.shape == wanted.shape and bool((numpy.abs(got - wanted) <= bound).all())


class Host:
    """A scalar of the host."""

    def __init__(self, value, letter):
        self.value = numpy.array([value], TYPES[letter])


def call(name, *arguments):
    passed, kept = [HANDLE], []
    for argument in arguments:
        if isinstance(argument, cupy.ndarray):
            passed.append(ctypes.c_void_p(argument.data.ptr))
        elif isinstance(argument, Host):
            passed.append(ctypes.c_void_p(argument.value.ctypes.data))
        elif isinstance(argument, numpy.ndarray):
            passed.append(ctypes.c_void_p(argument.ctypes.data))
        else:
            passed.append(ctypes.c_int(argument))
        kept.append(argument)
    status = getattr(LIBRARY, "cublas" + name)(*passed)
    cupy.cuda.Device().synchronize()
    if status:
        count("%s answered %d" % (name.replace("_v2", ""), status), False)
    return status == 0


def device(matrix):
    """By columns."""
    return cupy.asarray(numpy.ascontiguousarray(matrix.T))


def host(matrix):
    return matrix.get().T


def turned(matrix, operation):
    return {0: matrix, 1: matrix.T, 2: matrix.conj().T}[operation]


def half(matrix, upper):
    return numpy.triu(matrix) if upper else numpy.tril(matrix)


def whole(matrix, upper, conjugate):
    """The symmetric or Hermitian matrix of which one half is given."""
    given = half(matrix, upper)
    other = numpy.triu(matrix, 1) if upper else numpy.tril(matrix, -1)
    full = given + (other.conj().T if conjugate else other.T)
    if conjugate:
        full[numpy.diag_indices(len(full))] = full.diagonal().real
    return full


def triangle(matrix, upper, unit):
    found = half(matrix, upper).copy()
    if unit:
        found[numpy.diag_indices(len(found))] = 1
    return found


def packed(matrix, upper):
    """One half, column by column."""
    n = len(matrix)
    return numpy.concatenate([matrix[:j + 1, j] if upper else matrix[j:, j] for j in range(n)])


def banded(matrix, below, above):
    """Each diagonal is a row, as BLAS has it."""
    rows, columns = matrix.shape
    found = numpy.full((below + above + 1, columns), 55, matrix.dtype)
    for i, j in itertools.product(range(rows), range(columns)):
        if -above <= i - j <= below:
            found[above + i - j, j] = matrix[i, j]
    return found


def in_band(matrix, below, above):
    return numpy.triu(numpy.tril(matrix, above), -below)


def strided(vector, step):
    memory = numpy.full(len(vector) * abs(step), 77, vector.dtype)
    memory[::abs(step)] = vector if step > 0 else vector[::-1]
    return cupy.asarray(memory)


def back(memory, step):
    found = memory.get()[::abs(step)]
    return found if step > 0 else found[::-1]


STEPS = ((1, 1), (2, -3))


def rotations(t):
    for steps in STEPS:
        x, y = some(N, t), some(N, t)
        on = [strided(v, step) for v, step in zip((x, y), steps)]
        if call(t + "swap_v2", N, on[0], steps[0], on[1], steps[1]):
            count(t + "swap", near(back(on[0], steps[0]), y, t) and near(back(on[1], steps[1]), x, t))
        for name, s_type in ([(t + "rot", t)] if t in "SD" else [(t + "rot", t), (t + {"C": "srot", "Z": "drot"}[t], REAL[t])]):
            on = [strided(v, step) for v, step in zip((x, y), steps)]
            c, s = 0.6, some(1, s_type)[0]
            if call(name + "_v2", N, on[0], steps[0], on[1], steps[1], Host(c, REAL[t]), Host(s, s_type)):
                wanted = (c * x + s * y, c * y - numpy.conj(s) * x)
                count(name, all(near(back(v, step), w, t) for v, step, w in zip(on, steps, wanted)))
    a, b, c, s = (numpy.array([v], TYPES[k]) for v, k in ((3, t), (4, t), (0, REAL[t]), (0, t)))
    if t in "CZ":
        a[0], b[0] = 3 + 1j, 4 - 2j
    first, second = a[0], b[0]
    if call(t + "rotg_v2", a, b, c, s):
        count(t + "rotg", near(numpy.array([c[0] * first + s[0] * second, c[0] * second - numpy.conj(s[0]) * first]), [a[0], 0], t))
    if t in "SD":
        x, y, parameter = some(N, t), some(N, t), numpy.array([-1, 2, 3, 4, 5], TYPES[t])
        on = [strided(x, 1), strided(y, 2)]
        if call(t + "rotm_v2", N, on[0], 1, on[1], 2, parameter):
            count(t + "rotm", near(on[0].get(), 2 * x + 4 * y, t) and near(back(on[1], 2), 3 * x + 5 * y, t))
        d = [numpy.array([v], TYPES[t]) for v in (2, 3, 1.5, 0.5)]
        kept, flags = [v[0] for v in d], numpy.zeros(5, TYPES[t])
        if call(t + "rotmg_v2", *d, flags):
            h = {-1: flags[[1, 3, 2, 4]], 0: [1, flags[3], flags[2], 1], 1: [flags[1], 1, -1, flags[4]]}[int(flags[0])]
            x1 = h[0] * kept[2] + h[1] * kept[3]
            count(t + "rotmg", near(numpy.array([x1, h[2] * kept[2] + h[3] * kept[3]]), [d[2][0], 0], t))


def vectors(t):
    """A matrix of which one half, a band or a packed half is given, times a vector; and products of vectors added to a half."""
    a, x, y = some((N, N), t), some(N, t), some(N, t)
    alpha, beta = some(1, t)[0], some(1, t)[0]
    kinds = [("sy", False)] if t in "SD" else [("sy", False), ("he", True)]
    for (kind, conjugate), upper, steps in itertools.product(kinds, (0, 1), STEPS):
        full, limited = whole(a, upper, conjugate), in_band(a, BANDS, BANDS)
        on = [strided(v, step) for v, step in zip((x, y), steps)]
        if call(t + kind + "mv_v2", upper, N, Host(alpha, t), device(a), N, on[0], steps[0], Host(beta, t), on[1], steps[1]):
            count(t + kind + "mv", near(back(on[1], steps[1]), alpha * (full @ x) + beta * y, t))
        if kind == "sy" and t in "CZ":
            continue
        letter = "s" if kind == "sy" else "h"
        on = [strided(v, step) for v, step in zip((x, y), steps)]
        if call(t + letter + "pmv_v2", upper, N, Host(alpha, t), cupy.asarray(packed(a, upper)), on[0], steps[0], Host(beta, t), on[1], steps[1]):
            count(t + letter + "pmv", near(back(on[1], steps[1]), alpha * (full @ x) + beta * y, t))
        on = [strided(v, step) for v, step in zip((x, y), steps)]
        given = banded(limited, 0 if upper else BANDS, BANDS if upper else 0)
        if call(t + letter + "bmv_v2", upper, N, BANDS, Host(alpha, t), device(given), BANDS + 1, on[0], steps[0], Host(beta, t), on[1], steps[1]):
            count(t + letter + "bmv", near(back(on[1], steps[1]), alpha * (whole(limited, upper, conjugate) @ x) + beta * y, t))
    for (kind, conjugate), upper, steps in itertools.product(kinds, (0, 1), STEPS):
        start = whole(a, upper, conjugate)
        other = (lambda v: v.conj()) if conjugate else (lambda v: v)
        scale = alpha.real if conjugate else alpha
        on = [strided(v, step) for v, step in zip((x, y), steps)]
        keep = numpy.array(half(numpy.ones((N, N)), upper), bool)
        one = start + scale * numpy.outer(x, other(x))
        two = start + alpha * numpy.outer(x, other(y)) + (numpy.conj(alpha) if conjugate else alpha) * numpy.outer(y, other(x))
        names = [(kind + "r", one, (on[0], steps[0])), (kind + "r2", two, (on[0], steps[0], on[1], steps[1]))]
        for name, wanted, arguments in names:
            to = device(start)
            of = Host(scale, REAL[t] if conjugate else t) if name.endswith("r") else Host(alpha, t)
            if call(t + name + "_v2", upper, N, of, *arguments, to, N):
                count(t + name, near(host(to), numpy.where(keep, wanted, start), t))
            if kind == "sy" and t in "CZ":
                continue
            name = {"syr": "spr", "syr2": "spr2", "her": "hpr", "her2": "hpr2"}[name]
            to = cupy.asarray(packed(start, upper))
            if call(t + name + "_v2", upper, N, of, *arguments, to):
                count(t + name, near(to.get(), packed(wanted, upper), t))
    for operation, steps in itertools.product((0, 1, 2), STEPS):
        limited = in_band(some((M, N), t), BANDS, 1)
        long, sum_of = (M, N) if operation == 0 else (N, M)
        u, v = some(sum_of, t), some(long, t)
        on = [strided(w, step) for w, step in zip((u, v), steps)]
        if call(t + "gbmv_v2", operation, M, N, BANDS, 1, Host(alpha, t), device(banded(limited, BANDS, 1)), BANDS + 2, on[0],
                steps[0], Host(beta, t), on[1], steps[1]):
            count(t + "gbmv", near(back(on[1], steps[1]), alpha * (turned(limited, operation) @ u) + beta * v, t))
    for upper, operation, unit, step in itertools.product((0, 1), (0, 1, 2), (0, 1), (1, -2)):
        b = (a / 8 + 3 * numpy.eye(N)).astype(TYPES[t])
        for name, given, of in (("tr", [device(b), N], b), ("tp", [cupy.asarray(packed(b, upper))], b),
                                ("tb", [device(banded(in_band(b, BANDS, BANDS), 0 if upper else BANDS, BANDS if upper else 0)), BANDS + 1],
                                 in_band(b, BANDS, BANDS))):
            full = turned(triangle(of, upper, unit), operation)
            sizes = (N, BANDS) if name == "tb" else (N,)
            for end, wanted in (("mv", full @ x), ("sv", numpy.linalg.solve(full, x))):
                on = strided(x, step)
                if call(t + name + end + "_v2", upper, operation, unit, *sizes, *given, on, step):
                    count(t + name + end, near(back(on, step), wanted, t))


def matrices(t):
    alpha, beta = some(1, t)[0], some(1, t)[0]
    kinds = [("sy", False)] if t in "SD" else [("sy", False), ("he", True)]
    for (kind, conjugate), upper, side in itertools.product(kinds, (0, 1), (0, 1)):
        a, b, c = some((M, M) if side == 0 else (N, N), t), some((M, N), t), some((M, N), t)
        full, to = whole(a, upper, conjugate), device(c)
        if call(t + kind + "mm_v2", side, upper, M, N, Host(alpha, t), device(a), len(a), device(b), M, Host(beta, t), to, M):
            count(t + kind + "mm", near(host(to), alpha * (full @ b if side == 0 else b @ full) + beta * c, t))
    for (kind, conjugate), upper, operation in itertools.product(kinds, (0, 1), (0, 1, 2)):
        if operation == (1 if conjugate else 2) and t in "CZ":
            continue
        a, b = some((N, K) if operation == 0 else (K, N), t), some((N, K) if operation == 0 else (K, N), t)
        c = whole(some((N, N), t), upper, conjugate)
        p, q = (a, b) if operation == 0 else (turned(a, operation), turned(b, operation))
        other = (lambda v: v.conj().T) if conjugate else (lambda v: v.T)
        scale = beta.real if conjugate else beta
        keep = numpy.array(half(numpy.ones((N, N)), upper), bool)
        twice = alpha * (p @ other(q)) + (numpy.conj(alpha) if conjugate else alpha) * (q @ other(p)) + scale * c
        once = alpha * (p @ other(q)) + scale * c
        of = Host(scale, REAL[t] if conjugate else t)
        for name, wanted in ((kind + "r2k_v2", twice), (kind + "rkx", once)):
            to = device(c)
            if call(t + name, upper, operation, N, K, Host(alpha, t), device(a), len(a), device(b), len(b), of, to, N):
                wanted = numpy.where(keep, wanted, c)
                got = host(to)
                if name == "herkx":
                    got, wanted = (v - numpy.diag(1j * v.diagonal().imag) for v in (got, wanted))
                count(t + name.replace("_v2", ""), near(got, wanted, t))
    for side, upper, operation, unit in itertools.product((0, 1), (0, 1), (0, 1, 2), (0, 1)):
        a, b = some((M, M) if side == 0 else (N, N), t), some((M, N), t)
        full, to = turned(triangle(a, upper, unit), operation), device(numpy.zeros((M, N), TYPES[t]))
        if call(t + "trmm_v2", side, upper, operation, unit, M, N, Host(alpha, t), device(a), len(a), device(b), M, to, M):
            count(t + "trmm", near(host(to), alpha * (full @ b if side == 0 else b @ full), t))
    for upper in (0, 1):
        a = some((N, N), t)
        to = cupy.asarray(numpy.zeros(N * (N + 1) // 2, TYPES[t]))
        if call(t + "trttp", upper, N, device(a), N, to):
            count(t + "trttp", near(to.get(), packed(a, upper), t))
        to = device(numpy.zeros((N, N), TYPES[t]))
        if call(t + "tpttr", upper, N, cupy.asarray(packed(a, upper)), to, N):
            count(t + "tpttr", near(host(to), half(a, upper), t))


def pointers(batch):
    return cupy.asarray(numpy.array([one.data.ptr for one in batch], numpy.uint64))


def solves(a, x, wanted, letter):
    """Whether `a x` is the expected product up to rounding, which grows with the products, whose sum may be small."""
    return near(a @ x, wanted, letter, (numpy.abs(a) @ numpy.abs(x)).max())


def batches(t):
    several = [(some((N, N), t) + 2 * numpy.eye(N)).astype(TYPES[t]) for _ in range(3)]
    on = [device(a) for a in several]
    at, pivots, info = pointers(on), cupy.zeros((3, N), "int32"), cupy.zeros(3, "int32")
    if not call(t + "getrfBatched", N, at, N, pivots, info, 3):
        return
    for a, lu, order in zip(several, on, pivots.get()):
        lower, upper, rows = numpy.tril(host(lu), -1) + numpy.eye(N), numpy.triu(host(lu)), a.copy()
        for i, j in enumerate(order - 1):
            rows[[i, j]] = rows[[j, i]]
        count(t + "getrfBatched", near((lower @ upper).astype(TYPES[t]), rows, t))
    b = [some((N, 2), t) for _ in range(3)]
    to = [device(v) for v in b]
    status = numpy.zeros(1, "int32")
    if call(t + "getrsBatched", 0, N, 2, at, N, pivots, pointers(to), N, status, 3):
        for a, v, x in zip(several, b, to):
            count(t + "getrsBatched", solves(a, host(x), v, t))
    inverse = [device(numpy.zeros((N, N), TYPES[t])) for _ in range(3)]
    if call(t + "getriBatched", N, at, N, pivots, pointers(inverse), N, info, 3):
        for a, x in zip(several, inverse):
            count(t + "getriBatched", solves(a, host(x), numpy.eye(N), t))
    on = [device(a) for a in several]
    if call(t + "matinvBatched", N, pointers(on), N, pointers(inverse), N, info, 3):
        for a, x in zip(several, inverse):
            count(t + "matinvBatched", solves(a, host(x), numpy.eye(N), t))
    to = [device(v) for v in b]
    if call(t + "trsmBatched", 0, 1, 0, 0, N, 2, Host(2, t), pointers(on), N, pointers(to), N, 3):
        for a, v, x in zip(several, b, to):
            count(t + "trsmBatched", solves(numpy.triu(a), host(x), 2 * v, t))


def least_squares(t):
    """Q is not seen: R' R is A' A whatever the signs."""
    several = [some((N, K), t) for _ in range(3)]
    on, scalars = [device(a) for a in several], [device(numpy.zeros((K, 1), TYPES[t])) for _ in range(3)]
    info, infos = numpy.zeros(1, "int32"), cupy.zeros(3, "int32")
    if call(t + "geqrfBatched", N, K, pointers(on), N, pointers(scalars), info, 3):
        for a, qr in zip(several, on):
            r = numpy.triu(host(qr))[:K]
            count(t + "geqrfBatched", near(r.conj().T @ r, a.conj().T @ a, t))
    on, b = [device(a) for a in several], [some((N, 2), t) for _ in range(3)]
    to = [device(v) for v in b]
    if call(t + "gelsBatched", 0, N, K, 2, pointers(on), N, pointers(to), N, info, infos, 3):
        for a, v, x in zip(several, b, to):
            count(t + "gelsBatched", near(host(x)[:K], numpy.linalg.lstsq(a, v, rcond=None)[0], t))


for t in "SDCZ":
    for part in (rotations, vectors, matrices, batches, least_squares):
        part(t)
for name, (right, all_of_them) in sorted(CASES.items()):
    print("%s: %d of %d %s" % (name, right, all_of_them, right == all_of_them))
