// malloc and free in kernels: memory that outlives a launch, lists and growing
// arrays, new and delete with constructors, memory shared by a block, too large sizes.
#include <vector>
#include "arrays.h"

struct Node {
    int value;
    Node *next;
};

__global__ void lists(Node **heads, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Node *head = nullptr;
    for (int i = 0; i < n + t % 4; i++) {
        Node *node = (Node *)malloc(sizeof(Node));
        if (!node)
            return;
        node->value = t + i;
        node->next = head;
        head = node;
    }
    heads[t] = head;
}

__global__ void sums(Node **heads, int *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    for (Node *n = heads[t]; n;) {
        Node *next = n->next;
        sum += n->value;
        free(n);
        n = next;
    }
    out[t] = sum;
}

class Growing {
    int *data = nullptr;
    int size = 0, room = 0;

public:
    __device__ void push(int v)
    {
        if (size == room) {
            room = room ? room * 2 : 4;
            int *more = new int[room];
            for (int i = 0; i < size; i++)
                more[i] = data[i];
            delete[] data;
            data = more;
        }
        data[size++] = v;
    }
    __device__ int operator[](int i) const { return data[i]; }
    __device__ int count() const { return size; }
    __device__ ~Growing() { delete[] data; }
};

__global__ void primes(int most, int *out)
{
    Growing found;
    for (int i = 2; found.count() < most; i++) {
        bool prime = true;
        for (int k = 0; k < found.count() && found[k] * found[k] <= i && prime; k++)
            prime = i % found[k] != 0;
        if (prime)
            found.push(i);
    }
    out[threadIdx.x] = found[found.count() - 1 - (int)threadIdx.x];
}

// One allocation for the whole block.
__global__ void of_block(int *out)
{
    __shared__ int *room;
    if (threadIdx.x == 0)
        room = (int *)malloc(blockDim.x * sizeof(int));
    __syncthreads();
    room[threadIdx.x] = (int)(threadIdx.x * (blockIdx.x + 1));
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0)
        free(room);
}

__global__ void too_much(int *out)
{
    void *p = malloc((size_t)1 << 40);
    free(nullptr);
    out[0] = p == nullptr;
    char *q = (char *)malloc(1000);
    out[1] = q != nullptr && ((size_t)q & 15) == 0;
    free(q);
}

int main()
{
    const int threads = 64;
    Node **heads = zeros<Node *>(threads);
    int out[256], *d_out = zeros<int>(256);
    NEED(cudaGetLastError());
    lists<<<2, 32>>>(heads, 5);
    LAUNCHED("lists");
    sums<<<2, 32>>>(heads, d_out);
    LAUNCHED("sums");
    download(out, d_out, threads);
    bool right = true;
    for (int t = 0; t < threads; t++) {
        int n = 5 + t % 4;
        right = right && out[t] == n * t + n * (n - 1) / 2;
    }
    expect(right, "lists");
    primes<<<1, 4>>>(100, d_out);
    LAUNCHED("primes");
    download(out, d_out, 4);
    printf("%d %d %d %d\n", out[0], out[1], out[2], out[3]);
    of_block<<<4, 64>>>(d_out);
    LAUNCHED("of_block");
    download(out, d_out, 256);
    right = true;
    for (int i = 0; i < 256; i++)
        right = right && out[i] == (63 - i % 64) * (i / 64 + 1);
    expect(right, "of a block");
    too_much<<<1, 1>>>(d_out);
    LAUNCHED("too_much");
    download(out, d_out, 2);
    printf("nothing %d, something %d\n", out[0], out[1]);
    return finish();
}
