/* Stream capture: a forbidden call by cushim would invalidate it. Graph
   nodes, their parameters and updates. */
#include "cuda.h"

#if MAJOR == 11
cudaError_t cudaGraphInstantiate(void **, void *, void **, char *, size_t);
#define INSTANTIATE(e, g) cudaGraphInstantiate(e, g, NULL, NULL, 0)
#else
cudaError_t cudaGraphInstantiate(void **, void *, unsigned long long);
#define INSTANTIATE(e, g) cudaGraphInstantiate(e, g, 0)
#endif
struct generic { int type, reserved[3]; struct node_params kernel; };
#if MAJOR == 12
cudaError_t cudaGraphAddNode(void **, void *, void **, size_t, struct generic *);
#elif MAJOR == 13
cudaError_t cudaGraphAddNode(void **, void *, void **, void *, size_t, struct generic *);
#endif

int main(void) {
    void *stream = (void *)0x40, *graph = NULL, *exec = NULL, *node = NULL;
    float *p = (float *)0x7f0000003000;
    int n = 5;
    float x = 8;
    void *args[] = {&p, &n, &x};
    printf("begin %d\n", cudaStreamBeginCapture(stream, 0));
    for (int i = 0; i < 10; i++) LAUNCH(d3(i + 1, 1, 1), d3(32, 1, 1), 0, stream, alpha(p, i, x));
    printf("end %d", cudaStreamEndCapture(stream, &graph));
    printf(" %d\n", graph != NULL);
    printf("instantiate %d\n", INSTANTIATE(&exec, graph));
    printf("launch %d %d\n", cudaGraphLaunch(exec, stream), cudaGraphLaunch(exec, stream));

    printf("create %d\n", cudaGraphCreate(&graph, 0));
    struct node_params params = {(void *)alpha, d3(2, 3, 4), d3(64, 1, 1), 128, args, NULL};
    printf("add %d\n", cudaGraphAddKernelNode(&node, graph, NULL, 0, &params));
    n = 6, params.grid.x = 20;
    printf("set %d\n", cudaGraphKernelNodeSetParams(node, &params));
    unsigned char block[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    size_t size = sizeof block;
    void *extra[] = {(void *)1, block, (void *)2, &size, NULL};
    params.args = NULL, params.extra = extra;
    printf("exec set %d\n", cudaGraphExecKernelNodeSetParams(exec, node, &params));
    params.args = args, params.extra = NULL, params.func = (void *)0x77;
    printf("unknown %d\n", cudaGraphAddKernelNode(&node, graph, NULL, 0, &params));
#if MAJOR >= 12
    struct generic generic = {0, {0}, {(void *)alpha, d3(1, 1, 9), d3(8, 8, 1), 4, args, NULL}};
#if MAJOR == 12
    printf("add node %d\n", cudaGraphAddNode(&node, graph, NULL, 0, &generic));
#else
    printf("add node %d\n", cudaGraphAddNode(&node, graph, NULL, NULL, 0, &generic));
#endif
#endif
    stub_fail("cudaGraphLaunch", 719, 1);
    printf("failing launch %d\n", cudaGraphLaunch(exec, stream));
    printf("destroy %d %d\n", cudaGraphExecDestroy(exec), cudaGraphDestroy(graph));
    return 0;
}
