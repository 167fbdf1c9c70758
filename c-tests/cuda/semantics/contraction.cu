// Products and sums (contraction): where PTX without a rounding modifier is fused into one operation with one rounding, and where
// not. The driver's compiler decides that for the text here; nvcc decided it for the kernel of this file.
#include "driver.h"
#include <cstdint>
#include <string>

struct Case {
    const char *type;
    const char *code;
};

// Computes r from a, b, c, d and the parameter f; p is true in odd threads, n is 2.
static const Case cases[] = {
    {"f32", "mul.f32 t, a, b; add.f32 r, t, c;"},
    {"f32", "mul.f32 t, a, b; add.f32 r, c, t;"},
    {"f32", "mul.f32 t, a, b; sub.f32 r, t, c;"},
    {"f32", "mul.f32 t, a, b; sub.f32 r, c, t;"},
    {"f32", "mul.f32 t, a, b; neg.f32 t, t; add.f32 r, t, c;"},
    {"f32", "mul.f32 t, a, b; mov.f32 u, t; add.f32 r, u, c;"},
    {"f32", "mul.f32 t, a, b; mov.f32 r, c; @p add.f32 r, t, c;"},
    {"f32", "mul.f32 t, a, b; add.sat.f32 r, t, c;"},
    {"f32", "mul.f32 t, a, 0f3f8ccccd; add.f32 r, t, c;"},
    {"f32", "mul.f32 t, a, f; @p bra L; add.f32 t, t, c; L: mov.f32 r, t;"},
    {"f32", "mul.f32 t, a, f; mov.f32 r, c; @p bra L; add.f32 r, t, c; L:"},
    {"f32", "mul.ftz.f32 t, a, b; add.ftz.f32 r, t, c;"},
    {"f32", "mul.f32 t, a, b; mul.rn.f32 u, a, b; sub.f32 r, t, u;"},
    {"f32", "mul.f32 t, a, b; mul.f32 u, c, d; add.f32 r, t, u;"},
    {"f32", "mul.f32 t, a, b; mul.f32 u, c, d; sub.f32 r, t, u;"},
    {"f32", "mul.f32 t, a, b; add.f32 u, t, c; add.f32 v, t, d; mul.rn.f32 r, u, v;"},
    {"f32", "mul.f32 t, a, b; mul.f32 u, c, d; add.f32 v, t, u; sub.f32 u, u, t; mul.rn.f32 r, u, v;"},
    {"f32", "mov.f32 r, d; L: mul.f32 t, r, a; add.f32 r, t, b; sub.u32 n, n, 1; setp.ne.u32 q, n, 0; @q bra L;"},
    {"f32", "mul.f32 t, a, b; bra L; L: add.f32 r, t, c;"},
    {"f32", "mul.f32 t, a, b; bar.sync 0; add.f32 r, t, c;"},
    {"f32", "mul.rn.f32 t, a, b; add.f32 r, t, c;"},
    {"f32", "mul.f32 t, a, b; add.rn.f32 r, t, c;"},
    {"f32", "mul.rz.f32 t, a, b; add.f32 r, t, c;"},
    {"f32", "mul.f32 t, a, b; add.rz.f32 r, t, c;"},
    {"f32", "mul.ftz.f32 t, a, b; add.f32 r, t, c;"},
    {"f32", "mul.f32 t, a, b; add.ftz.f32 r, t, c;"},
    {"f32", "mul.sat.f32 t, a, b; add.f32 r, t, c;"},
    {"f32", "mul.f32 t, a, b; abs.f32 t, t; add.f32 r, t, c;"},
    {"f32", "mul.f32 t, a, b; selp.f32 t, t, d, p; add.f32 r, t, c;"},
    {"f32", "mul.f32 t, a, b; mov.f32 r, c; @p bra L; add.f32 r, t, c; L:"},
    {"f32", "mul.f32 t, a, b; membar.gl; add.f32 r, t, c;"},
    {"f32", "mul.f32 t, a, b; add.f32 u, t, c; min.f32 v, t, d; mul.rn.f32 r, u, v;"},
    {"f32", "mul.f32 t, a, b; mov.f32 t, t; @p mul.f32 t, c, d; add.f32 r, t, c;"},
    {"f32", "fma.rn.f32 t, a, b, c; add.f32 r, t, d;"},
    {"f64", "mul.f64 t, a, b; add.f64 r, t, c;"},
    {"f64", "mul.f64 t, a, b; sub.f64 r, c, t;"},
    {"f64", "mul.f64 t, a, b; mul.f64 u, c, d; add.f64 r, t, u;"},
    {"f64", "mul.rn.f64 t, a, b; add.f64 r, t, c;"},
    {"f64", "mul.f64 t, a, b; add.rn.f64 r, t, c;"},
    {"f16", "mul.f16 t, a, b; add.f16 r, t, c;"},
    {"f16", "mul.f16 t, a, b; sub.f16 r, c, t;"},
    {"f16", "mul.rn.f16 t, a, b; add.f16 r, t, c;"},
    {"f16x2", "mul.f16x2 t, a, b; add.f16x2 r, t, c;"},
    {"f16x2", "mul.f16x2 t, a, b; add.rn.f16x2 r, t, c;"},
};
static const int CASES = sizeof cases / sizeof *cases, ROWS = 4, GIVEN = 4;

