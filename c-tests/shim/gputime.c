/* Work for a GPU with GPU times: launches on two streams and from two
   threads, copies, a graph. With `late` the first CUDA call is a
   launch; `killed` ends without exit, `killed FILE` once
   that file exists. */
#include <signal.h>
#include <unistd.h>

#define NO_STUBS
#include "cuda.h"

int cuInit(unsigned);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
struct driver_node { void *func; unsigned g[3], b[3], shared; void **params, **extra; void *kern, *ctx; };
int cuGraphCreate(void **, unsigned);
int cuGraphAddKernelNode_v2(void **, void *, void **, size_t, const struct driver_node *);
int cuGraphInstantiateWithFlags(void **, void *, unsigned long long);
int cuGraphLaunch(void *, void *);
int cuMemcpyHtoD_v2(unsigned long long, const void *, size_t);

static void *alpha, *beta;

static void *launch(void *first) {
    float *p = NULL;
    int n = 3;
    float x = 4;
    void *args[] = {&p, &n, &x};
    for (unsigned i = 1; i <= 40; i++) {
        void *stream = (void *)(size_t)(i % 2 ? 7 : 13);
        if (cuLaunchKernel(alpha, i + (unsigned)(size_t)first, 1, 1, 32, 1, 1, 8, stream, args, NULL)) abort();
        if (i % 10 == 0 && cuMemcpyHtoD_v2(0x7f0000002000, &n, 4096)) abort();
    }
    return NULL;
}

int main(int argc, char **argv) {
    void *module, *graph, *node, *exec;
    const char *how = argc > 1 ? argv[1] : "";
    if (cuInit(0)) return 1;
    if (cuModuleLoadData(&module, PTX) || cuModuleGetFunction(&alpha, module, KERNEL_ALPHA) ||
        cuModuleGetFunction(&beta, module, KERNEL_BETA))
        return 2;
    pthread_t thread;
    pthread_create(&thread, NULL, launch, (void *)100);
    launch((void *)0);
    pthread_join(thread, NULL);
    struct driver_node params = {beta, {5, 1, 1}, {64, 1, 1}, 0, NULL, NULL, NULL, NULL};
    if (cuGraphCreate(&graph, 0) || cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params) ||
        cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params) || cuGraphInstantiateWithFlags(&exec, graph, 0))
        return 3;
    for (int i = 0; i < 3; i++)
        if (cuGraphLaunch(exec, NULL)) return 4;
    printf("done\n");
    fflush(stdout);
    for (int n = 0; argc > 2 && access(argv[2], F_OK) && n < 60000; n++) usleep(1000);
    if (!strcmp(how, "killed")) kill(getpid(), SIGKILL);
    return 0;
}
