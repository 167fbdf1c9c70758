/* A buffer that kernels change: prints it after each of N launches. For a CUDA with memory (STUB_MEMORY). */
#include "cuda.h"

int main(int argc, char **argv) {
    unsigned char bytes[64], other[16] = {9};
    for (unsigned i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)i;
    void *p = NULL, *q = NULL;
    printf("malloc %d %d\n", cudaMalloc(&p, sizeof bytes), cudaMalloc(&q, sizeof other));
    printf("up %d %d\n", cudaMemcpy(p, bytes, sizeof bytes, 1), cudaMemcpy(q, other, sizeof other, 1));
    for (int n = argc > 1 ? atoi(argv[1]) : 1, i = 0; i < n; i++) {
        printf("launch %d\n", LAUNCH(d3(2, 1, 1), d3(32, 1, 1), 0, NULL, alpha((float *)p + 2, i, 1.5f)));
        printf("down %d:", cudaMemcpy(bytes, p, sizeof bytes, 2));
        for (unsigned k = 0; k < 4; k++) printf(" %u", bytes[k]);
        printf(" %u\n", bytes[63]);
    }
    cudaMemcpy(other, q, sizeof other, 2);
    printf("other %u, free %d %d\n", other[0], cudaFree(p), cudaFree(q));
    return 0;
}
