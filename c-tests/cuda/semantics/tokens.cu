// Order between streams, events, host functions, copies and graphs: each piece of work checks, by tokens in memory, that
// all work that must precede it has finished, waits a little, and writes its own token. A fixed pseudo-random sequence, in
// rounds; with the legacy stream and with non-blocking streams.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

static const int STREAMS = 12, BLOCKING = 6, WORK = 600, ROUNDS = 4, MOST = 10, NODES = 4;

struct Piece {
    volatile int *cells;
    int *wrong;
    int number, count, spins;
    int before[MOST];
};

__host__ __device__ static int token(int number) { return number * 7 + 3; }

__host__ __device__ static int missing(const Piece &piece)
{
    int found = 0;
    for (int i = 0; i < piece.count; i++)
        found += piece.cells[piece.before[i]] != token(piece.before[i]);
    return found;
}

__global__ void work(Piece piece)
{
    const int found = missing(piece);
    for (int i = 0; i < piece.spins; i++)
        __threadfence_system();
    if (found)
        atomicAdd_system(piece.wrong, found);
    piece.cells[piece.number] = token(piece.number);
    __threadfence_system();
}

static std::atomic<int> host_wrong{0};

static void CUDART_CB on_host(void *data)
{
    Piece *piece = static_cast<Piece *>(data);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    host_wrong += missing(*piece);
    for (volatile int i = 0; i < piece->spins * 20; i++)
        ;
    piece->cells[piece->number] = token(piece->number);
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        printf("%s: %s\n", what, cudaGetErrorName(error));
        exit(3);
    }
}

#define CALL(call) check(call, #call)

static unsigned state = 12345;
static unsigned draw(unsigned below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static int *cells, *wrong, *tokens;
static cudaStream_t streams[STREAMS + 1];
static cudaEvent_t events[WORK];
// The last piece in each stream; the legacy stream is the last of them.
static int last[STREAMS + 1];
static int counts[5];

static Piece piece(int number, const std::vector<int> &before)
{
    Piece made = {cells, wrong, number, 0, (int)draw(200), {}};
    for (int one : before)
        if (one >= 0 && made.count < MOST)
            made.before[made.count++] = one;
    return made;
}

// The pieces that precede one in `stream`: that stream's last, and others by the legacy stream's rules.
static std::vector<int> before(int stream)
{
    std::vector<int> found = {last[stream]};
    if (stream == STREAMS)
        found.insert(found.end(), last, last + BLOCKING);
    else if (stream < BLOCKING)
        found.push_back(last[STREAMS]);
    return found;
}

// NODES kernels that all follow the first and precede the last; their cells start at `number`.
static void graph(int number, std::vector<int> after, cudaStream_t stream)
{
    cudaGraph_t made;
    cudaGraphExec_t runs;
    cudaGraphNode_t nodes[NODES];
    CALL(cudaGraphCreate(&made, 0));
    for (int i = 0; i < NODES; i++) {
        std::vector<int> inside = i == 0 ? after : i < NODES - 1 ? std::vector<int>{number} : std::vector<int>{number + 1, number + 2};
        Piece one = piece(number + i, inside);
        void *arguments[] = {&one};
        cudaKernelNodeParams params = {};
        params.func = (void *)work;
        params.gridDim = params.blockDim = dim3(1);
        params.kernelParams = arguments;
        const size_t edges = i == 0 ? 0 : i < NODES - 1 ? 1 : 2;
        CALL(cudaGraphAddKernelNode(&nodes[i], made, i < NODES - 1 ? nodes : nodes + 1, edges, &params));
    }
    CALL(cudaGraphInstantiate(&runs, made, nullptr, nullptr, 0));
    CALL(cudaGraphLaunch(runs, stream));
    CALL(cudaGraphExecDestroy(runs));
    CALL(cudaGraphDestroy(made));
}

static void round_of_work(std::vector<Piece> &kept)
{
    for (int &one : last)
        one = -1;
    for (int number = 0; number + NODES <= WORK; number++) {
        const int kind = draw(20), on = draw(20) == 0 ? STREAMS : (int)draw(STREAMS);
        std::vector<int> after = before(on);
        // Sometimes after others, by their events.
        for (unsigned i = draw(3); i > 0 && number; i--) {
            const int other = draw(STREAMS + 1);
            if (last[other] >= 0) {
                CALL(cudaEventRecord(events[last[other]], streams[other]));
                CALL(cudaStreamWaitEvent(streams[on], events[last[other]], 0));
                // The legacy stream's event also follows the work that this stream waits for.
                after.push_back(last[other]);
            }
        }
        if (kind < 12) {
            work<<<1, 1, 0, streams[on]>>>(piece(number, after));
            counts[0]++;
        } else if (kind < 15) {
            kept.push_back(piece(number, after));
            CALL(cudaLaunchHostFunc(streams[on], on_host, &kept.back()));
            counts[1]++;
        } else if (kind < 18) {
            // A copy brings this token; the next work checks the tokens of what precedes the copy.
            CALL(cudaMemcpyAsync(cells + number, tokens + number, sizeof *cells, cudaMemcpyDefault, streams[on]));
            counts[2]++;
        } else {
            graph(number, after, streams[on]);
            number += NODES - 1;
            counts[3]++;
        }
        last[on] = number;
    }
    CALL(cudaDeviceSynchronize());
}

int main()
{
    CALL(cudaSetDeviceFlags(cudaDeviceMapHost));
    CALL(cudaHostAlloc(&cells, WORK * sizeof *cells, cudaHostAllocMapped));
    CALL(cudaHostAlloc(&tokens, WORK * sizeof *tokens, cudaHostAllocMapped));
    CALL(cudaHostAlloc(&wrong, sizeof *wrong, cudaHostAllocMapped));
    *wrong = 0;
    for (int i = 0; i < STREAMS; i++)
        CALL(cudaStreamCreateWithFlags(&streams[i], i < BLOCKING ? cudaStreamDefault : cudaStreamNonBlocking));
    streams[STREAMS] = cudaStreamLegacy;
    for (int i = 0; i < WORK; i++) {
        tokens[i] = token(i);
        CALL(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
    }
    // Load the code before host functions and kernels wait for each other.
    work<<<1, 1>>>(piece(0, {}));
    CALL(cudaDeviceSynchronize());
    int left = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < WORK; i++)
            cells[i] = -1;
        std::vector<Piece> kept;
        kept.reserve(WORK);
        round_of_work(kept);
        for (int i = 0; i <= STREAMS; i++)
            left += last[i] >= 0 && cells[last[i]] != token(last[i]);
    }
    printf("kernels %d, host functions %d, copies %d, graphs %d\n", counts[0], counts[1], counts[2], counts[3]);
    printf("too early on the device %d, on the host %d; not done at the end %d\n", *wrong, host_wrong.load(), left);
    for (cudaEvent_t event : events)
        CALL(cudaEventDestroy(event));
    return 0;
}
