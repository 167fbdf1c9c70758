// Kernel arguments through the driver API, for kernels from PTX: as pointers and as one packed
// buffer, with structures and bytes, static and dynamic shared memory, functions
// of several modules, and a kernel without arguments.
#include <cstddef>
#include "driver.h"

static const char ptx[] = R"(
.version 6.0
.target sm_50
.address_size 64
.extern .shared .align 4 .b8 room[];
.visible .global .align 4 .u32 calls = 0;
.visible .entry nothing()
{
    .reg .u32 n;
    atom.global.add.u32 n, [calls], 1;
    ret;
}
// out[i] = sum of the elements up to i, times factor, plus the structure's field.
.visible .entry prefix(.param .u64 p_out, .param .u64 p_in, .param .u32 p_n, .param .align 8 .b8 p_add[16], .param .u8 p_factor)
{
    .reg .pred p;
    .reg .b16 f;
    .reg .b32 n, i, k, v, sum, add, at, factor;
    .reg .b64 out, in, offset;
    ld.param.u64 out, [p_out];
    ld.param.u64 in, [p_in];
    ld.param.u32 n, [p_n];
    ld.param.u32 add, [p_add+8];
    ld.param.u8 f, [p_factor];
    cvt.u32.u16 factor, f;
    cvta.to.global.u64 out, out;
    cvta.to.global.u64 in, in;
    mov.u32 i, %tid.x;
    mul.wide.u32 offset, i, 4;
    add.s64 in, in, offset;
    add.s64 out, out, offset;
    ld.global.u32 v, [in];
    mov.u32 at, room;
    shl.b32 k, i, 2;
    add.u32 at, at, k;
    st.shared.u32 [at], v;
    bar.sync 0;
    mov.u32 sum, 0;
    mov.u32 k, 0;
    mov.u32 at, room;
again:
    ld.shared.u32 v, [at];
    add.u32 sum, sum, v;
    add.u32 at, at, 4;
    add.u32 k, k, 1;
    setp.le.u32 p, k, i;
    @p bra again;
    mad.lo.u32 sum, sum, factor, add;
    setp.lt.u32 p, i, n;
    @p st.global.u32 [out], sum;
    ret;
}
)";

struct Add {
    long long unused;
    unsigned value;
    unsigned pad;
};

int main()
{
    CUdevice device;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction nothing = nullptr, prefix = nullptr;
    NEED(cuInit(0));
    NEED(cuDeviceGet(&device, 0));
    NEED(cuDevicePrimaryCtxRetain(&context, device));
    NEED(cuCtxSetCurrent(context));
    NEED(cuModuleLoadData(&module, ptx));
    NEED(cuModuleGetFunction(&nothing, module, "nothing"));
    NEED(cuModuleGetFunction(&prefix, module, "prefix"));
    unsigned n = 64, in[64], out[64];
    for (unsigned i = 0; i < n; i++)
        in[i] = i % 5;
    CUdeviceptr d_in = 0, d_out = 0, calls = 0;
    NEED(cuMemAlloc(&d_in, sizeof in));
    NEED(cuMemAlloc(&d_out, sizeof out));
    CK(cuMemcpyHtoD(d_in, in, sizeof in));
    Add add = {-1, 1000, 77};
    unsigned char factor = 3;
    void *args[] = {&d_out, &d_in, &n, &add, &factor};
    CK(cuLaunchKernel(prefix, 1, 1, 1, n, 1, 1, n * 4, nullptr, args, nullptr));
    // The values at the time of the call are used.
    add.value = 5;
    factor = 9;
    CK(cuMemcpyDtoH(out, d_out, sizeof out));
    bool right = true;
    for (unsigned i = 0, sum = 0; i < n; i++) {
        sum += in[i];
        right = right && out[i] == sum * 3 + 1000;
    }
    expect(right, "as pointers");

    struct {
        CUdeviceptr out, in;
        unsigned n;
        alignas(8) Add add;
        unsigned char factor;
    } packed = {d_out, d_in, 10, {0, 7, 0}, 200};
    size_t size = offsetof(decltype(packed), factor) + 1;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_END};
    CK(cuMemsetD32(d_out, 0xdddddddd, n));
    CK(cuLaunchKernel(prefix, 1, 1, 1, n, 1, 1, n * 4, nullptr, nullptr, extra));
    CK(cuMemcpyDtoH(out, d_out, sizeof out));
    right = true;
    for (unsigned i = 0, sum = 0; i < n; i++) {
        sum += in[i];
        right = right && out[i] == (i < 10 ? sum * 200 + 7 : 0xdddddddd);
    }
    expect(right, "as a buffer");

    for (int i = 0; i < 3; i++)
        CK(cuLaunchKernel(nothing, 2, 3, 4, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    unsigned count = 0;
    CK(cuModuleGetGlobal(&calls, nullptr, module, "calls"));
    CK(cuMemcpyDtoH(&count, calls, sizeof count));
    printf("%u calls, %u\n", count, out[9]);
    CK(cuMemFree(d_in));
    CK(cuMemFree(d_out));
    CK(cuModuleUnload(module));
    CK(cuDevicePrimaryCtxRelease(device));
    return finish();
}
