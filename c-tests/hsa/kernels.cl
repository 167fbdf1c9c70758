// Kernels of c-tests/hsa, without any library: registers of the work-item by clang's builtins.
#define ITEM (__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x())

__kernel void add(__global const float *a, __global const float *b, __global float *c, int n) {
    int i = ITEM;
    if (i < n)
        c[i] = a[i] * 2.0f + b[i];
}

// Sums the 256 words of each workgroup through LDS.
__kernel void sum(__global const unsigned *in, __global unsigned *out) {
    __local unsigned part[64];
    unsigned item = __builtin_amdgcn_workitem_id_x(), group = __builtin_amdgcn_workgroup_id_x(), mine = 0;
    for (int i = 0; i < 4; i++)
        mine += in[group * 256 + i * 64 + item];
    part[item] = mine;
    __builtin_amdgcn_s_barrier();
    for (unsigned step = 32; step > 0; step >>= 1) {
        if (item < step)
            part[item] += part[item + step];
        __builtin_amdgcn_s_barrier();
    }
    if (item == 0)
        __atomic_fetch_add((__global unsigned *)out, part[0], __ATOMIC_RELAXED);
}

// Writes to unmapped memory.
__kernel void stray(__global unsigned *p) { p[ITEM] = 1; }

// An invalid instruction.
__kernel void broken(__global unsigned *p) {
    p[ITEM] = 1;
    __asm__ volatile(".long 0xfeedbeef");
}
