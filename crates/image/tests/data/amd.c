// Kernels for AMDGPU code objects: every kind of explicit argument, and one
// that makes the compiler add the hidden ones.
static __attribute__((address_space(3))) int tile[16] __attribute__((loader_uninitialized));

struct mixed {
    char c;
    double d;
};

__attribute__((amdgpu_kernel)) void add(float *out, const float *in, int n, char c)
{
    int i = __builtin_amdgcn_workitem_id_x();
    tile[i & 15] = n;
    out[i] = in[i] + tile[(i + 1) & 15] + c;
}

__attribute__((amdgpu_kernel)) void
hidden(int *out, struct mixed m)
{
    const int *implicit = (const int *)__builtin_amdgcn_implicitarg_ptr();
    volatile int local[50];
    local[out[0] & 31] = implicit[0];
    out[1] = local[out[2] & 31] + (int)m.d + m.c;
}
