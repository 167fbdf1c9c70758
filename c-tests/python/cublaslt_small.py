"""cuBLASLt's products by its C interface, over CuPy's memory, beside NumPy: types, transpositions, orders, batches, places of the
scalars, epilogues; and its transforms.

One line for each kind of product: how many cases are right. CUBLASLT names the library, else it is NVIDIA's wheel's.
"""
import ctypes
import itertools
import os

import cupy
import numpy
import wheels

LIBRARY = ctypes.CDLL(os.environ.get("CUBLASLT") or wheels.path("libcublasLt.so.1?"))
RANDOM = numpy.random.default_rng(5)
# cudaDataType_t, cublasComputeType_t of each.
KINDS = {"float32": 0, "float64": 1, "float16": 2, "int8": 3, "complex64": 4, "complex128": 5, "int32": 10}
HANDLE = ctypes.c_void_p()
assert LIBRARY.cublasLtCreate(ctypes.byref(HANDLE)) == 0
CASES = {}
HOST, DEVICE, VECTORS, ALPHA_VECTOR, ALPHA_VECTOR_BETA = range(5)


def count(name, is_right):
    right, all_of_them = CASES.get(name, (0, 0))
    CASES[name] = (right + bool(is_right), all_of_them + 1)


def made(name, *arguments):
    to = ctypes.c_void_p()
    assert getattr(LIBRARY, "cublasLt" + name)(ctypes.byref(to), *arguments) == 0
    return to


def fields(function, to, **values):
    for field, value in values.items():
        number, size = int(field.split("_")[1]), int(field.split("_")[2])
        raw = (ctypes.c_int64 if size == 8 else ctypes.c_int32)(value)
        assert getattr(LIBRARY, "cublasLt" + function)(to, number, ctypes.byref(raw), ctypes.c_size_t(size)) == 0, field


def some(dtype, *shape):
    if dtype == "int8":
        return RANDOM.integers(-9, 9, shape).astype(dtype)
    values = RANDOM.standard_normal(shape)
    return (values + 1j * RANDOM.standard_normal(shape) if "complex" in dtype else values).astype(dtype)


class Matrix:
    """A batch of matrices in device memory, by columns or by rows, with a gap behind each column or row."""

    def __init__(self, values, by_rows=False):
        batch, rows, columns = values.shape
        self.by_rows, self.shape, self.dtype = by_rows, values.shape, str(values.dtype)
        near, far = (columns, rows) if by_rows else (rows, columns)
        memory = numpy.full((batch, far, near + 3), 77, values.dtype)
        memory[:, :, :near] = values if by_rows else values.transpose(0, 2, 1)
        self.near, self.memory = near, cupy.asarray(memory)
        self.at = ctypes.c_void_p(self.memory.data.ptr)
        sizes = (ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(near + 3))
        self.layout = made("MatrixLayoutCreate", KINDS[self.dtype], *sizes)
        fields("MatrixLayoutSetAttribute", self.layout, order_1_4=by_rows, count_5_4=batch, stride_6_8=far * (near + 3))

    def get(self):
        """The values, and whether the gaps are as they were."""
        memory = self.memory.get()
        values = memory[:, :, :self.near]
        return values if self.by_rows else values.transpose(0, 2, 1), bool((memory[:, :, self.near:] == 77).all())


def turned(values, operation):
    return {0: values, 1: values.transpose(0, 2, 1), 2: values.transpose(0, 2, 1).conj()}[operation]


def gelu(x):
    return 0.5 * x * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (x + 0.044715 * x**3)))


def as_child(call):
    """The status of a call that is captured; its graph is launched twice, as a child of another."""
    stream, driver = cupy.cuda.Stream(non_blocking=True), ctypes.CDLL("libcuda.so.1")
    at = ctypes.c_void_p(stream.ptr)
    graph, outer, node, ready = (ctypes.c_void_p() for _ in range(4))

    def do(name, *arguments):
        assert (status := getattr(driver, name)(*arguments)) == 0, (name, status)

    do("cuStreamBeginCapture_v2", at, 1)
    status = call(at)
    do("cuStreamEndCapture", at, ctypes.byref(graph))
    do("cuGraphCreate", ctypes.byref(outer), 0)
    do("cuGraphAddChildGraphNode", ctypes.byref(node), outer, None, ctypes.c_size_t(0), graph)
    do("cuGraphDestroy", graph)
    do("cuGraphInstantiateWithFlags", ctypes.byref(ready), outer, ctypes.c_uint64(0))
    do("cuGraphDestroy", outer)
    do("cuGraphLaunch", ready, at)
    do("cuGraphLaunch", ready, at)
    do("cuStreamSynchronize", at)
    do("cuGraphExecDestroy", ready)
    return status