static std::string text()
{
    std::string s = ".version 6.0\n.target sm_70\n.address_size 64\n";
    for (int n = 0; n < CASES; n++) {
        const std::string type = cases[n].type;
        const char *bits = type == "f16" ? "b16" : type == "f16x2" ? "b32" : cases[n].type;
        char head[1024];
        snprintf(head, sizeof head,
                 ".entry k%d(.param .u64 in, .param .u64 out, .param .f32 given) {\n"
                 " .reg .b64 base, to, w; .reg .b32 row, n; .reg .pred p, q; .reg .f32 f; .reg .%s a, b, c, d, r, t, u, v;\n"
                 " ld.param.u64 base, [in]; ld.param.u64 to, [out]; ld.param.f32 f, [given]; mov.u32 row, %%tid.x;\n"
                 " mul.wide.u32 w, row, 32; add.u64 base, base, w; mul.wide.u32 w, row, 8; add.u64 to, to, w;\n"
                 " ld.global.%s a, [base]; ld.global.%s b, [base+8]; ld.global.%s c, [base+16]; ld.global.%s d, [base+24];\n"
                 " and.b32 n, row, 1; setp.ne.u32 p, n, 0; mov.u32 n, 2;\n",
                 n, bits, bits, bits, bits, bits);
        s += std::string(head) + " " + cases[n].code + "\n st.global." + bits + " [to], r;\n ret;\n}\n";
    }
    return s;
}

static uint32_t seed = 12345;
static uint64_t some(int bits)
{
    uint64_t v = 0;
    for (int k = 0; k < 4; k++) {
        seed = seed * 1664525u + 1013904223u;
        v = v << 16 | seed >> 16;
    }
    return v >> (64 - bits);
}

// Numbers from one to four; in every second row the third is close to minus the product of the first two.
static void inputs(const std::string &type, uint64_t *to)
{
    for (int n = 0; n < ROWS * GIVEN; n++) {
        if (type == "f32")
            to[n] = 0x3f800000u | (some(1) << 23) | some(23);
        else if (type == "f64")
            to[n] = 0x3ff0000000000000u | (some(1) << 52) | some(52);
        else if (type == "f16")
            to[n] = 0x3c00u | (some(1) << 10) | some(10);
        else
            to[n] = 0x3c003c00u | (some(1) << 26) | (some(10) << 16) | (some(1) << 10) | some(10);
    }
    for (int row = 0; row < ROWS; row += 2) {
        uint64_t *at = to + row * GIVEN;
        if (type == "f32") {
            float a, b;
            memcpy(&a, &at[0], 4), memcpy(&b, &at[1], 4);
            volatile float product = a * b;
            const float c = -product;
            memcpy(&at[2], &c, 4);
        } else if (type == "f64") {
            double a, b;
            memcpy(&a, &at[0], 8), memcpy(&b, &at[1], 8);
            volatile double product = a * b;
            const double c = -product;
            memcpy(&at[2], &c, 8);
        } else {
            at[2] ^= type == "f16" ? 0x8000u : 0x80008000u;
        }
    }
}

