/* Launches with GPU times from event pairs: on streams of two contexts and from two
   threads, captured ones, failing ones, a context that is destroyed. Prints the
   program's results, which must be the same with and without. `killed FILE` ends without
   exit once FILE exists. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO_STUBS
#define STUB_CUDA
#include "cuda.h"

int cuInit(unsigned);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuLaunchKernel_ptsz(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuStreamCreate(void **, unsigned);
int cuStreamBeginCapture_v2(void *, int);
int cuStreamEndCapture(void *, void **);
int cuCtxCreate_v2(void **, unsigned, int);
int cuCtxDestroy_v2(void *);
int cuCtxSetCurrent(void *);
int cuCtxGetCurrent(void **);
void stub_cuda_fail(const char *, int, int);
void stub_cuda_set_errno(int);

static void *beta;

static int launch(unsigned grid, void *stream) {
    return cuLaunchKernel(beta, grid, 1, 1, 32, 1, 1, 8, stream, NULL, NULL);
}
static void *on_a_thread(void *stream) {
    for (unsigned i = 1; i <= 100; i++)
        if (launch(i, stream)) abort();
    return NULL;
}

int main(int argc, char **argv) {
    void *module, *first, *stream, *other, *second, *graph = NULL;
    if (cuInit(0) || cuModuleLoadData(&module, PTX) || cuModuleGetFunction(&beta, module, KERNEL_BETA)) return 1;
    if (cuCtxGetCurrent(&first) || cuStreamCreate(&stream, 0)) return 2;

    pthread_t thread;
    pthread_create(&thread, NULL, on_a_thread, NULL);
    on_a_thread(stream);
    pthread_join(thread, NULL);

    stub_cuda_set_errno(5);
    errno = 3;
    printf("launch %d", launch(200, stream));
    printf(" errno %d\n", errno);
    stub_cuda_set_errno(-1);
    stub_cuda_fail("cuLaunchKernel", 719, 1);
    printf("failing %d\n", launch(201, stream));
    printf("wrong %d\n", launch(0, stream));

    printf("capture %d", cuStreamBeginCapture_v2(stream, 0));
    for (unsigned i = 0; i < 5; i++) printf(" %d", launch(210 + i, stream));
    printf(" %d", launch(220, NULL)); /* a stream that cannot be queried meanwhile */
    printf(" end %d", cuStreamEndCapture(stream, &graph));
    printf(" %d\n", graph != NULL);
    printf("per thread %d\n", cuLaunchKernel_ptsz(beta, 230, 1, 1, 32, 1, 1, 8, NULL, NULL, NULL));

    /* On a stream of the second device, also while the first device's context is current. */
    printf("second %d", cuCtxCreate_v2(&second, 0, 1));
    printf(" %d", cuStreamCreate(&other, 0));
    printf(" %d", launch(240, NULL));
    printf(" %d", launch(241, other));
    printf(" %d", cuCtxSetCurrent(first));
    printf(" %d\n", launch(242, other));
    usleep(20000);
    printf("destroy %d", cuCtxDestroy_v2(second));
    printf(" %d", cuCtxGetCurrent(&second));
    printf(" %d\n", second == first);
    printf("after %d\n", launch(250, stream));
    fflush(stdout);
    if (argc > 1 && !strcmp(argv[1], "fork")) {
        pid_t child = fork();
        if (!child) exit(launch(251, stream));
        int status;
        waitpid(child, &status, 0);
        printf("child %d\n", status);
    }
    usleep(20000);
    for (int n = 0; argc > 2 && access(argv[2], F_OK) && n < 60000; n++) usleep(1000);
    if (argc > 1 && !strcmp(argv[1], "killed")) kill(getpid(), SIGKILL);
    /* Still running when the process ends. */
    if (argc > 1 && !strcmp(argv[1], "early")) printf("long %d\n", launch(1u << 20, stream));
    return 0;
}
