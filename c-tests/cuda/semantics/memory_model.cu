// Outcomes that PTX's memory model forbids, between blocks, between warps of a block, and between a kernel and a host
// thread (PTX ISA, "Memory Consistency Model"): litmus tests of two to four threads with one or two accesses each,
// run often and concurrently. Allowed outcomes are not counted: they differ from device to device.
//
// Each round of a litmus test has locations of its own, and 32 lanes run it at the same time on their own locations.
// CUSHIM_LITMUS_ROUNDS asks for more rounds, a multiple of 32.
#include <thread>
#include <vector>
#include "../common.h"

enum Test { MP, SB, LB, R, S, TWO, WRC, IRIW, CORR, COWW, COWR, CORW, TESTS };
static const char *const names[] = {"MP", "SB", "LB", "R", "S", "2+2W", "WRC", "IRIW", "CoRR", "CoWW", "CoWR", "CoRW"};
static const int roles_of[] = {2, 2, 2, 2, 2, 2, 3, 4, 2, 2, 2, 2};

// How accesses are ordered: by what is between a thread's two accesses, or by the accesses themselves.
enum Way {
    SC_GPU, SC_SYS, ACQ_REL_GPU, ACQ_REL_SYS, ACCESS_GPU, ACCESS_SYS, THREADFENCE, THREADFENCE_SYSTEM, MEMBAR_GL,
    SC_CTA, ACQ_REL_CTA, ACCESS_CTA, THREADFENCE_BLOCK, WAYS
};
static const char *const ways[] = {
    "fence.sc.gpu", "fence.sc.sys", "fence.acq_rel.gpu", "fence.acq_rel.sys", "acquire and release.gpu",
    "acquire and release.sys", "__threadfence, volatile", "__threadfence_system, volatile", "membar.gl, volatile",
    "fence.sc.cta", "fence.acq_rel.cta", "acquire and release.cta", "__threadfence_block, volatile"};

static bool is_total(int way)
{
    return way == SC_GPU || way == SC_SYS || (way >= THREADFENCE && way <= SC_CTA) || way == THREADFENCE_BLOCK;
}

#define ACCESS(way, scope)                                                                                             \
    if (WAY == way) {                                                                                                  \
        if (kind == 0)                                                                                                 \
            asm volatile("st.relaxed." scope ".u32 [%0], %1;" ::"l"(at), "r"(v) : "memory");                           \
        if (kind == 1)                                                                                                 \
            asm volatile("st.release." scope ".u32 [%0], %1;" ::"l"(at), "r"(v) : "memory");                           \
        if (kind == 2)                                                                                                 \
            asm volatile("ld.relaxed." scope ".u32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");                         \
        if (kind == 3)                                                                                                 \
            asm volatile("ld.acquire." scope ".u32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");                         \
        return v;                                                                                                      \
    }

// A kernel's accesses. Those of kinds 1 and 3 carry the order themselves.
template <int WAY> struct Device {
    template <int KIND> static __device__ unsigned access(unsigned *at, unsigned v)
    {
        const bool ordered = WAY == ACCESS_GPU || WAY == ACCESS_SYS || WAY == ACCESS_CTA;
        const int kind = ordered ? KIND : KIND & 2;
        ACCESS(SC_GPU, "gpu") ACCESS(SC_SYS, "sys") ACCESS(ACQ_REL_GPU, "gpu") ACCESS(ACQ_REL_SYS, "sys")
        ACCESS(ACCESS_GPU, "gpu") ACCESS(ACCESS_SYS, "sys") ACCESS(SC_CTA, "cta") ACCESS(ACQ_REL_CTA, "cta")
        ACCESS(ACCESS_CTA, "cta")
        if (kind == 0)
            *(volatile unsigned *)at = v;
        return kind == 2 ? *(volatile unsigned *)at : v;
    }
    static __device__ void fence()
    {
        if (WAY == SC_GPU)
            asm volatile("fence.sc.gpu;" ::: "memory");
        if (WAY == SC_SYS)
            asm volatile("fence.sc.sys;" ::: "memory");
        if (WAY == SC_CTA)
            asm volatile("fence.sc.cta;" ::: "memory");
        if (WAY == ACQ_REL_GPU)
            asm volatile("fence.acq_rel.gpu;" ::: "memory");
        if (WAY == ACQ_REL_SYS)
            asm volatile("fence.acq_rel.sys;" ::: "memory");
        if (WAY == ACQ_REL_CTA)
            asm volatile("fence.acq_rel.cta;" ::: "memory");
        if (WAY == MEMBAR_GL)
            asm volatile("membar.gl;" ::: "memory");
        if (WAY == THREADFENCE)
            __threadfence();
        if (WAY == THREADFENCE_SYSTEM)
            __threadfence_system();
        if (WAY == THREADFENCE_BLOCK)
            __threadfence_block();
    }
};

