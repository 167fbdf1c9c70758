/* Every way to launch a kernel through the runtime, with distinct values. */
#include "cuda.h"

IMAGE(late, PTX_HEAD ".visible .entry lib_kernel(.param .u16 a, .param .u64 b)\n{ ret; }\n");

int main(void) {
    struct pair p = {2.5, -7, 9, 10};
    printf("alpha %d\n", LAUNCH(d3(1, 2, 3), d3(4, 5, 6), 1024, (void *)0x5, alpha((float *)0x7f0000001000, 77, 1.5f)));
    printf("beta %d\n", LAUNCH(d3(65536, 1, 1), d3(1024, 1, 1), 0, NULL, beta()));
    printf("gamma %d\n", LAUNCH(d3(7, 1, 1), d3(64, 1, 1), 0, (void *)0x2, gamma_(p, 'x')));

    float *at = (float *)0x7f0000002000;
    int n = -1;
    float x = -0.25f;
    void *args[] = {&at, &n, &x};
    printf("ptsz %d\n", cudaLaunchKernel_ptsz((void *)alpha, d3(2, 1, 1), d3(8, 1, 1), args, 16, NULL));
    printf("cooperative %d\n", cudaLaunchCooperativeKernel((void *)alpha, d3(3, 1, 1), d3(8, 1, 1), args, 0, (void *)0x6));
    struct launch_attribute attributes[2] = {{4, 0, {2, 1, 1}}, {2, 0, {1}}};
    struct launch_config config = {d3(4, 2, 1), d3(16, 1, 1), 32, (void *)0x7, attributes, 2};
    printf("ex %d\n", cudaLaunchKernelExC(&config, (void *)alpha, args));
    config.count = 0, config.attributes = NULL;
    printf("ex plain %d\n", cudaLaunchKernelExC(&config, (void *)gamma_, (void *[]){&p, "q"}));
#if MAJOR <= 12
    struct launch_params list[2] = {{(void *)alpha, d3(5, 1, 1), d3(8, 1, 1), args, 0, (void *)0x8},
                                    {(void *)alpha, d3(6, 1, 1), d3(8, 1, 1), args, 0, (void *)0x9}};
    printf("multi %d\n", cudaLaunchCooperativeKernelMultiDevice(list, 2, 3));
#endif
    void *handle = NULL;
    printf("by symbol %d\n", cudaGetFuncBySymbol(&handle, (void *)alpha));
    printf("its launch %d\n", cudaLaunchKernel(handle, d3(9, 1, 1), d3(8, 1, 1), args, 0, NULL));
#if MAJOR >= 12
    printf("__cudaLaunchKernel_ptsz %d\n", __cudaLaunchKernel_ptsz((void *)alpha, d3(2, 2, 2), d3(8, 1, 1), args, 0, NULL));
    void *library = NULL, *kernel = NULL;
    unsigned short a = 0xabcd;
    unsigned long b = 0x1122334455667788;
    printf("library %d\n", cudaLibraryLoadData(&library, &late_image, 0, 0, 0, 0, 0, 0));
    printf("kernel %d\n", cudaLibraryGetKernel(&kernel, library, "lib_kernel"));
    printf("no kernel %d\n", cudaLibraryGetKernel(&kernel, library, "no_such"));
    printf("its launch %d\n", cudaLaunchKernel(kernel, d3(11, 1, 1), d3(8, 1, 1), (void *[]){&a, &b}, 0, NULL));
    printf("unload %d\n", cudaLibraryUnload(library));
#endif
    return 3;
}