static void run(const char *title, CUmodule module, CUdeviceptr in, CUdeviceptr out)
{
    printf("%s\n", title);
    for (int n = 0; n < CASES; n++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", n);
        CUfunction f = nullptr;
        if (!CK(cuModuleGetFunction(&f, module, name)))
            return;
        uint64_t given[ROWS * GIVEN], got[ROWS];
        seed = 12345 + n;
        inputs(cases[n].type, given);
        float factor = 1.23456789f;
        void *params[] = {&in, &out, &factor};
        CK(cuMemcpyHtoD(in, given, sizeof given));
        CK(cuMemsetD8(out, 0, sizeof got));
        CK(cuLaunchKernel(f, 1, 1, 1, ROWS, 1, 1, 0, nullptr, params, nullptr));
        CK(cuMemcpyDtoH(got, out, sizeof got));
        printf("%s", cases[n].code);
        for (uint64_t v : got)
            printf(" %llx", (unsigned long long)v);
        printf("\n");
    }
}

// Expressions that nvcc fuses itself, and expressions that it must not fuse.
template <class T> struct Rounded;
template <> struct Rounded<float> {
    static __device__ float mul(float a, float b) { return __fmul_rn(a, b); }
    static __device__ float add(float a, float b) { return __fadd_rn(a, b); }
    static __device__ float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
};
template <> struct Rounded<double> {
    static __device__ double mul(double a, double b) { return __dmul_rn(a, b); }
    static __device__ double add(double a, double b) { return __dadd_rn(a, b); }
    static __device__ double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
};

template <class T> __global__ void compiled(const T *in, T *out)
{
    const T a = in[0], b = in[1], c = in[2], d = in[3];
    out[0] = a * b + c;
    out[1] = a * b - c * d;
    out[2] = Rounded<T>::fma(a, b, c);
    out[3] = Rounded<T>::add(Rounded<T>::mul(a, b), c);
    out[4] = Rounded<T>::mul(a, b) + c;
    out[5] = Rounded<T>::add(a * b, c);
    const T product = a * b;
    out[6] = product;
    out[7] = product + d;
}

template <class T> static void by_nvcc(const char *type, CUdeviceptr in, CUdeviceptr out)
{
    uint64_t given[ROWS * GIVEN];
    T values[GIVEN], got[8];
    seed = 99;
    inputs(type, given);
    for (int n = 0; n < GIVEN; n++)
        memcpy(&values[n], &given[n], sizeof(T));
    CK(cuMemcpyHtoD(in, values, sizeof values));
    compiled<T><<<1, 1>>>((const T *)in, (T *)out);
    CK(cuMemcpyDtoH(got, out, sizeof got));
    printf("nvcc %s:", type);
    for (T v : got)
        printf(" %a", (double)v);
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
    const std::string s = text();
    CUmodule module = nullptr, plain = nullptr;
    CUdeviceptr in = 0, out = 0;
    NEED(cuModuleLoadData(&module, s.c_str()));
    CUjit_option options[] = {CU_JIT_OPTIMIZATION_LEVEL};
    void *values[] = {(void *)0};
    NEED(cuModuleLoadDataEx(&plain, s.c_str(), 1, options, values));
    NEED(cuMemAlloc(&in, 8 * ROWS * GIVEN));
    NEED(cuMemAlloc(&out, 64));
    run("as the compiler likes", module, in, out);
    run("not optimised", plain, in, out);
    by_nvcc<float>("f32", in, out);
    by_nvcc<double>("f64", in, out);
    CK(cuMemFree(in));
    CK(cuMemFree(out));
    CK(cuModuleUnload(module));
    CK(cuModuleUnload(plain));
    CK(cuDevicePrimaryCtxRelease(device));
    return finish();
}