def product(name, factor, result, compute, scale, operations=(0, 0), orders=(0, 0, 0), batch=1, mode=HOST, epilogue=1,
            beta=2, sizes=(19, 13, 21), captured=False):
    (m, n, k), (op_a, op_b) = sizes, operations
    a = some(factor, batch, *((k, m) if op_a else (m, k)))
    b = some(factor, batch, *((n, k) if op_b else (k, n)))
    c = some(result if result != "int32" else "int8", batch, m, n).astype(result)
    on = [Matrix(a, orders[0]), Matrix(b, orders[1]), Matrix(c, orders[2]), Matrix(c * 0, orders[2])]
    what = made("MatmulDescCreate", compute, KINDS[scale])
    fields("MatmulDescSetAttribute", what, mode_2_4=mode, a_3_4=op_a, b_4_4=op_b, epilogue_7_4=epilogue)
    bias = some("float32" if result in ("int8", "int32") else result, batch, m)
    on_bias, bits = cupy.asarray(bias), cupy.zeros((batch, n, 16), "uint8")
    aux = Matrix(numpy.zeros((batch, (m + 7) // 8 * 8 + 5, n), result))
    relu, is_gelu = epilogue & 2, epilogue & 32
    if epilogue & 4 or epilogue in (256, 512):
        fields("MatmulDescSetAttribute", what, bias_8_8=on_bias.data.ptr, stride_10_8=m)
    if relu and epilogue & 128:
        fields("MatmulDescSetAttribute", what, aux_11_8=bits.data.ptr, ld_12_8=128, stride_13_8=128 * n)
    elif is_gelu and epilogue & 128:
        fields("MatmulDescSetAttribute", what, aux_11_8=aux.memory.data.ptr, ld_12_8=aux.near + 3, stride_13_8=n * (aux.near + 3))
    integers = scale == "int32"
    alphas = numpy.array([2 if integers else 0.5] * m if mode < 2 else RANDOM.integers(0, 3, m), scale)
    betas = numpy.array([beta] * m if mode < 2 else RANDOM.integers(0, 3, m), scale)
    if mode == ALPHA_VECTOR:
        betas[:] = 0
    if mode == ALPHA_VECTOR_BETA:
        betas[:] = beta
    on_alphas, on_betas = cupy.asarray(alphas), cupy.asarray(betas)
    places = [ctypes.c_void_p(v.ctypes.data if mode == HOST else w.data.ptr) for v, w in ((alphas, on_alphas), (betas, on_betas))]
    if mode == ALPHA_VECTOR_BETA:
        places[1] = ctypes.c_void_p(betas.ctypes.data)
    preference, found, results = made("MatmulPreferenceCreate"), ctypes.c_int(), ctypes.create_string_buffer(96)
    layouts = [matrix.layout for matrix in on]
    status = LIBRARY.cublasLtMatmulAlgoGetHeuristic(HANDLE, what, *layouts, preference, 1, results, ctypes.byref(found))
    if status or found.value != 1:
        return count("%s: the heuristic answered %d" % (name, status), False)
    def multiply(stream):
        return LIBRARY.cublasLtMatmul(HANDLE, what, places[0], on[0].at, layouts[0], on[1].at, layouts[1], places[1], on[2].at,
                                      layouts[2], on[3].at, layouts[3], results, None, ctypes.c_size_t(0), stream)

    status = as_child(multiply) if captured else multiply(ctypes.c_void_p(0))
    cupy.cuda.Device().synchronize()
    if status:
        return count("%s answered %d" % (name, status), False)
    wide = numpy.complex128 if "complex" in factor else numpy.float64
    left, right = turned(a.astype(wide), op_a), turned(b.astype(wide), op_b)
    wanted = alphas[None, :, None] * (left @ right) + betas[None, :, None] * c
    if epilogue & 4:
        wanted = wanted + bias[:, :, None]
    got, kept = on[3].get()
    eps = {"float16": 1e-3, "float64": 2e-16, "complex128": 2e-16, "int8": 0, "int32": 0}.get(result, 1.2e-7)
    near = eps * 8 * (k + 4) ** 0.5 * (numpy.abs(wanted).max() + 1)
    is_right = kept
    if relu and epilogue & 128:
        flags = numpy.unpackbits(bits.get(), axis=2, bitorder="little")[:, :, :m].transpose(0, 2, 1)
        is_right &= bool(((flags == (wanted >= 0)) | (numpy.abs(wanted) < near)).all())
    if is_gelu and epilogue & 128:
        is_right &= bool((numpy.abs(aux.get()[0][:, :m] - wanted) <= near).all())
    if epilogue in (256, 512):
        sums = left.sum(2) if epilogue == 256 else right.sum(1)
        is_right &= bool((numpy.abs(on_bias.get()[:, :sums.shape[1]] - sums) <= near).all())
    wanted = numpy.maximum(wanted, 0) if relu else gelu(wanted) if is_gelu else wanted
    if result == "int8":
        wanted = numpy.clip(numpy.rint(wanted), -128, 127)
    count(name, is_right and bool((numpy.abs(got.astype(wide) - wanted) <= near).all()))


def transform(kind, scale, operations, orders):
    """2 A + 3 B by NVIDIA's kernels. A handle of cushim's, where no runtime could be redirected, has no such function: status 1."""
    a, b = (some(kind, 2, *((7, 5) if operation else (5, 7))) for operation in operations)
    on = [Matrix(a, orders[0]), Matrix(b, orders[1]), Matrix(numpy.zeros((2, 5, 7), kind), orders[2])]
    what = made("MatrixTransformDescCreate", KINDS[scale])
    fields("MatrixTransformDescSetAttribute", what, a_2_4=operations[0], b_3_4=operations[1])
    scalars = [numpy.array([value], scale) for value in (2, 3)]
    places = [ctypes.c_void_p(value.ctypes.data) for value in scalars]
    status = LIBRARY.cublasLtMatrixTransform(HANDLE, what, places[0], on[0].at, on[0].layout, places[1], on[1].at, on[1].layout,
                                             on[2].at, on[2].layout, ctypes.c_void_p(0))
    cupy.cuda.Device().synchronize()
    if status == 1:
        REFUSED.add("transforms refused: no handle of NVIDIA's library")
        return
    wide = numpy.complex128 if "complex" in kind else numpy.float64
    wanted = 2 * turned(a.astype(wide), operations[0]) + 3 * turned(b.astype(wide), operations[1])
    got, kept = on[2].get()
    eps = {"float16": 1e-3, "float64": 2e-16, "complex128": 2e-16, "int8": 0}.get(kind, 1.2e-7)
    near = eps * 4 * (numpy.abs(wanted).max() + 1)
    count("transforms of " + kind, status == 0 and kept and bool((numpy.abs(got.astype(wide) - wanted) <= near).all()))


REFUSED = set()
for types in (("float32",) * 2, ("float64",) * 2, ("complex64",) * 2, ("complex128",) * 2, ("float16", "float32"), ("int8", "float32")):
    transposes = itertools.product((0, 1, 2) if "complex" in types[0] else (0, 1), repeat=2)
    for ways, orders in itertools.product(list(transposes), itertools.product((0, 1), repeat=3)):
        transform(*types, ways, orders)
ALL = [("float32", "float32", 68, "float32"), ("float32", "float32", 77, "float32"), ("float16", "float16", 68, "float32"),
       ("float16", "float16", 64, "float16"), ("float16", "float32", 68, "float32"), ("float64", "float64", 70, "float64"),
       ("complex64", "complex64", 68, "complex64"), ("complex128", "complex128", 70, "complex128"),
       ("int8", "int32", 72, "int32"), ("int8", "int8", 72, "float32"), ("int8", "float32", 68, "float32")]
for types in ALL:
    title = "%s to %s" % (types[0], types[1])
    is_complex = "complex" in types[0]
    for operations in itertools.product((0, 1, 2) if is_complex else (0, 1), repeat=2):
        for orders in itertools.product((0, 1), repeat=3):
            product(title, *types, operations, orders, batch=2)
    for mode, beta in itertools.product((HOST, DEVICE), (0, 2)):
        product(title + ", scalars", *types, mode=mode, beta=beta)
    for mode in () if is_complex else (VECTORS, ALPHA_VECTOR, ALPHA_VECTOR_BETA):
        product(title + ", scalars of each row", *types, mode=mode, orders=(0, 0, mode % 2))
for types in ALL[:5]:
    for epilogue in (2, 4, 6, 32, 36, 130, 134, 160, 164, 256, 512):
        for orders in ((0, 0, 0), (1, 0, 1)):
            product("epilogue %d" % epilogue, *types, orders=orders, batch=2, epilogue=epilogue)
for types in ALL[:5]:
    product("in a child graph", *types, captured=True)
    product("in a child graph, epilogue", *types, epilogue=6, captured=True)
for sizes in ((1, 1, 1), (129, 1, 5), (1, 300, 7), (64, 65, 600), (5, 6, 0)):
    product("sizes", *ALL[0], sizes=sizes)
    product("sizes with an epilogue", *ALL[2], sizes=sizes, epilogue=6)
for name, (right, all_of_them) in sorted(CASES.items()):
    print("%s: %d of %d %s" % (name, right, all_of_them, right == all_of_them))
for line in sorted(REFUSED):
    print(line)