// The same for a host thread.
template <int WAY> struct Host {
    template <int KIND> static unsigned access(unsigned *at, unsigned v)
    {
        const int kind = WAY == ACCESS_SYS ? KIND : KIND & 2;
        if (kind == 0)
            __atomic_store_n(at, v, __ATOMIC_RELAXED);
        if (kind == 1)
            __atomic_store_n(at, v, __ATOMIC_RELEASE);
        if (kind == 2)
            return __atomic_load_n(at, __ATOMIC_RELAXED);
        return kind == 3 ? __atomic_load_n(at, __ATOMIC_ACQUIRE) : v;
    }
    static void fence()
    {
        if (WAY == SC_SYS || WAY == THREADFENCE_SYSTEM)
            __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (WAY == ACQ_REL_SYS)
            __atomic_thread_fence(__ATOMIC_ACQ_REL);
    }
};

// One role's part of a round: stores, release stores, loads, acquire loads.
#pragma nv_exec_check_disable
template <class Of> __host__ __device__ inline void part(int test, int role, unsigned *x, unsigned *y, unsigned r[2])
{
#define W(at, v) Of::template access<0>(at, v)
#define WR(at, v) Of::template access<1>(at, v)
#define RD(at) Of::template access<2>(at, 0)
#define RA(at) Of::template access<3>(at, 0)
#define PART(t, n, ...) case t * 4 + n: __VA_ARGS__; break;
    switch (test * 4 + role) {
        PART(MP, 0, W(x, 1); Of::fence(); WR(y, 1))
        PART(MP, 1, r[0] = RA(y); Of::fence(); r[1] = RD(x))
        PART(SB, 0, W(x, 1); Of::fence(); r[0] = RD(y))
        PART(SB, 1, W(y, 1); Of::fence(); r[0] = RD(x))
        PART(LB, 0, r[0] = RA(x); Of::fence(); WR(y, 1))
        PART(LB, 1, r[0] = RA(y); Of::fence(); WR(x, 1))
        PART(R, 0, W(x, 1); Of::fence(); W(y, 1))
        PART(R, 1, W(y, 2); Of::fence(); r[0] = RD(x))
        PART(S, 0, W(x, 2); Of::fence(); WR(y, 1))
        PART(S, 1, r[0] = RA(y); Of::fence(); W(x, 1))
        PART(TWO, 0, W(x, 1); Of::fence(); W(y, 2))
        PART(TWO, 1, W(y, 1); Of::fence(); W(x, 2))
        PART(WRC, 0, W(x, 1))
        PART(WRC, 1, r[0] = RA(x); Of::fence(); WR(y, 1))
        PART(WRC, 2, r[0] = RA(y); Of::fence(); r[1] = RD(x))
        PART(IRIW, 0, W(x, 1))
        PART(IRIW, 1, W(y, 1))
        PART(IRIW, 2, r[0] = RA(x); Of::fence(); r[1] = RD(y))
        PART(IRIW, 3, r[0] = RA(y); Of::fence(); r[1] = RD(x))
        PART(CORR, 0, W(x, 1))
        PART(CORR, 1, r[0] = RD(x); r[1] = RD(x))
        PART(COWW, 0, W(x, 1); W(x, 2))
        PART(COWW, 1, r[0] = RD(x); r[1] = RD(x))
        PART(COWR, 0, W(x, 1); r[0] = RD(x))
        PART(COWR, 1, W(x, 2))
        PART(CORW, 0, r[0] = RD(x); W(x, 1))
        PART(CORW, 1, W(x, 2))
    }
}

