// Templated kernels with every kind of argument: small integers, floating point,
// a structure by value with padding, an array inside a structure, a pointer to
// a pointer, a kernel in a namespace and one with a long list of parameters.
#include "common.h"

struct Particle {
    double mass;
    char tag;
    float pos[3];
    short charge;
};

struct alignas(16) Wide {
    float x, y, z, w;
};

namespace physics {
template <typename T, int Steps> __global__ void step(Particle p, T dt, bool gravity, T *out)
{
    T v = T(0);
    for (int i = 0; i < Steps; i++)
        v += T(p.pos[i % 3]) * dt;
    if (gravity)
        v -= T(9) * dt;
    if (threadIdx.x == 0 && blockIdx.x == 0)
        *out = v + T(p.mass) + T(p.charge) + T(p.tag);
}
}

__global__ void mixed(char c, short s, int i, long long l, unsigned char uc, unsigned short us, unsigned u,
                      unsigned long long ul, float f, double d, bool b, Wide w, long long *out)
{
    *out = c + s + i + l + uc + us + u + (long long)ul + (long long)f + (long long)d + b +
           (long long)(w.x + w.y + w.z + w.w);
}

template <typename T> struct Matrix {
    T *data;
    int rows, cols;
    __device__ T &at(int r, int c) { return data[r * cols + c]; }
};

template <typename T> __global__ void transpose(Matrix<T> in, Matrix<T> out)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < in.rows && c < in.cols)
        out.at(c, r) = in.at(r, c);
}

int main()
{
    Particle p;
    memset(&p, 0, sizeof p);
    p.mass = 2.5;
    p.tag = 'A';
    p.pos[0] = 1;
    p.pos[1] = 2;
    p.pos[2] = 3;
    p.charge = -4;

    float *df = nullptr, hf = 0;
    CK(cudaMalloc(&df, sizeof hf));
    physics::step<float, 4><<<dim3(2, 3, 1), dim3(32, 2, 1)>>>(p, 0.5f, true, df);
    LAUNCHED("step<float, 4>");
    CK(cudaMemcpy(&hf, df, sizeof hf, cudaMemcpyDeviceToHost));
    printf("step<float, 4> = %g\n", hf);

    double *dd = nullptr, hd = 0;
    CK(cudaMalloc(&dd, sizeof hd));
    physics::step<double, 8><<<1, 64>>>(p, 0.25, false, dd);
    LAUNCHED("step<double, 8>");
    CK(cudaMemcpy(&hd, dd, sizeof hd, cudaMemcpyDeviceToHost));
    printf("step<double, 8> = %g\n", hd);

    long long *dl = nullptr, hl = 0;
    CK(cudaMalloc(&dl, sizeof hl));
    Wide w = {1, 2, 3, 4};
    mixed<<<1, 1>>>(-1, -200, -70000, -5000000000LL, 200, 60000, 4000000000u, 10000000000ULL, 1.5f, -2.25, true, w, dl);
    LAUNCHED("mixed");
    CK(cudaMemcpy(&hl, dl, sizeof hl, cudaMemcpyDeviceToHost));
    printf("mixed = %lld\n", hl);

    int in[6] = {1, 2, 3, 4, 5, 6}, out[6] = {};
    int *di = nullptr, *dout = nullptr;
    CK(cudaMalloc(&di, sizeof in));
    CK(cudaMalloc(&dout, sizeof out));
    CK(cudaMemcpy(di, in, sizeof in, cudaMemcpyHostToDevice));
    transpose<<<dim3(1, 1), dim3(8, 8)>>>(Matrix<int>{di, 2, 3}, Matrix<int>{dout, 3, 2});
    LAUNCHED("transpose<int>");
    CK(cudaMemcpy(out, dout, sizeof out, cudaMemcpyDeviceToHost));
    printf("transpose = %d %d %d %d %d %d\n", out[0], out[1], out[2], out[3], out[4], out[5]);
    return finish();
}
