// The image that bound_contexts.cu and bound_nodes.cu load and bound_plugin.cu contains; with -DNEW, its replacement.
__constant__ int factor = 1;
#ifdef NEW
extern "C" __global__ void times(int *out, int n) { *out = n * factor + 1000; }
#else
extern "C" __global__ void times(int *out, int n) { *out = n * factor; }
#endif
