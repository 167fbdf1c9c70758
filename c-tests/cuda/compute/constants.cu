// Constant memory: tables, structures, addresses in it, initial values, copies to a
// part of it, uniform reads and reads at each lane's own index.
#include "arrays.h"

struct Settings {
    int width, height;
    double factor;
    char name[12];
};

__constant__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__constant__ Settings settings = {640, 480, 0.5, "initial"};
__constant__ float matrix[4][4];
__constant__ const int *entry = primes + 3;
__constant__ unsigned char bytes[60000];
static __constant__ long long hidden = -1234567890123ll;
__device__ const int fixed[] = {10, 20, 30};
__device__ int zeroed[5];

__global__ void read(int *out, double *real, char *name)
{
    int t = threadIdx.x;
    out[t] = primes[t % 8] * 100 + settings.width + *entry;
    out[32 + t] = (int)(hidden % 1000) + fixed[t % 3] + zeroed[t % 5];
    if (t == 0) {
        *real = settings.factor;
        for (int i = 0; i < 12; i++)
            name[i] = settings.name[i];
    }
}

__global__ void transform(const float *v, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, row = i % 4, first = i / 4 * 4;
    float sum = 0;
    for (int k = 0; k < 4; k++)
        sum += matrix[row][k] * v[first + k];
    out[i] = sum;
}

__global__ void scattered(unsigned *sum)
{
    unsigned mine = 0;
    for (int i = 0; i < 40; i++)
        mine += bytes[(threadIdx.x * 997 + i * 1499) % 60000];
    atomicAdd(sum, mine);
}

int main()
{
    int out[64], *d_out = zeros<int>(64);
    double real, *d_real = zeros<double>(1);
    char name[12], *d_name = zeros<char>(12);
    NEED(cudaGetLastError());
    read<<<1, 32>>>(d_out, d_real, d_name);
    LAUNCHED("read");
    download(out, d_out, 64);
    download(&real, d_real, 1);
    download(name, d_name, 12);
    printf("%d %d %d %d %g %s\n", out[0], out[7], out[32], out[34], real, name);
    Settings changed = {100, 200, -2.25, "changed"};
    CK(cudaMemcpyToSymbol(settings, &changed, sizeof changed));
    int thirteen = 1300;
    CK(cudaMemcpyToSymbol(primes, &thirteen, sizeof thirteen, 3 * sizeof(int)));
    read<<<1, 32>>>(d_out, d_real, d_name);
    LAUNCHED("read again");
    download(out, d_out, 64);
    download(&real, d_real, 1);
    download(name, d_name, 12);
    printf("%d %d %d %g %s\n", out[0], out[3], out[4], real, name);
    int again[8];
    CK(cudaMemcpyFromSymbol(again, primes, sizeof again));
    printf("%d %d %d\n", again[2], again[3], again[7]);

    float m[4][4], v[64], result[64];
    for (int i = 0; i < 16; i++)
        m[i / 4][i % 4] = (float)(i * i % 7);
    for (int i = 0; i < 64; i++)
        v[i] = (float)(i % 9);
    CK(cudaMemcpyToSymbol(matrix, m, sizeof m));
    float *d_v = upload(v, 64), *d_result = zeros<float>(64);
    transform<<<2, 32>>>(d_v, d_result);
    LAUNCHED("transform");
    download(result, d_result, 64);
    bool right = true;
    for (int i = 0; i < 64; i++) {
        float sum = 0;
        for (int k = 0; k < 4; k++)
            sum += m[i % 4][k] * v[i / 4 * 4 + k];
        right = right && result[i] == sum;
    }
    expect(right, "transform");

    static unsigned char table[60000];
    unsigned sum = 0, expected = 0, *d_sum = zeros<unsigned>(1);
    for (int i = 0; i < 60000; i++)
        table[i] = (unsigned char)(i * 31 >> 3);
    CK(cudaMemcpyToSymbol(bytes, table, sizeof table));
    scattered<<<2, 64>>>(d_sum);
    LAUNCHED("scattered");
    download(&sum, d_sum, 1);
    for (int t = 0; t < 64; t++)
        for (int i = 0; i < 40; i++)
            expected += 2u * table[(t * 997 + i * 1499) % 60000];
    expect(sum == expected, "a large table");
    return finish();
}
