// Streams, events and host functions through the driver API, launches with the
// extended configuration and with a packed buffer.
#include <cstddef>
#include "driver.h"

static const char ptx[] = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry mix(.param .u64 p_out, .param .u8 p_a, .param .u16 p_b, .param .f32 p_c, .param .f64 p_d, .param .u8 p_e)
{
    .reg .b16 s;
    .reg .b32 x;
    .reg .f32 c;
    .reg .f64 d, y;
    .reg .b64 out;
    ld.param.u64 out, [p_out];
    cvta.to.global.u64 out, out;
    ld.param.u8 s, [p_a];
    cvt.rn.f64.u16 d, s;
    ld.param.u16 s, [p_b];
    cvt.rn.f64.u16 y, s;
    add.f64 d, d, y;
    ld.param.f32 c, [p_c];
    cvt.f64.f32 y, c;
    add.f64 d, d, y;
    ld.param.f64 y, [p_d];
    add.f64 d, d, y;
    ld.param.u8 s, [p_e];
    cvt.rn.f64.u16 y, s;
    add.f64 d, d, y;
    ld.global.f64 y, [out];
    add.f64 d, d, y;
    st.global.f64 [out], d;
    ret;
}
)";

static void CUDA_CB count(void *p) { ++*(int *)p; }

int main()
{
    CUdevice device;
    CUcontext context = nullptr, of = nullptr;
    CUmodule module = nullptr;
    CUfunction mix = nullptr;
    CUdeviceptr out = 0;
    NEED(cuInit(0));
    NEED(cuDeviceGet(&device, 0));
    NEED(cuDevicePrimaryCtxRetain(&context, device));
    NEED(cuCtxSetCurrent(context));
    NEED(cuModuleLoadData(&module, ptx));
    NEED(cuModuleGetFunction(&mix, module, "mix"));
    NEED(cuMemAlloc(&out, 8));
    CK(cuMemsetD32(out, 0, 2));

    CUstream s = nullptr, t = nullptr;
    CUevent begun = nullptr, done = nullptr;
    unsigned flags = 99;
    int calls = 0, priority = 99;
    NEED(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CK(cuStreamCreateWithPriority(&t, CU_STREAM_DEFAULT, 0));
    CK(cuStreamGetFlags(s, &flags));
    CK(cuStreamGetPriority(t, &priority));
    CK(cuStreamGetCtx(s, &of));
    printf("flags %u, priority %d, context %s\n", flags, priority, of == context ? "right" : "wrong");
    CK(cuEventCreate(&begun, CU_EVENT_DEFAULT));
    CK(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));

    unsigned char a = 1, e = 5;
    unsigned short b = 300;
    float c = 0.5f;
    double d = 1000.25, h = 0;
    void *args[] = {&out, &a, &b, &c, &d, &e};
    CK(cuEventRecord(begun, s));
    CK(cuLaunchKernel(mix, 1, 1, 1, 1, 1, 1, 0, s, args, nullptr));
    CK(cuLaunchHostFunc(s, count, &calls));
    CK(cuEventRecord(done, s));
    CK(cuStreamWaitEvent(t, done, 0));
    struct {
        CUdeviceptr out;
        unsigned char a;
        unsigned short b;
        float c;
        double d;
        unsigned char e;
    } buffer = {out, 2, 7, 0.25f, 10000, 9};
    // The exact size of the parameters, which have no padding at the end.
    size_t size = offsetof(decltype(buffer), e) + 1, padded = sizeof buffer;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    CK(cuLaunchKernel(mix, 1, 1, 1, 1, 1, 1, 0, t, nullptr, extra));
    extra[3] = &padded;
    show("a buffer larger than the parameters", cuLaunchKernel(mix, 1, 1, 1, 1, 1, 1, 0, t, nullptr, extra));
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    attribute.value.priority = 0;
    CUlaunchConfig config = {};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.hStream = t;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CK(cuLaunchKernelEx(&config, mix, args, nullptr));
    CK(cuMemcpyDtoHAsync(&h, out, 8, t));
    CK(cuStreamSynchronize(t));
    printf("value %g, calls %d\n", h, calls);
    show("event", cuEventQuery(done));
    show("stream", cuStreamQuery(s));
    float ms = -1;
    show("time without timing", cuEventElapsedTime(&ms, begun, done));
    CK(cuMemsetD32Async(out, 0, 2, s));
    CK(cuStreamSynchronize(s));
    CK(cuMemcpyDtoH(&h, out, 8));
    printf("value %g\n", h);
    show("stream with such flags", cuStreamCreate(&t, 64));
    show("stream to nowhere", cuStreamCreate(nullptr, 0));
    show("event with such flags", cuEventCreate(&done, 64));
    show("record nothing", cuEventRecord(nullptr, s));
    CK(cuEventDestroy(begun));
    CK(cuEventDestroy(done));
    CK(cuStreamDestroy(s));
    CK(cuStreamDestroy(t));
    CK(cuModuleUnload(module));
    CK(cuDevicePrimaryCtxRelease(device));
    return finish();
}
