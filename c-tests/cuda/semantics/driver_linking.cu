// PTX linked at run time: two texts that need each other, undefined symbols, and the
// resulting image, loaded twice.
#include "driver.h"

static const char caller[] = R"(
.version 6.0
.target sm_50
.address_size 64
.extern .func (.param .u32 r) helper(.param .u32 a, .param .u32 b);
.extern .global .align 4 .u32 offset;
.visible .entry compute(.param .u64 p_out, .param .u32 p_by)
{
    .reg .b32 i, by, v, o;
    .reg .b64 out, off;
    ld.param.u64 out, [p_out];
    ld.param.u32 by, [p_by];
    cvta.to.global.u64 out, out;
    mov.u32 i, %tid.x;
    {
        .param .u32 a;
        .param .u32 b;
        .param .u32 r;
        st.param.u32 [a], i;
        st.param.u32 [b], by;
        call (r), helper, (a, b);
        ld.param.u32 v, [r];
    }
    ld.global.u32 o, [offset];
    add.u32 v, v, o;
    mul.wide.u32 off, i, 4;
    add.s64 out, out, off;
    st.global.u32 [out], v;
    ret;
}
)";

static const char called[] = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .global .align 4 .u32 offset = 1000;
.visible .func (.param .u32 r) helper(.param .u32 a, .param .u32 b)
{
    .reg .b32 x, y;
    ld.param.u32 x, [a];
    ld.param.u32 y, [b];
    mul.lo.u32 x, x, y;
    st.param.u32 [r], x;
    ret;
}
)";

int main()
{
    CUdevice device;
    CUcontext context = nullptr;
    NEED(cuInit(0));
    NEED(cuDeviceGet(&device, 0));
    NEED(cuDevicePrimaryCtxRetain(&context, device));
    NEED(cuCtxSetCurrent(context));

    CUlinkState link = nullptr;
    void *image = nullptr;
    size_t size = 0;
    NEED(cuLinkCreate(0, nullptr, nullptr, &link));
    CK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)caller, sizeof caller, "caller", 0, nullptr, nullptr));
    CK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)called, sizeof called, "called", 0, nullptr, nullptr));
    NEED(cuLinkComplete(link, &image, &size));
    expect(image && size > 0, "an image");

    CUmodule module = nullptr;
    CUfunction compute = nullptr;
    CUdeviceptr out = 0, offset = 0;
    unsigned h[8] = {}, by = 5;
    NEED(cuModuleLoadData(&module, image));
    // The image belongs to the linker.
    CK(cuLinkDestroy(link));
    NEED(cuModuleGetFunction(&compute, module, "compute"));
    CK(cuModuleGetGlobal(&offset, &size, module, "offset"));
    NEED(cuMemAlloc(&out, sizeof h));
    void *args[] = {&out, &by};
    CK(cuLaunchKernel(compute, 1, 1, 1, 8, 1, 1, 0, nullptr, args, nullptr));
    CK(cuMemcpyDtoH(h, out, sizeof h));
    printf("%u %u\n", h[0], h[7]);
    unsigned two = 2;
    CK(cuMemcpyHtoD(offset, &two, sizeof two));
    CK(cuLaunchKernel(compute, 1, 1, 1, 8, 1, 1, 0, nullptr, args, nullptr));
    CK(cuMemcpyDtoH(h, out, sizeof h));
    printf("%u %u\n", h[0], h[7]);
    CK(cuModuleUnload(module));

    NEED(cuLinkCreate(0, nullptr, nullptr, &link));
    CK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)caller, sizeof caller, "caller", 0, nullptr, nullptr));
    image = nullptr;
    CUresult r = cuLinkComplete(link, &image, &size);
    printf("the called one is missing: %s\n", r == CUDA_SUCCESS ? "linked" : "refused");
    CK(cuLinkDestroy(link));

    NEED(cuLinkCreate(0, nullptr, nullptr, &link));
    r = cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)"nonsense", 9, "nonsense", 0, nullptr, nullptr);
    printf("no PTX: %s\n", r == CUDA_SUCCESS ? "taken" : "refused");
    show("nothing", cuLinkAddData(link, CU_JIT_INPUT_PTX, nullptr, 0, "nothing", 0, nullptr, nullptr));
    show("a missing file", cuLinkAddFile(link, CU_JIT_INPUT_PTX, "/nowhere/at/all.ptx", 0, nullptr, nullptr));
    CK(cuLinkDestroy(link));
    show("to nowhere", cuLinkCreate(0, nullptr, nullptr, nullptr));
    CK(cuMemFree(out));
    CK(cuDevicePrimaryCtxRelease(device));
    return finish();
}
