// A HIP kernel, with the few declarations that clang wants of HIP's headers.
typedef unsigned long size_t;
struct dim3 {
    unsigned x, y, z;
};
typedef struct ihipStream_t *hipStream_t;
typedef int hipError_t;
extern "C" hipError_t __hipPushCallConfiguration(dim3, dim3, size_t, hipStream_t);
extern "C" hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t);

extern "C" __attribute__((global)) void store(int *out, double value) { *out = value; }