// The final values of a round's locations, and the values that each role read.
struct Seen {
    unsigned x, y, r[4][2];
};

static bool forbidden(int test, const Seen &s)
{
    switch (test) {
    case MP: return s.r[1][0] == 1 && s.r[1][1] == 0;
    case SB: return s.r[0][0] == 0 && s.r[1][0] == 0;
    case LB: return s.r[0][0] == 1 && s.r[1][0] == 1;
    case R: return s.y == 2 && s.r[1][0] == 0;
    case S: return s.x == 2 && s.r[1][0] == 1;
    case TWO: return s.x == 1 && s.y == 1;
    case WRC: return s.r[1][0] == 1 && s.r[2][0] == 1 && s.r[2][1] == 0;
    case IRIW: return s.r[2][0] == 1 && s.r[2][1] == 0 && s.r[3][0] == 1 && s.r[3][1] == 0;
    case CORR: return s.r[1][0] == 1 && s.r[1][1] == 0;
    case COWW: return s.x != 2 || s.r[1][0] > s.r[1][1];
    case COWR: return s.r[0][0] == 0 || (s.r[0][0] == 2 && s.x == 1);
    default: return s.r[0][0] == 1 || (s.r[0][0] == 2 && s.x == 2);
    }
}

// Whether a way gives the order that a test needs: SB, R, 2+2W and IRIW need one total order of all fences.
static bool orders(int test, int way)
{
    return is_total(way) || !(test == SB || test == R || test == TWO || test == IRIW);
}

struct Space {
    unsigned *x, *y, *r[4][2], *gate;
};

// The roles meet in every 32nd round, and every second role visits the locations up to the next meeting in the opposite
// order: so both use the same locations at the same time once, whichever began first.
enum { MEET = 32 };

// The lanes' locations: mixed in every second round.
static __host__ __device__ inline int place(int round, int role, int lane)
{
    round = role & 1 ? round ^ (MEET - 1) : round;
    return round * 32 + (round & 1 ? lane ^ lane >> 1 : lane);
}

template <int WAY> __global__ void litmus(Space s, int test, int first, int roles, int rounds)
{
    const int role = first + blockIdx.x + threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int i = 0; i < rounds; i++) {
        if (lane == 0 && i % MEET == 0) {
            // No atomic operation: a GPU's atomics on host memory are not atomic for its processor.
            volatile unsigned *gate = s.gate;
            gate[32 * role] = i + 1;
            for (int k = 0; k < roles; k++)
                while (gate[32 * k] < unsigned(i + 1))
                    ;
        }
        __syncwarp();
        unsigned r[2] = {0, 0};
        const int at = place(i, role, lane);
        part<Device<WAY>>(test, role, s.x + at, s.y + at, r);
        s.r[role][0][at] = r[0];
        s.r[role][1][at] = r[1];
        __syncwarp();
    }
}

template <int WAY> static void host_part(const Space &s, int test, int role, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        if (i % MEET == 0)
            __atomic_store_n(s.gate + 32 * role, unsigned(i + 1), __ATOMIC_RELAXED);
        for (int n = 1; __atomic_load_n(s.gate + 32 * (1 - role), __ATOMIC_RELAXED) < unsigned(i / MEET * MEET + 1); n++)
            if (n % 4096 == 0)
                std::this_thread::yield();
        for (int lane = 0; lane < 32; lane++) {
            unsigned r[2] = {0, 0};
            const int at = place(i, role, lane);
            part<Host<WAY>>(test, role, s.x + at, s.y + at, r);
            s.r[role][0][at] = r[0];
            s.r[role][1][at] = r[1];
        }
    }
}

