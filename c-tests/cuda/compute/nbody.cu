// Bodies that attract each other: all pairs through shared memory, a few steps;
// momentum is conserved, and the host computes the same positions.
#include <cmath>
#include "../common.h"

const int N = 256, BLOCK = 64, STEPS = 3;

struct Host {
    float x, y, z;
};

__global__ void accelerate(const float4 *p, float4 *v, float dt)
{
    __shared__ float4 tile[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float4 own = p[i];
    float3 a = make_float3(0, 0, 0);
    for (int t = 0; t < N; t += BLOCK) {
        tile[threadIdx.x] = p[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < BLOCK; j++) {
            float dx = tile[j].x - own.x, dy = tile[j].y - own.y, dz = tile[j].z - own.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float f = tile[j].w * r * r * r;
            a.x += f * dx;
            a.y += f * dy;
            a.z += f * dz;
        }
        __syncthreads();
    }
    v[i].x += a.x * dt;
    v[i].y += a.y * dt;
    v[i].z += a.z * dt;
}

__global__ void move(float4 *p, const float4 *v, float dt)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    p[i].x += v[i].x * dt;
    p[i].y += v[i].y * dt;
    p[i].z += v[i].z * dt;
}

int main()
{
    static float4 p[N], v[N], result[N];
    unsigned seed = 7;
    auto random = [&] {
        seed = seed * 1103515245u + 12345u;
        return (seed >> 16 & 0x7fff) / 16384.0f - 1;
    };
    for (int i = 0; i < N; i++)
        p[i] = make_float4(random(), random(), random(), 1.0f / N);
    float4 *dp = nullptr, *dv = nullptr;
    NEED(cudaMalloc(&dp, sizeof p));
    NEED(cudaMalloc(&dv, sizeof v));
    CK(cudaMemcpy(dp, p, sizeof p, cudaMemcpyHostToDevice));
    CK(cudaMemset(dv, 0, sizeof v));
    for (int s = 0; s < STEPS; s++) {
        accelerate<<<N / BLOCK, BLOCK>>>(dp, dv, 0.01f);
        move<<<N / BLOCK, BLOCK>>>(dp, dv, 0.01f);
    }
    LAUNCHED("steps");
    CK(cudaMemcpy(result, dp, sizeof p, cudaMemcpyDeviceToHost));
    float4 velocity[N];
    CK(cudaMemcpy(velocity, dv, sizeof velocity, cudaMemcpyDeviceToHost));
    for (int s = 0; s < STEPS; s++) {
        for (int i = 0; i < N; i++) {
            float ax = 0, ay = 0, az = 0;
            for (int j = 0; j < N; j++) {
                float dx = p[j].x - p[i].x, dy = p[j].y - p[i].y, dz = p[j].z - p[i].z;
                float r = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f), f = p[j].w * r * r * r;
                ax += f * dx;
                ay += f * dy;
                az += f * dz;
            }
            v[i].x += ax * 0.01f;
            v[i].y += ay * 0.01f;
            v[i].z += az * 0.01f;
        }
        for (int i = 0; i < N; i++) {
            p[i].x += v[i].x * 0.01f;
            p[i].y += v[i].y * 0.01f;
            p[i].z += v[i].z * 0.01f;
        }
    }
    float worst = 0, mx = 0, my = 0, mz = 0;
    for (int i = 0; i < N; i++) {
        worst = fmaxf(worst, fabsf(p[i].x - result[i].x) + fabsf(p[i].y - result[i].y) + fabsf(p[i].z - result[i].z));
        mx += velocity[i].x;
        my += velocity[i].y;
        mz += velocity[i].z;
    }
    expect(worst < 1e-4f, "places");
    expect(fabsf(mx) + fabsf(my) + fabsf(mz) < 1e-3f, "momentum");
    return finish();
}
