// The driver API alone: its own PTX text, functions by name, launches with
// kernelParams and with a buffer through `extra`, a global variable, an error.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>

static const char ptx[] = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .global .align 4 .u32 calls = 0;
.visible .entry axpy(.param .u64 p_out, .param .f32 p_a, .param .f32 p_x, .param .u32 p_n)
{
    .reg .pred p;
    .reg .b32 i, c, t, m;
    .reg .f32 a, x, y;
    .reg .b64 base, off;
    ld.param.u64 base, [p_out];
    ld.param.f32 a, [p_a];
    ld.param.f32 x, [p_x];
    ld.param.u32 m, [p_n];
    mov.u32 i, %ctaid.x;
    mov.u32 c, %ntid.x;
    mov.u32 t, %tid.x;
    mad.lo.s32 i, i, c, t;
    setp.ge.s32 p, i, m;
    @p bra done;
    mul.wide.s32 off, i, 4;
    cvta.to.global.u64 base, base;
    add.s64 base, base, off;
    ld.global.f32 y, [base];
    fma.rn.f32 y, a, x, y;
    st.global.f32 [base], y;
    setp.ne.s32 p, i, 0;
    @p bra done;
    atom.global.add.u32 t, [calls], 1;
done:
    ret;
}
)";

static int errors;
static bool check(CUresult r, const char *what)
{
    if (r == CUDA_SUCCESS)
        return true;
    const char *name = nullptr;
    if (cuGetErrorName(r, &name) != CUDA_SUCCESS || !name)
        name = "unknown";
    printf("%s: %s\n", what, name);
    errors++;
    return false;
}
#define CK(call) check((call), #call)

int main()
{
    CUdevice device;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction axpy = nullptr, none = nullptr;
    CUdeviceptr data = 0, calls = 0;
    size_t calls_size = 0;
    if (!CK(cuInit(0)) || !CK(cuDeviceGet(&device, 0)) || !CK(cuDevicePrimaryCtxRetain(&context, device)) ||
        !CK(cuCtxSetCurrent(context)))
        return 3;
    CK(cuModuleLoadData(&module, ptx));
    CK(cuModuleGetFunction(&axpy, module, "axpy"));
    printf("missing function: %d\n", (int)cuModuleGetFunction(&none, module, "missing"));
    CK(cuModuleGetGlobal(&calls, &calls_size, module, "calls"));
    printf("calls has %zu bytes\n", calls_size);

    float h[100], a = 2, x = 1.5;
    int n = 100;
    for (int i = 0; i < n; i++)
        h[i] = i;
    CK(cuMemAlloc(&data, sizeof h));
    CK(cuMemcpyHtoD(data, h, sizeof h));
    void *params[] = {&data, &a, &x, &n};
    CK(cuLaunchKernel(axpy, 2, 1, 1, 64, 1, 1, 0, nullptr, params, nullptr));

    struct {
        CUdeviceptr out;
        float a, x;
        int n;
    } buffer = {data, 0.5f, 4, 50};
    size_t size = 20;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    CK(cuLaunchKernel(axpy, 1, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra));
    printf("too many threads: %d\n", (int)cuLaunchKernel(axpy, 1, 1, 1, 4096, 1, 1, 0, nullptr, params, nullptr));

    unsigned count = 0;
    CK(cuCtxSynchronize());
    CK(cuMemcpyDtoH(h, data, sizeof h));
    CK(cuMemcpyDtoH(&count, calls, sizeof count));
    printf("%g %g %g, calls %u\n", h[0], h[49], h[50], count);
    CK(cuModuleUnload(module));
    CK(cuMemFree(data));
    CK(cuDevicePrimaryCtxRelease(device));
    return errors ? 3 : 0;
}
