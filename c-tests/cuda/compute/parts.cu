// A program of two files linked for the device: functions, variables and constants
// of the other file, a pointer to its function, kernels of both.
#include "parts.h"

__device__ int steps_taken = 5;
static __device__ int own = 1;

__global__ void simulate(Particle *p, int n, int steps, int which)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Force force = which ? spring : constant_force;
    for (int s = 0; s < steps; s++)
        advance(p[i], force);
    p[i].x = clamped(p[i].x, -1000.0f, 1000.0f);
    atomicAdd(&own, 1);
}

__global__ void read_own(int *out) { out[1] = own; }

int main()
{
    const int n = 50;
    Particle p[n], q[n];
    for (int i = 0; i < n; i++)
        p[i] = {(float)i, (float)(i % 3)};
    Particle *d_p = upload(p, n);
    int counts[2], *d_counts = zeros<int>(2);
    NEED(cudaGetLastError());
    NEED((cudaError_t)configure(0.5f));
    simulate<<<1, 64>>>(d_p, n, 4, 0);
    LAUNCHED("simulate");
    download(q, d_p, n);
    bool right = true;
    for (int i = 0; i < n; i++) {
        float x = p[i].x, v = p[i].v;
        for (int s = 0; s < 4; s++) {
            v += 2 * 0.5f;
            x += v * 0.5f;
        }
        right = right && q[i].x == x && q[i].v == v;
    }
    expect(right, "constant force");
    simulate<<<1, 64>>>(d_p, n, 2, 1);
    LAUNCHED("simulate");
    download(p, d_p, n);
    for (int i = 0; i < n; i++) {
        float x = q[i].x, v = q[i].v;
        for (int s = 0; s < 2; s++) {
            v += -x * 0.5f;
            x += v * 0.5f;
        }
        right = right && p[i].x == x && p[i].v == v;
    }
    expect(right, "spring");
    launch_count(d_counts);
    read_own<<<1, 1>>>(d_counts);
    LAUNCHED("counts");
    download(counts, d_counts, 2);
    printf("%d steps, %d %g\n", counts[0], counts[1], p[49].x);
    return finish();
}
