"""Python's own signal handling during kernels on the CPU: MODE is `fault` or `interrupt`."""

import ctypes
import faulthandler
import os
import signal
import sys
import threading
import time

PTX = b"""
.version 7.0
.target sm_50
.address_size 64
.visible .entry forever(.param .u64 to) {
  .reg .u64 %p; .reg .u32 %r; .reg .pred %q;
  ld.param.u64 %p, [to];
L: ld.volatile.global.u32 %r, [%p]; setp.eq.u32 %q, %r, 0; @%q bra L;
  ret; }
.visible .entry load(.param .u64 from) {
  .reg .u64 %p; .reg .u32 %r;
  ld.param.u64 %p, [from];
  ld.global.u32 %r, [%p]; add.u32 %r, %r, 1; st.global.u32 [%p], %r;
  ret; }
"""

faulthandler.enable()
cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *args):
    result = getattr(cuda, name)(*args)
    assert result == 0, (name, result)


device, context, module, kernel = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
memory = ctypes.c_uint64()
call("cuInit", 0)
call("cuDeviceGet", ctypes.byref(device), 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
call("cuCtxSetCurrent", context)
call("cuModuleLoadData", ctypes.byref(module), PTX)
call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(64))
call("cuMemsetD32_v2", memory, 0, ctypes.c_size_t(16))


def launch(name, address):
    call("cuModuleGetFunction", ctypes.byref(kernel), module, name)
    values = (ctypes.c_void_p * 1)(ctypes.addressof(address))
    call("cuLaunchKernel", kernel, 1, 1, 1, 32, 1, 1, 0, None, values, None)


if sys.argv[1] == "fault":
    launch(b"load", ctypes.c_uint64(memory.value + (32 << 20)))
    print("kernel", cuda.cuCtxSynchronize(), flush=True)
    ctypes.string_at(64, 1)

# The kernel that another thread waits for does not delay the main thread's interrupt.
launch(b"forever", memory)


def wait():
    call("cuCtxSetCurrent", context)
    print("waited", cuda.cuCtxSynchronize(), flush=True)


waiter = threading.Thread(target=wait)
waiter.start()
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
except KeyboardInterrupt:
    print("KeyboardInterrupt", flush=True)
ctypes.c_uint32.from_address(memory.value).value = 1
waiter.join()

# An interrupt during the main thread's wait is handled after the wait, as with a GPU.
ctypes.c_uint32.from_address(memory.value).value = 0
launch(b"forever", memory)


def interrupt_and_end():
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.2)
    print("ending", flush=True)
    ctypes.c_uint32.from_address(memory.value).value = 1


threading.Thread(target=interrupt_and_end).start()
try:
    print("synchronized", cuda.cuCtxSynchronize(), flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("KeyboardInterrupt", flush=True)
