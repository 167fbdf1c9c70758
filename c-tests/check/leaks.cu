// Two allocations of one line and one of another line are never freed; one allocation is.
#include <cstdio>

static void *make(size_t bytes) {
    void *at;
    cudaMalloc(&at, bytes);
    return at;
}

int main() {
    void *host;
    for (int n = 1; n <= 3; n++)
        if (void *at = make(n * 100); n == 2)
            cudaFree(at);
    cudaMallocHost(&host, 64);
}
