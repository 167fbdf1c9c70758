// Modules from PTX text: options of the compiler, its log, functions, variables and
// attributes; invalid texts and names; what two loads of one text share.
#include "driver.h"

static const char good[] = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .global .align 4 .u32 counter = 7;
.visible .const .align 4 .b8 table[16] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0};
.visible .entry step(.param .u64 p_out)
.maxntid 64, 1, 1
{
    .reg .b32 c, t, i;
    .reg .b64 out, off;
    .shared .align 4 .b8 room[256];
    ld.param.u64 out, [p_out];
    cvta.to.global.u64 out, out;
    atom.global.add.u32 c, [counter], 1;
    mov.u32 i, %tid.x;
    and.b32 i, i, 3;
    mul.wide.u32 off, i, 4;
    mov.u64 out, out;
    add.s64 out, out, off;
    ld.const.u32 t, [table];
    mad.lo.u32 c, c, 10, t;
    st.shared.u32 [room], c;
    ld.shared.u32 c, [room];
    st.global.u32 [out], c;
    ret;
}
.visible .entry other() { ret; }
)";

int main()
{
    CUdevice device;
    CUcontext context = nullptr;
    NEED(cuInit(0));
    NEED(cuDeviceGet(&device, 0));
    NEED(cuDevicePrimaryCtxRetain(&context, device));
    NEED(cuCtxSetCurrent(context));

    char errors[2048] = {}, log[2048] = {};
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER,
                              CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_OPTIMIZATION_LEVEL};
    void *values[] = {errors, (void *)sizeof errors, log, (void *)sizeof log, (void *)2};
    CUmodule one = nullptr, two = nullptr, none = nullptr;
    NEED(cuModuleLoadDataEx(&one, good, 5, options, values));
    NEED(cuModuleLoadData(&two, good));
    expect(one != two, "two modules");

    CUfunction f = nullptr, g = nullptr, missing = nullptr;
    NEED(cuModuleGetFunction(&f, one, "step"));
    NEED(cuModuleGetFunction(&g, two, "step"));
    show("no such function", cuModuleGetFunction(&missing, one, "stepp"));
    show("function without a name", cuModuleGetFunction(&missing, one, nullptr));
    CUdeviceptr counter = 0, table = 0, second = 0, out = 0;
    size_t size = 0;
    CK(cuModuleGetGlobal(&counter, &size, one, "counter"));
    printf("counter %zu bytes\n", size);
    CK(cuModuleGetGlobal(&table, &size, one, "table"));
    printf("table %zu bytes\n", size);
    CK(cuModuleGetGlobal(&second, nullptr, two, "counter"));
    expect(second != counter, "each module has its own");
    show("no such variable", cuModuleGetGlobal(&second, &size, one, "count"));

    int value = -1;
    CK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    printf("threads %d", value);
    CK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
    printf(", shared %d", value);
    CK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, f));
    printf(", constant %d", value);
    CK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, f));
    printf(", PTX for %d\n", value);
    show("no such attribute", cuFuncGetAttribute(&value, (CUfunction_attribute)99, f));
    show("attribute that cannot be set", cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 5));
    CUmodule owner = nullptr;
    CK(cuFuncGetModule(&owner, g));
    expect(owner == two, "module of a function");

    NEED(cuMemAlloc(&out, 16));
    void *args[] = {&out};
    unsigned h[4] = {};
    for (int i = 0; i < 3; i++)
        CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
    CK(cuLaunchKernel(g, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
    CK(cuMemcpyDtoH(h, out, 16));
    printf("second module %u\n", h[0]);
    unsigned hundred = 100, five = 5;
    CK(cuMemcpyHtoD(counter, &hundred, 4));
    CK(cuMemcpyHtoD(table, &five, 4));
    CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
    CK(cuMemcpyDtoH(h, out, 16));
    printf("first module %u\n", h[0]);
    show("more threads than it allows", cuLaunchKernel(f, 1, 1, 1, 65, 1, 1, 0, nullptr, args, nullptr));
    show("no blocks", cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
    show("no function", cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
    void *extra[] = {CU_LAUNCH_PARAM_END};
    show("arguments in both ways", cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, args, extra));

    // The driver has replaced the sizes by the lengths that it wrote.
    values[1] = (void *)sizeof errors;
    values[3] = (void *)sizeof log;
    show("broken text", cuModuleLoadDataEx(&none, ".version 6.0\n.target sm_50\nbroken", 5, options, values));
    expect(errors[0] != 0, "the compiler says why");
    show("no PTX at all", cuModuleLoadData(&none, "something else"));
    show("load nothing", cuModuleLoadData(&none, nullptr));
    show("load a missing file", cuModuleLoad(&none, "/nowhere/at/all.cubin"));
    show("unload nothing", cuModuleUnload(nullptr));
    CK(cuCtxSynchronize());
    CK(cuModuleUnload(one));
    CK(cuLaunchKernel(g, 1, 1, 1, 64, 1, 1, 0, nullptr, args, nullptr));
    CK(cuMemcpyDtoH(h, out, 16));
    CK(cuModuleUnload(two));
    CK(cuMemFree(out));
    CK(cuDevicePrimaryCtxRelease(device));
    return finish();
}
