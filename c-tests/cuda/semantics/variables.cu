// Variables with initialisers of many kinds: structures, arrays, addresses of other
// variables, namespaces, templates; the host's accesses to them.
#include "../common.h"

struct Pair {
    short a;
    double b;
    char c[3];
};

__device__ int plain = 42;
__device__ Pair pair = {7, 2.5, {'x', 'y', 'z'}};
__device__ float matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ int *pointer = &plain;
__device__ const char *words[3] = {"one", "two", "three"};
__constant__ double constants[2] = {0.5, 0.25};
__constant__ Pair constant_pair = {-1, -2.5, {'a', 'b', 'c'}};
__managed__ long long managed = 1ll << 40;
__device__ unsigned long long zeroed[4];
namespace deep {
namespace inside {
__device__ int number = 9;
}
static __device__ int hidden = 11;
}
template <typename T> __device__ T held = T(3.75);

__global__ void read(double *out)
{
    out[0] = plain;
    out[1] = pair.a + pair.b + pair.c[2];
    out[2] = matrix[1][2];
    out[3] = *pointer;
    out[4] = words[2][4];
    out[5] = constants[0] + constants[1];
    out[6] = constant_pair.b + constant_pair.c[0];
    out[7] = (double)managed;
    out[8] = zeroed[3];
    out[9] = deep::inside::number + deep::hidden;
    out[10] = held<float>;
    out[11] = held<int>;
}

int main()
{
    double *d = nullptr, h[12] = {};
    NEED(cudaMalloc(&d, sizeof h));
    auto print = [&](const char *when) {
        read<<<1, 1>>>(d);
        LAUNCHED("read");
        CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
        printf("%s:", when);
        for (double v : h)
            printf(" %g", v);
        printf("\n");
    };
    print("at first");
    int five = 5;
    Pair other = {1, 1, {1, 1, 1}};
    double constant = 8;
    unsigned long long counts[4] = {1, 2, 3, 4};
    CK(cudaMemcpyToSymbol(plain, &five, sizeof five));
    CK(cudaMemcpyToSymbol(pair, &other, sizeof other));
    CK(cudaMemcpyToSymbol(constants, &constant, sizeof constant, sizeof constant));
    CK(cudaMemcpyToSymbol(zeroed, counts, sizeof counts));
    CK(cudaMemcpyToSymbol(deep::inside::number, &five, sizeof five));
    float real = 1.5f;
    CK(cudaMemcpyToSymbol(held<float>, &real, sizeof real));
    managed = 3;
    print("changed");

    size_t size[5] = {};
    CK(cudaGetSymbolSize(&size[0], pair));
    CK(cudaGetSymbolSize(&size[1], matrix));
    CK(cudaGetSymbolSize(&size[2], constant_pair));
    CK(cudaGetSymbolSize(&size[3], managed));
    CK(cudaGetSymbolSize(&size[4], held<int>));
    printf("sizes %zu %zu %zu %zu %zu\n", size[0], size[1], size[2], size[3], size[4]);
    // A pointer in a variable; the host sets it to another variable's address.
    void *address = nullptr;
    int *to = nullptr;
    CK(cudaGetSymbolAddress(&address, deep::hidden));
    CK(cudaMemcpyToSymbol(pointer, &address, sizeof address));
    CK(cudaMemcpyFromSymbol(&to, pointer, sizeof to));
    expect(to == address, "pointer read back");
    CK(cudaGetSymbolAddress(&address, managed));
    expect(address == &managed, "a managed variable has one address");
    print("pointed elsewhere");
    return finish();
}
