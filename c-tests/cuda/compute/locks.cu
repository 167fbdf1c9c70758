// Locks: a global one, one for each bucket of a hash table, ticket locks, a
// flag that blocks pass to each other, and the last of all blocks to arrive.
#include <vector>
#include "arrays.h"

__device__ int lock_word, ticket, serving, done_blocks;
__device__ volatile int baton;

__global__ void one_lock(int *counter, int *history)
{
    // One lane at a time: the other lanes of the warp must not wait for it.
    for (int lane = 0; lane < 32; lane++)
        if ((int)threadIdx.x % 32 == lane) {
            while (atomicCAS(&lock_word, 0, 1))
                ;
            __threadfence();
            int n = *(volatile int *)counter;
            ((volatile int *)history)[n] = (int)(blockIdx.x * blockDim.x + threadIdx.x);
            *(volatile int *)counter = n + 1;
            __threadfence();
            atomicExch(&lock_word, 0);
        }
}

struct Node {
    int key, count, next;
};

__global__ void hash_table(const int *keys, int n, int *locks, int *heads, Node *nodes, int *used, int buckets)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int key = keys[i], b = key * 7919 % buckets;
    for (bool done = false; !done;) {
        if (atomicCAS(&locks[b], 0, 1) == 0) {
            __threadfence();
            int at = ((volatile int *)heads)[b];
            while (at >= 0 && ((volatile Node *)nodes)[at].key != key)
                at = ((volatile Node *)nodes)[at].next;
            if (at < 0) {
                at = atomicAdd(used, 1);
                ((volatile Node *)nodes)[at].key = key;
                ((volatile Node *)nodes)[at].next = ((volatile int *)heads)[b];
                ((volatile Node *)nodes)[at].count = 0;
                __threadfence();
                ((volatile int *)heads)[b] = at;
            }
            ((volatile Node *)nodes)[at].count++;
            __threadfence();
            atomicExch(&locks[b], 0);
            done = true;
        }
    }
}

__global__ void tickets(int *order)
{
    if (threadIdx.x == 0) {
        int mine = atomicAdd(&ticket, 1);
        while (atomicAdd(&serving, 0) != mine)
            ;
        order[mine] = (int)blockIdx.x;
        __threadfence();
        atomicAdd(&serving, 1);
    }
}

// Two blocks take turns.
__global__ void ping_pong(int *seen, int rounds)
{
    for (int r = 0; r < rounds; r++) {
        while (baton != 2 * r + (int)blockIdx.x)
            ;
        seen[2 * r + blockIdx.x] = baton;
        __threadfence();
        baton = baton + 1;
    }
}

// Sums of blocks; the last block adds them up.
__global__ void last_block(const int *v, int n, int *part, int *total)
{
    __shared__ int sum;
    __shared__ bool last;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&sum, v[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        part[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(&done_blocks, 1) == (int)gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int all = 0;
        for (int b = 0; b < (int)gridDim.x; b++)
            all += ((volatile int *)part)[b];
        *total = all;
    }
}

int main()
{
    const int threads = 4 * 64;
    int *d_counter = zeros<int>(1), *d_history = zeros<int>(threads), counter = 0;
    std::vector<int> history(threads), seen(threads, 0);
    NEED(cudaGetLastError());
    one_lock<<<4, 64>>>(d_counter, d_history);
    LAUNCHED("one_lock");
    download(&counter, d_counter, 1);
    download(history.data(), d_history, threads);
    for (int t : history)
        seen[t]++;
    expect(counter == threads && seen == std::vector<int>(threads, 1), "one lock");

    const int n = 3000, buckets = 64, distinct = 200;
    std::vector<int> keys(n), heads(buckets, -1), count(distinct, 0);
    std::vector<Node> nodes(distinct);
    Numbers numbers(13);
    for (int &k : keys) {
        k = (int)numbers.below(distinct);
        count[k]++;
    }
    int *d_keys = upload(keys.data(), n), *d_locks = zeros<int>(buckets), *d_heads = upload(heads.data(), buckets);
    int *d_used = zeros<int>(1), used = 0;
    Node *d_nodes = zeros<Node>(distinct);
    hash_table<<<(n + 127) / 128, 128>>>(d_keys, n, d_locks, d_heads, d_nodes, d_used, buckets);
    LAUNCHED("hash_table");
    download(&used, d_used, 1);
    download(nodes.data(), d_nodes, distinct);
    bool right = used <= distinct;
    for (int i = 0; right && i < used; i++) {
        right = nodes[i].count == count[nodes[i].key];
        count[nodes[i].key] = 0;
    }
    expect(right && count == std::vector<int>(distinct, 0), "hash table");
    printf("%d keys\n", used);

    std::vector<int> order(16), served(16, 0);
    int *d_order = zeros<int>(16);
    tickets<<<16, 32>>>(d_order);
    LAUNCHED("tickets");
    download(order.data(), d_order, 16);
    for (int b : order)
        served[b]++;
    expect(served == std::vector<int>(16, 1), "tickets");

    int *d_seen = zeros<int>(20);
    std::vector<int> turns(20);
    ping_pong<<<2, 1>>>(d_seen, 10);
    LAUNCHED("ping_pong");
    download(turns.data(), d_seen, 20);
    right = true;
    for (int i = 0; i < 20; i++)
        right = right && turns[i] == i;
    expect(right, "turn by turn");

    int *d_part = zeros<int>(24), *d_total = zeros<int>(1), total = 0, sum = 0;
    for (int k : keys)
        sum += k;
    last_block<<<24, 128>>>(d_keys, n, d_part, d_total);
    LAUNCHED("last_block");
    download(&total, d_total, 1);
    expect(total == sum, "the last block");
    return finish();
}
