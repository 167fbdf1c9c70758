// Copies to and from variables: parts of them, in streams, between variables; invalid
// symbols, and ranges beyond a variable.
#include "../common.h"

__constant__ int factors[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ int results[8];
__device__ char text[16] = "device text";
static int no_variable;

__global__ void multiply(int by) { results[threadIdx.x] = factors[threadIdx.x] * by; }

int main()
{
    int h[8] = {}, ten = 10;
    NEED(cudaMemcpyToSymbol(factors, &ten, sizeof ten, 3 * sizeof(int)));
    multiply<<<1, 8>>>(2);
    LAUNCHED("multiply");
    CK(cudaMemcpyFromSymbol(h, results, sizeof h));
    printf("%d %d %d %d\n", h[0], h[2], h[3], h[7]);
    CK(cudaMemcpyFromSymbol(h, factors, 2 * sizeof(int), 6 * sizeof(int)));
    printf("%d %d\n", h[0], h[1]);

    cudaStream_t s = nullptr;
    CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    int values[8] = {9, 8, 7, 6, 5, 4, 3, 2};
    CK(cudaMemcpyToSymbolAsync(factors, values, sizeof values, 0, cudaMemcpyHostToDevice, s));
    multiply<<<1, 8, 0, s>>>(3);
    LAUNCHED("multiply");
    CK(cudaMemcpyFromSymbolAsync(h, results, sizeof h, 0, cudaMemcpyDeviceToHost, s));
    CK(cudaStreamSynchronize(s));
    printf("%d %d\n", h[0], h[7]);

    void *address = nullptr;
    size_t size = 0;
    CK(cudaGetSymbolAddress(&address, results));
    CK(cudaGetSymbolSize(&size, results));
    printf("size %zu\n", size);
    CK(cudaMemcpyToSymbol(factors, address, sizeof h, 0, cudaMemcpyDeviceToDevice));
    multiply<<<1, 8>>>(1);
    CK(cudaMemcpy(h, address, sizeof h, cudaMemcpyDeviceToHost));
    printf("%d %d\n", h[0], h[7]);
    char copy[16] = {};
    CK(cudaMemcpyFromSymbol(copy, text, sizeof copy));
    printf("%s\n", copy);
    CK(cudaMemcpyToSymbol(text, "host", 4, 0, cudaMemcpyDefault));
    CK(cudaMemcpyFromSymbol(copy, text, sizeof copy));
    printf("%s\n", copy);

    h[0] = 42;
    show("beyond the end", cudaMemcpyToSymbol(factors, values, sizeof values, 4));
    show("read beyond the end", cudaMemcpyFromSymbol(h, factors, 4, sizeof values));
    show("no variable", cudaMemcpyToSymbol((const void *)&no_variable, values, 4));
    show("address of no variable", cudaGetSymbolAddress(&address, (const void *)&no_variable));
    show("size of nothing", cudaGetSymbolSize(&size, (const void *)nullptr));
    show("wrong direction", cudaMemcpyToSymbol(factors, values, 4, 0, cudaMemcpyDeviceToHost));
    show("read in the wrong direction", cudaMemcpyFromSymbol(h, factors, 4, 0, cudaMemcpyHostToDevice));
    printf("untouched %d\n", h[0]);
    cudaGetLastError();
    CK(cudaStreamDestroy(s));
    return finish();
}
