"""cuRAND's generators on the device beside its own generators on the host: every type, ordering, output and distribution that both have,
with seeds, offsets, dimensions and calls that go on where the last one ended.

One line for each generator, and one for each distribution: how many sequences are right. MT19937 is refused on the CPU, with 103; with
CURAND_MT19937 set it alone is compared, for a GPU.
"""
import ctypes
import itertools
import os

import cupy
import numpy
import wheels

PSEUDO = {"XORWOW": 101, "MRG32k3a": 121, "MTGP32": 141, "Philox": 161}
MT19937 = 142
QUASI = {"Sobol32": 201, "scrambled Sobol32": 202, "Sobol64": 203, "scrambled Sobol64": 204}
# curandOrdering.
ORDERINGS = {"best": 100, "default": 101, "seeded": 102, "legacy": 103}
# How many numbers, the seed, and how many are left out before.
CALLS = ((2, 0, 0), (1000, 42, 0), (20000, 2 ** 63 + 5, 12345), (65538, 7, 1))
# The host's logarithms and sines and those of a kernel differ by rounding: in units of the type's epsilon, of a number with 1 added.
STEPS = 64
# From this mean on (cuRAND's curand_poisson.h) they are.
ROUNDED = 4000
CASES = {}
CURAND, = wheels.load("libcurand.so.10")


def version():
    number = ctypes.c_int()
    CURAND.curandGetVersion(ctypes.byref(number))
    return number.value


# The host generator of CUDA 12's library makes MTGP32's normal doubles with a single's precision: they differ by 2e-7 from the logarithms of
# its own log-normal doubles, which the device's equal.
SINGLE_NORMALS = version() < 10400


def call(name, *arguments):
    return getattr(CURAND, name)(*arguments)


class Generator:
    """A generator on the device or on the host; `status` is that of the first call that failed."""

    def __init__(self, kind, on_host):
        self.on_host, self.status, self.handle = on_host, 0, ctypes.c_void_p()
        self.do("curandCreateGeneratorHost" if on_host else "curandCreateGenerator", ctypes.byref(self.handle), kind, made=False)

    def do(self, name, *arguments, made=True):
        if self.status == 0:
            self.status = call(name, *([self.handle] if made else []), *arguments)

    def numbers(self, function, dtype, count, *parameters):
        place = numpy.zeros(count, dtype) if self.on_host else cupy.zeros(count, dtype)
        address = place.ctypes.data if self.on_host else place.data.ptr
        self.do(function, ctypes.c_void_p(address), ctypes.c_size_t(count), *parameters)
        return place if self.on_host else cupy.asnumpy(place)

    def close(self):
        if self.handle:
            call("curandDestroyGenerator", self.handle)


def equal(one, other, name, function, parameters):
    """Integers to the last bit, and others within rounding. Of a large mean, Poisson's numbers are rounded normal ones: now and then the
    host rounds one to the other neighbour."""
    if one.dtype.kind == "u":
        apart = one.astype(numpy.int64) - other.astype(numpy.int64) if one.itemsize == 4 else (one != other).astype(int)
        few = len(one) // 1000 + 1 if function == "curandGeneratePoisson" and parameters[0].value > ROUNDED else 0
        return (apart != 0).sum() <= few and abs(apart).max() <= 1
    of = numpy.float32 if name.startswith("MTGP32") and function == "curandGenerateNormalDouble" and SINGLE_NORMALS else other.dtype
    bound = STEPS * numpy.finfo(of).eps * (1 + numpy.abs(other))
    return bool((numpy.abs(one - other) <= bound).all()) and bool(numpy.isfinite(one).all())


def count(names, is_right):
    for name in names:
        right, all_of_them = CASES.get(name, (0, 0))
        CASES[name] = (right + bool(is_right), all_of_them + 1)


