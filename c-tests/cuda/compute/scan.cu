// Prefix sums of an array longer than a block: up and down sweeps in shared memory;
// the block sums are scanned in turn and added.
#include "../common.h"

const int BLOCK = 128, EACH = 2 * BLOCK;

__global__ void scan_blocks(const int *in, int *out, int *sums, int n)
{
    __shared__ int tile[EACH];
    int t = threadIdx.x, base = blockIdx.x * EACH;
    tile[2 * t] = base + 2 * t < n ? in[base + 2 * t] : 0;
    tile[2 * t + 1] = base + 2 * t + 1 < n ? in[base + 2 * t + 1] : 0;
    int offset = 1;
    for (int d = BLOCK; d > 0; d /= 2) {
        __syncthreads();
        if (t < d)
            tile[offset * (2 * t + 2) - 1] += tile[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) {
        sums[blockIdx.x] = tile[EACH - 1];
        tile[EACH - 1] = 0;
    }
    for (int d = 1; d < EACH; d *= 2) {
        offset /= 2;
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1, old = tile[a];
            tile[a] = tile[b];
            tile[b] += old;
        }
    }
    __syncthreads();
    for (int k = t; k < EACH; k += BLOCK)
        if (base + k < n)
            out[base + k] = tile[k];
}

__global__ void add_sums(int *out, const int *sums, int n)
{
    int i = blockIdx.x * EACH + threadIdx.x;
    for (int k = 0; k < 2; k++, i += BLOCK)
        if (i < n)
            out[i] += sums[blockIdx.x];
}

int main()
{
    const int n = 30001, blocks = (n + EACH - 1) / EACH;
    static int h[n], result[n];
    for (int i = 0; i < n; i++)
        h[i] = i % 7 - 2;
    int *in = nullptr, *out = nullptr, *sums = nullptr, *offsets = nullptr, *total = nullptr;
    NEED(cudaMalloc(&in, sizeof h));
    NEED(cudaMalloc(&out, sizeof h));
    NEED(cudaMalloc(&sums, blocks * sizeof(int)));
    NEED(cudaMalloc(&offsets, blocks * sizeof(int)));
    NEED(cudaMalloc(&total, sizeof(int)));
    CK(cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice));
    scan_blocks<<<blocks, BLOCK>>>(in, out, sums, n);
    scan_blocks<<<1, BLOCK>>>(sums, offsets, total, blocks);
    add_sums<<<blocks, BLOCK>>>(out, offsets, n);
    LAUNCHED("scan");
    CK(cudaMemcpy(result, out, sizeof h, cudaMemcpyDeviceToHost));
    int sum = 0;
    bool right = true;
    for (int i = 0; i < n; i++) {
        right = right && result[i] == sum;
        sum += h[i];
    }
    expect(right, "every prefix");
    int all = 0;
    CK(cudaMemcpy(&all, total, sizeof all, cudaMemcpyDeviceToHost));
    expect(all == sum, "total");
    return finish();
}