// Between whom: blocks, warps of a block, or a block and this host thread.
enum Where { BLOCKS, WARPS, HOST };

template <int WAY> static void run(unsigned *memory, int rounds, Where where)
{
    static const char *const names_of[] = {"blocks", "warps", "kernel and host"};
    const int n = rounds * 32;
    std::vector<unsigned> all(size_t(n) * 10 + 128);
    for (int test = 0; test < TESTS; test++) {
        const int roles = roles_of[test];
        if (!orders(test, WAY) || (where == HOST && roles != 2))
            continue;
        for (int turned = 0; turned < (where == HOST ? 2 : 1); turned++) {
            Space s = {memory, memory + n, {}, memory + 10 * n};
            for (int k = 0; k < 8; k++)
                s.r[k / 2][k % 2] = memory + (2 + k) * n;
            if (!CK(cudaMemset(memory, 0, all.size() * sizeof(unsigned))) || !CK(cudaDeviceSynchronize()))
                return;
            if (where == BLOCKS)
                litmus<WAY><<<roles, 32>>>(s, test, 0, roles, rounds);
            else if (where == WARPS)
                litmus<WAY><<<1, 32 * roles>>>(s, test, 0, roles, rounds);
            else
                litmus<WAY><<<1, 32>>>(s, test, turned, 2, rounds);
            if (!LAUNCHED("litmus"))
                return;
            if (where == HOST)
                host_part<WAY>(s, test, turned ? 0 : 1, rounds);
            if (!CK(cudaDeviceSynchronize()) ||
                !CK(cudaMemcpy(all.data(), memory, all.size() * sizeof(unsigned), cudaMemcpyDefault)))
                return;
            int wrong = 0;
            for (int i = 0; i < n; i++) {
                Seen seen = {all[i], all[n + i], {}};
                for (int k = 0; k < 8; k++)
                    seen.r[k / 2][k % 2] = all[(2 + k) * n + i];
                wrong += forbidden(test, seen);
            }
            printf("%s, %s, %s%s: forbidden outcomes: %d\n", ways[WAY], names_of[where], names[test],
                   turned ? " turned" : "", wrong);
            fflush(stdout);
            wrong_results += wrong != 0;
        }
    }
}

int main()
{
    const char *more = getenv("CUSHIM_LITMUS_ROUNDS");
    const int rounds = more ? atoi(more) : 256;
    const size_t bytes = (size_t(rounds) * 320 + 128) * sizeof(unsigned);
    unsigned *device = nullptr, *host = nullptr;
    NEED(cudaMalloc(&device, bytes));
    NEED(cudaHostAlloc(&host, bytes, cudaHostAllocMapped));
    run<SC_GPU>(device, rounds, BLOCKS);
    run<SC_SYS>(device, rounds, BLOCKS);
    run<ACQ_REL_GPU>(device, rounds, BLOCKS);
    run<ACQ_REL_SYS>(device, rounds, BLOCKS);
    run<ACCESS_GPU>(device, rounds, BLOCKS);
    run<ACCESS_SYS>(device, rounds, BLOCKS);
    run<THREADFENCE>(device, rounds, BLOCKS);
    run<THREADFENCE_SYSTEM>(device, rounds, BLOCKS);
    run<MEMBAR_GL>(device, rounds, BLOCKS);
    run<SC_CTA>(device, rounds, WARPS);
    run<ACQ_REL_CTA>(device, rounds, WARPS);
    run<ACCESS_CTA>(device, rounds, WARPS);
    run<THREADFENCE_BLOCK>(device, rounds, WARPS);
    run<SC_SYS>(host, rounds, HOST);
    run<ACQ_REL_SYS>(host, rounds, HOST);
    run<ACCESS_SYS>(host, rounds, HOST);
    run<THREADFENCE_SYSTEM>(host, rounds, HOST);
    CK(cudaFree(device));
    CK(cudaFreeHost(host));
    return finish();
}
