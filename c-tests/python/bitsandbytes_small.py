"""bitsandbytes: quantisation in blocks to four and eight bits by its library's functions; the package itself wants PyTorch."""

import ctypes
import glob
import importlib.util
import os

import numpy as np
import wheels

runtime = wheels.load("libcudart.so.12", "libnvJitLink.so.12", "libcublas.so.12", "libcublasLt.so.12", "libcusparse.so.12")[0]
folder = importlib.util.find_spec("bitsandbytes").submodule_search_locations[0]
library = ctypes.CDLL(sorted(glob.glob(os.path.join(folder, "libbitsandbytes_cuda12*.so")))[-1])
NUMBERS, BLOCK = 4096, 64


def device(array):
    place, size = ctypes.c_void_p(), ctypes.c_size_t(array.nbytes)
    assert runtime.cudaMalloc(ctypes.byref(place), size) == 0
    assert runtime.cudaMemcpy(place, array.ctypes.data_as(ctypes.c_void_p), size, 1) == 0
    return place


def host(place, like):
    array = np.empty_like(like)
    assert runtime.cudaDeviceSynchronize() == 0
    assert runtime.cudaMemcpy(array.ctypes.data_as(ctypes.c_void_p), place, ctypes.c_size_t(array.nbytes), 2) == 0
    return array


numbers = np.random.default_rng(1).standard_normal(NUMBERS).astype(np.float32)
most, packed, back = np.zeros(NUMBERS // BLOCK, np.float32), np.zeros(NUMBERS // 2, np.uint8), np.zeros(NUMBERS, np.float32)
# The widest gap between two codes, halved.
for kind, gap in (("nf4", 0.1520), ("fp4", 0.1667)):
    places = [device(array) for array in (numbers, most, packed, back)]
    getattr(library, "cquantize_blockwise_fp32_" + kind)(None, places[0], places[1], places[2], BLOCK, NUMBERS)
    getattr(library, "cdequantize_blockwise_fp32_" + kind)(None, places[2], places[1], places[3], BLOCK, NUMBERS, None)
    largest, found = host(places[1], most), host(places[3], back)
    error = np.abs(found - numbers).reshape(-1, BLOCK).max(axis=1) / largest
    print(kind, bool((largest == np.abs(numbers.reshape(-1, BLOCK)).max(axis=1)).all()), bool(error.max() <= gap))
