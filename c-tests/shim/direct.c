/* Launches in every way of the runtime, several times each, with changes
   of streams, devices, errors and captures in between. */
#include <dlfcn.h>

#include "cuda.h"

cudaError_t cudaSetDevice(int);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);

static void *in_thread(void *data) {
    int *device = data;
    printf("device %d: %d", *device, cudaSetDevice(*device));
    for (int i = 0; i < 3; i++) printf(" %d", LAUNCH1(alpha((float *)0x7f0000006000, 60 + i, 6)));
    printf("\n");
    return NULL;
}

/* The runtime opens the driver; the program is not linked with it. */
static void fail(int status, int times) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    void (*tell)(const char *, int, int) = (void (*)(const char *, int, int))dlsym(driver, "stub_cuda_fail");
    tell("cuLaunchKernel", status, times);
}

static void errors(void) {
    printf(", peek %d", cudaPeekAtLastError());
    printf(", get %d", cudaGetLastError());
    printf(", again %d\n", cudaGetLastError());
}

int main(void) {
    struct pair p = {2.5, -7, 9, 10};
    float *at = (float *)0x7f0000002000;
    int n = -1;
    float x = -0.25f;
    void *args[] = {&at, &n, &x};
    for (int i = 0; i < 3; i++) {
        printf("alpha %d\n", LAUNCH(d3(1, 2, 3), d3(4, 5, 6), 1024, (void *)0x50, alpha((float *)0x7f0000001000, i, 1.5f)));
        printf("beta %d\n", LAUNCH(d3(65536, 1, 1), d3(1024, 1, 1), 0, NULL, beta()));
        printf("gamma %d\n", LAUNCH(d3(7, 1, 1), d3(64, 1, 1), 0, (void *)0x2, gamma_(p, 'x')));
        n = i;
        printf("ptsz %d\n", cudaLaunchKernel_ptsz((void *)alpha, d3(2, 1, 1), d3(8, 1, 1), args, 16, NULL));
        struct launch_attribute attribute = {4, 0, {2, 1, 1}};
        struct launch_config config = {d3(4, 2, 1), d3(16, 1, 1), 32, (void *)0x70, &attribute, 1};
        printf("ex %d\n", cudaLaunchKernelExC(&config, (void *)alpha, args));
        attribute.id = 7;
        printf("ex, an event %d\n", cudaLaunchKernelExC(&config, (void *)alpha, args));
        config.count = 0, config.attributes = NULL, config.stream = NULL;
        printf("ex plain %d\n", cudaLaunchKernelExC(&config, (void *)gamma_, (void *[]){&p, "q"}));
        printf("cooperative %d\n", cudaLaunchCooperativeKernel((void *)alpha, d3(3, 1, 1), d3(8, 1, 1), args, 0, (void *)0x60));
    }
    printf("bad shape %d", cudaLaunchKernel((void *)alpha, d3(0, 1, 1), d3(8, 1, 1), args, 0, NULL));
    errors();
    fail(719, -1);
    printf("failing %d", LAUNCH1(alpha(at, 5, 5)));
    errors();
    fail(0, 0);
    printf("unknown %d %d\n", cudaLaunchKernel((void *)0x1230, d3(1, 1, 1), d3(8, 1, 1), args, 0, NULL), 0);
    printf("after an error %d", LAUNCH1(alpha(at, 7, 7)));
    errors();
    printf("huge %d\n", cudaLaunchKernel((void *)alpha, d3(1, 1, 1), d3(8, 1, 1), args, 0x100000000ul, NULL));

    void *graph = NULL;
    printf("capture %d", cudaStreamBeginCapture((void *)0x40, 0));
    /* It is being captured already, and is still after this call. */
    printf(" %d", cudaStreamBeginCapture((void *)0x40, 0));
    for (int i = 0; i < 2; i++) printf(" %d", LAUNCH(d3(i + 1, 1, 1), d3(32, 1, 1), 0, (void *)0x40, alpha(at, 40 + i, 4)));
    printf(" %d\n", cudaStreamEndCapture((void *)0x40, &graph));
    printf("after capture %d\n", LAUNCH1(alpha(at, 8, 8)));

    for (int device = 1; device >= 0; device--) {
        pthread_t thread;
        in_thread(&device);
        pthread_create(&thread, NULL, in_thread, &device);
        pthread_join(thread, NULL);
    }
    printf("reset %d", cudaDeviceReset());
    for (int i = 0; i < 2; i++) printf(" %d", LAUNCH1(alpha(at, 80 + i, 8)));
    printf("\n");
    return 4;
}
