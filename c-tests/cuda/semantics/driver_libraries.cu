// The driver's libraries (12.0): loaded without a context, kernels and variables by
// name, a kernel's function in a context, attributes for a device.
#include "driver.h"

static const char ptx[] = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .global .align 4 .u32 calls = 3;
.visible .entry first(.param .u64 p_out)
{
    .reg .b32 c;
    .reg .b64 out;
    ld.param.u64 out, [p_out];
    cvta.to.global.u64 out, out;
    atom.global.add.u32 c, [calls], 1;
    st.global.u32 [out], c;
    ret;
}
.visible .entry second(.param .u64 p_out, .param .u32 p_value)
{
    .reg .b32 v;
    .reg .b64 out;
    ld.param.u64 out, [p_out];
    ld.param.u32 v, [p_value];
    cvta.to.global.u64 out, out;
    st.global.u32 [out], v;
    ret;
}
)";

int main()
{
    CUdevice device;
    CUlibrary library = nullptr, none = nullptr;
    CUkernel first = nullptr, second = nullptr, missing = nullptr;
    CUcontext context = nullptr;
    NEED(cuInit(0));
    NEED(cuDeviceGet(&device, 0));
    NEED(cuLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    NEED(cuLibraryGetKernel(&first, library, "first"));
    NEED(cuLibraryGetKernel(&second, library, "second"));
    show("no such kernel", cuLibraryGetKernel(&missing, library, "third"));
    show("function without a context", cuKernelGetFunction((CUfunction *)&missing, first));

    NEED(cuDevicePrimaryCtxRetain(&context, device));
    NEED(cuCtxSetCurrent(context));
    CUfunction f = nullptr;
    CUmodule module = nullptr;
    CUdeviceptr calls = 0, out = 0;
    size_t size = 0;
    CK(cuKernelGetFunction(&f, first));
    CK(cuLibraryGetModule(&module, library));
    CK(cuLibraryGetGlobal(&calls, &size, library, "calls"));
    printf("calls %zu bytes\n", size);
    show("no such variable", cuLibraryGetGlobal(&calls, &size, library, "call"));
    int value = -1;
    CK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, second, device));
    printf("threads %d\n", value);
    CK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1000, second, device));
    CK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, second, device));
    printf("dynamic shared memory %d\n", value);

    NEED(cuMemAlloc(&out, 4));
    unsigned h = 0, number = 77;
    void *args[] = {&out, &number};
    for (int i = 0; i < 2; i++)
        CK(cuLaunchKernel((CUfunction)first, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
    CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
    CK(cuMemcpyDtoH(&h, out, 4));
    printf("first %u\n", h);
    CK(cuLaunchKernel((CUfunction)second, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
    CK(cuMemcpyDtoH(&h, out, 4));
    printf("second %u\n", h);
    CK(cuMemcpyDtoH(&h, calls, 4));
    printf("calls %u\n", h);

    show("load nothing", cuLibraryLoadData(&none, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0));
    show("load a missing file",
         cuLibraryLoadFromFile(&none, "/nowhere/at/all.cubin", nullptr, nullptr, 0, nullptr, nullptr, 0));
    show("unload nothing", cuLibraryUnload(nullptr));
    CK(cuMemFree(out));
    CK(cuLibraryUnload(library));
    CK(cuDevicePrimaryCtxRelease(device));
    return finish();
}