SINGLE, DOUBLE = ctypes.c_float, ctypes.c_double
# Function, type, parameters.
OUTPUTS = (
    ("curandGenerate", numpy.uint32, ()),
    ("curandGenerateUniform", numpy.float32, ()),
    ("curandGenerateUniformDouble", numpy.float64, ()),
    ("curandGenerateNormal", numpy.float32, (SINGLE(0), SINGLE(1))),
    ("curandGenerateNormal", numpy.float32, (SINGLE(3), SINGLE(0.5))),
    ("curandGenerateNormalDouble", numpy.float64, (DOUBLE(-1), DOUBLE(2))),
    ("curandGenerateLogNormal", numpy.float32, (SINGLE(0), SINGLE(1))),
    ("curandGenerateLogNormalDouble", numpy.float64, (DOUBLE(0.25), DOUBLE(0.5))),
    ("curandGeneratePoisson", numpy.uint32, (DOUBLE(0.3),)),
    ("curandGeneratePoisson", numpy.uint32, (DOUBLE(12.5),)),
    ("curandGeneratePoisson", numpy.uint32, (DOUBLE(100),)),
    ("curandGeneratePoisson", numpy.uint32, (DOUBLE(5000),)),
)
LONG = ("curandGenerateLongLong", numpy.uint64, ())


def compare(name, kind, prepare, outputs, size):
    """The same calls to both, one after the other: each goes on where the one before ended, and all are made twice."""
    made = [Generator(kind, on_host) for on_host in (False, True)]
    for generator in made:
        prepare(generator)
    if made[1].status != 0:
        # Nothing to compare with: the host has no such ordering.
        outputs = ()
    for function, dtype, parameters in 2 * outputs:
        device, host = (generator.numbers(function, dtype, size, *parameters) for generator in made)
        statuses = [generator.status for generator in made]
        is_right = statuses == [0, 0] and equal(device, host, name, function, parameters)
        if not is_right:
            print("    %s, %s of %d, %s: statuses %s, %d differ" % (
                name, function, size, [p.value for p in parameters], statuses, (device != host).sum()), flush=True)
        count((name, function[6:]), is_right)
        if statuses != [0, 0]:
            break
    for generator in made:
        generator.close()


def pseudo():
    for (name, kind), (ordering, number) in itertools.product(PSEUDO.items(), ORDERINGS.items()):
        for size, seed, offset in CALLS:
            def prepare(generator):
                generator.do("curandSetGeneratorOrdering", number)
                generator.do("curandSetPseudoRandomGeneratorSeed", ctypes.c_ulonglong(seed))
                # Twisters have no offset.
                if offset and name != "MTGP32":
                    generator.do("curandSetGeneratorOffset", ctypes.c_ulonglong(offset))
            compare("%s, %s ordering" % (name, ordering), kind, prepare, OUTPUTS, size)


def quasi():
    for name, kind in QUASI.items():
        # Generators of 64-bit numbers have no 32-bit ones.
        outputs = (LONG,) + OUTPUTS[1:] if "64" in name else OUTPUTS
        for dimensions, points, offset in ((1, 5000, 0), (3, 1001, 0), (17, 300, 99), (1000, 10, 1)):
            def prepare(generator):
                generator.do("curandSetQuasiRandomGeneratorDimensions", dimensions)
                if offset:
                    generator.do("curandSetGeneratorOffset", ctypes.c_ulonglong(offset))
            compare(name, kind, prepare, outputs, dimensions * points)


def twister():
    """One generator: where kernels are computed, creating it takes long."""
    def prepare(generator):
        generator.do("curandSetPseudoRandomGeneratorSeed", ctypes.c_ulonglong(5))
    compare("MT19937", MT19937, prepare, OUTPUTS, 1000)


def main():
    if os.environ.get("CURAND_MT19937"):
        twister()
    else:
        pseudo()
        quasi()
        CASES["MT19937 answers 103:"] = (CURAND.curandCreateGenerator(ctypes.byref(ctypes.c_void_p()), MT19937) == 103, 1)
    for name, (right, all_of_them) in sorted(CASES.items()):
        print(name, "%d of %d" % (right, all_of_them), right == all_of_them)


main()
