// Pointers to device functions: tables of them, one copied to the host and passed to
// a kernel, pointers to members, and a small interpreter built on them.
#include "arrays.h"

typedef int (*Binary)(int, int);

__device__ int add(int a, int b) { return a + b; }
__device__ int subtract(int a, int b) { return a - b; }
__device__ int multiply(int a, int b) { return a * b; }
template <int N> __device__ __noinline__ int add_times(int a, int b) { return a + N * b; }

__device__ Binary table[] = {add, subtract, multiply, add_times<10>};
__device__ Binary exported = add_times<1000>;
__constant__ Binary in_constant = subtract;

__global__ void by_table(const int *which, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = table[which[i]](i, 3);
}

__global__ void given(Binary f, int *out) { out[threadIdx.x] = f((int)threadIdx.x, 2) + in_constant(0, 1); }

struct Machine {
    int value;
    __device__ __noinline__ void twice(int) { value *= 2; }
    __device__ __noinline__ void plus(int by) { value += by; }
    __device__ __noinline__ void square(int) { value = value * value % 10007; }
};

__global__ void machine(int *out, int steps)
{
    typedef void (Machine::*Step)(int);
    const Step program[] = {&Machine::plus, &Machine::twice, &Machine::square};
    Machine m = {(int)threadIdx.x};
    for (int i = 0; i < steps; i++)
        (m.*program[(i + threadIdx.x) % 3])(i);
    out[threadIdx.x] = m.value;
}

// A function with a function as argument.
template <typename F> __device__ int fold(const int *v, int n, int start, F f)
{
    for (int i = 0; i < n; i++)
        start = f(start, v[i]);
    return start;
}
__global__ void folded(const int *v, int n, int *out)
{
    Binary f = threadIdx.x % 2 ? table[0] : table[1];
    out[threadIdx.x] = fold(v, n, (int)threadIdx.x, f);
}

int main()
{
    const int n = 100;
    int which[n], out[n];
    for (int i = 0; i < n; i++)
        which[i] = i * 7 % 4;
    int *d_which = upload(which, n), *d_out = zeros<int>(n);
    NEED(cudaGetLastError());
    by_table<<<2, 64>>>(d_which, d_out, n);
    LAUNCHED("by_table");
    download(out, d_out, n);
    bool right = true;
    for (int i = 0; i < n; i++) {
        int want[] = {i + 3, i - 3, i * 3, i + 30};
        right = right && out[i] == want[which[i]];
    }
    expect(right, "table");
    Binary f = nullptr;
    CK(cudaMemcpyFromSymbol(&f, exported, sizeof f));
    given<<<1, 32>>>(f, d_out);
    LAUNCHED("given");
    download(out, d_out, 32);
    printf("%d %d\n", out[0], out[31]);
    machine<<<1, 32>>>(d_out, 40);
    LAUNCHED("machine");
    download(out, d_out, 32);
    right = true;
    for (int t = 0; t < 32; t++) {
        int v = t;
        for (int i = 0; i < 40; i++)
            v = (i + t) % 3 == 0 ? v + i : (i + t) % 3 == 1 ? v * 2 : v * v % 10007;
        right = right && v == out[t];
    }
    expect(right, "machine");
    folded<<<1, 32>>>(d_which, n, d_out);
    LAUNCHED("folded");
    download(out, d_out, 32);
    printf("%d %d\n", out[4], out[5]);
    return finish();
}
