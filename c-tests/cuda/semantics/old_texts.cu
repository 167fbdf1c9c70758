// PTX as the first CUDA compilers wrote it (versions 1.0 to 2.3, devices 1.0 to 2.0): the driver still accepts it.
#include "driver.h"
#include <cstdint>
#include <string>
#include <vector>

// Parameters in the body, 16-bit special registers, 24-bit products, labels with signs. Its division is approximate.
static const char first[] = R"(
    .version 1.3
    .target sm_11, map_f64_to_f32
    // compiled by nobody
    .file 1 "old.cu"
    .entry k
    {
    .param .u64 __cudaparm_k_out;
    .param .u64 __cudaparm_k_in;
    .reg .u16 %rh<4>;
    .reg .u32 %r<8>;
    .reg .u64 %rd<8>;
    .reg .f32 %f<8>;
    .reg .pred %p<3>;
    .loc 1 10 0
$LBB1_k:
    mov.u16 %rh1, %ctaid.x;
    mov.u16 %rh2, %ntid.x;
    mul.wide.u16 %r1, %rh1, %rh2;
    cvt.u32.u16 %r2, %tid.x;
    add.u32 %r3, %r2, %r1;
    cvt.s64.u32 %rd1, %r3;
    mul.lo.u64 %rd2, %rd1, 4;
    ld.param.u64 %rd3, [__cudaparm_k_in];
    add.u64 %rd4, %rd3, %rd2;
    ld.global.f32 %f1, [%rd4+0];
    mul24.lo.u32 %r4, %r3, 3;
    cvt.rn.f32.u32 %f2, %r4;
    mad.f32 %f3, %f1, %f2, %f1;
    setp.lt.f32 %p1, %f3, %f2;
    @%p1 bra $L_small;
    div.f32 %f3, %f3, %f1;
$L_small:
    ld.param.u64 %rd5, [__cudaparm_k_out];
    add.u64 %rd6, %rd5, %rd2;
    st.global.f32 [%rd6+0], %f3;
    exit;
$LDWend_k:
    } // k
)";

// The same instructions with different headers: how a device of the first generation treats subnormal numbers,
// fused operations, doubles.
static const char *const heads[] = {
    ".version 1.4\n.target sm_10, map_f64_to_f32\n", ".version 1.4\n.target sm_13\n", ".version 2.0\n.target sm_12\n",
    ".version 2.0\n.target sm_20\n", ".version 2.3\n.target sm_20\n.address_size 64\n"};
static const char *const codes[] = {
    "mul.f32 d, a, b;", "add.f32 d, a, b;", "mad.f32 d, a, b, c;", "mul.f32 d, a, b; add.f32 d, d, c;",
    "abs.f32 d, a;", "min.f32 d, a, b;", "cvt.rzi.s32.f32 s, b; cvt.rn.f32.s32 d, s;",
    "cvt.f64.f32 f, a; cvt.f64.f32 g, b; mul.f64 f, f, g; cvt.rn.f32.f64 d, f;",
    "setp.eq.f32 p, a, 0f00000000; selp.f32 d, b, c, p;",
    "cvt.u32.u16 s, %tid.x; mul24.lo.u32 s, s, 4; mov.u32 t, sh; add.u32 s, s, t; st.shared.f32 [s], a; "
    "ld.shared.f32 d, [s];",
    "ld.const.f32 d, [table+4]; add.f32 d, d, b;",
};

static const uint32_t rows[][3] = {
    {0x3a83126f, 0x006ce3ee, 0x000116c2}, {0x00000001, 0x3f800000, 0x00000000}, {0x00400000, 0x3f000000, 0x00000001},
    {0x807fffff, 0x3f800000, 0x00000000}, {0x3fb504f3, 0x40490fdb, 0xc08e2c1a}, {0x40133333, 0x3f9d70a4, 0xc0350481},
};
static const int ROWS = sizeof rows / sizeof *rows;

static std::string single(const char *head, const char *code)
{
    return std::string(head) +
           ".const .f32 table[2] = {0f3f800000, 0f40490fdb};\n.shared .align 4 .b8 sh[64];\n"
           ".entry k (.param .u64 in, .param .u64 out)\n"
           "{ .reg .u64 i, o, n; .reg .u32 s, t; .reg .f32 a, b, c, d; .reg .f64 f, g; .reg .pred p;\n"
           " ld.param.u64 i, [in]; ld.param.u64 o, [out]; cvt.u64.u16 n, %tid.x; mul.lo.u64 n, n, 12; add.u64 i, i, n;\n"
           " cvt.u64.u16 n, %tid.x; mul.lo.u64 n, n, 4; add.u64 o, o, n;\n"
           " ld.global.f32 a, [i]; ld.global.f32 b, [i+4]; ld.global.f32 c, [i+8];\n " +
           code + "\n st.global.f32 [o], d; exit; }\n";
}

// Loads a text with an error log; returns whether the driver accepted it.
static CUresult load(CUmodule *module, const char *text)
{
    char log[4096] = {};
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    const CUresult r = cuModuleLoadDataEx(module, text, 2, options, values);
    if (r != CUDA_SUCCESS)
        printf("refused (%s), the log %s\n", name_of(r), log[0] ? "says why" : "is empty");
    return r;
}

static void launch(CUmodule module, CUdeviceptr a, CUdeviceptr b, int threads)
{
    CUfunction f = nullptr;
    if (!CK(cuModuleGetFunction(&f, module, "k")))
        return;
    void *params[] = {&a, &b};
    CK(cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, nullptr, params, nullptr));
    CK(cuCtxSynchronize());
}

static void show_words(CUdeviceptr at, int count)
{
    std::vector<uint32_t> words(count);
    CK(cuMemcpyDtoH(words.data(), at, 4 * count));
    for (uint32_t w : words)
        printf(" %08x", w);
    printf("\n");
}

int main()
{
    CUdevice device;
    CUcontext context = nullptr;
    NEED(cuInit(0));
    NEED(cuDeviceGet(&device, 0));
    NEED(cuDevicePrimaryCtxRetain(&context, device));
    NEED(cuCtxSetCurrent(context));
    CUdeviceptr in = 0, out = 0;
    NEED(cuMemAlloc(&in, 256));
    NEED(cuMemAlloc(&out, 256));

    float given[8];
    for (int n = 0; n < 8; n++)
        given[n] = 1.1f + n * 1.7f;
    CK(cuMemcpyHtoD(in, given, sizeof given));
    CUmodule module = nullptr;
    if (load(&module, first) == CUDA_SUCCESS) {
        printf("first:");
        launch(module, out, in, 8);
        show_words(out, 8);
        CK(cuModuleUnload(module));
    }

    CK(cuMemcpyHtoD(in, rows, sizeof rows));
    for (const char *head : heads) {
        printf("%s", head);
        for (const char *code : codes) {
            if (load(&module, single(head, code).c_str()) != CUDA_SUCCESS)
                continue;
            CK(cuMemsetD32(out, 0xdddddddd, ROWS));
            launch(module, in, out, ROWS);
            printf(" %s", code);
            show_words(out, ROWS);
            CK(cuModuleUnload(module));
        }
    }

    // 32-bit addresses are no longer supported.
    load(&module, ".version 2.3\n.target sm_20\n.address_size 32\n.entry k { exit; }\n");
    CK(cuMemFree(in));
    CK(cuMemFree(out));
    CK(cuDevicePrimaryCtxRelease(device));
    return finish();
}
