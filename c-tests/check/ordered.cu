// Valid code that looks like a race: barriers of parts of a block, fences with flags, a counter after a fence, lanes that
// converge, atomics, one value written by many threads, streams ordered by an event or by synchronisation.
#include <cstdio>
#include <cuda/atomic>

__device__ unsigned came;
__device__ volatile int flag;
__device__ int value;

// A producer warp arrives and continues, a consumer warp waits.
__global__ void handed(int *to) {
    __shared__ int room[32];
    if (threadIdx.x < 32) {
        room[threadIdx.x] = threadIdx.x;
        __threadfence_block();
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        to[threadIdx.x - 32] = room[63 - threadIdx.x];
    }
}

__global__ void last(const int *from, int *parts, int *to) {
    __shared__ bool last;
    parts[blockIdx.x * blockDim.x + threadIdx.x] = from[threadIdx.x];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(&came, 1) == gridDim.x - 1;
    __syncthreads();
    if (last) {
        int all = 0;
        for (int n = threadIdx.x; n < gridDim.x * blockDim.x; n += blockDim.x)
            all += parts[n];
        atomicAdd(to, all);
    }
}

__global__ void message(int *to) {
    if (blockIdx.x == 1 && threadIdx.x == 0) {
        value = 7;
        __threadfence();
        flag = 1;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        while (flag == 0)
            ;
        __threadfence();
        *to = value;
    }
}

__global__ void released(int *data, int *word, int *to) {
    cuda::atomic_ref<int, cuda::thread_scope_device> state(*word);
    if (threadIdx.x != 0)
        return;
    if (blockIdx.x == 0) {
        *data = 5;
        state.store(1, cuda::memory_order_release);
    } else {
        while (state.load(cuda::memory_order_acquire) == 0)
            ;
        to[blockIdx.x] = *data;
    }
}

__global__ void meet(int *to) {
    __shared__ int room[32];
    room[threadIdx.x] = threadIdx.x;
    __syncwarp();
    int other = room[threadIdx.x ^ 1];
    __syncwarp();
    room[threadIdx.x] = other;
    to[threadIdx.x] = room[threadIdx.x];
}

__global__ void any(const int *from, int *found) {
    if (from[threadIdx.x] == 0)
        *found = 1;
}

__global__ void bytes(unsigned char *to) { to[threadIdx.x] = threadIdx.x; }

__global__ void add(int *to) { to[threadIdx.x]++; }

int main() {
    int *from, *parts, *to, *word, *found;
    cudaMalloc(&from, 64 * sizeof(int));
    cudaMalloc(&parts, 512 * sizeof(int));
    cudaMalloc(&to, 64 * sizeof(int));
    cudaMalloc(&word, 2 * sizeof(int));
    cudaMalloc(&found, sizeof(int));
    cudaMemset(from, 0, 64 * sizeof(int));
    cudaMemset(to, 0, 64 * sizeof(int));
    cudaMemset(word, 0, 2 * sizeof(int));
    cudaMemset(found, 0, sizeof(int));
    handed<<<1, 64>>>(to);
    last<<<8, 64>>>(from, parts, to);
    message<<<2, 32>>>(to);
    released<<<3, 32>>>(word + 1, word, to);
    meet<<<1, 32>>>(to);
    any<<<4, 64>>>(from, found);
    bytes<<<1, 64>>>((unsigned char *)parts);
    cudaStream_t one, other;
    cudaEvent_t done;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaEventCreate(&done);
    cudaDeviceSynchronize();
    add<<<1, 64, 0, one>>>(to);
    cudaEventRecord(done, one);
    cudaStreamWaitEvent(other, done, 0);
    add<<<1, 64, 0, other>>>(to);
    cudaStreamSynchronize(other);
    add<<<1, 64, 0, one>>>(to);
    while (cudaStreamQuery(one) == cudaErrorNotReady)
        ;
    add<<<1, 64, 0, other>>>(to);
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(other);
    cudaEventDestroy(done);
    cudaFree(from);
    cudaFree(parts);
    cudaFree(to);
    cudaFree(word);
    cudaFree(found);
}
