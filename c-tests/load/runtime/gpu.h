/* What the runtime needs of a GPU: which lanes are active together, and memory fences. One block for each target. */

#ifndef GPU_H
#define GPU_H

typedef unsigned char uint8_t;
typedef unsigned int uint32_t;
typedef int int32_t;
typedef unsigned long uint64_t;
typedef long int64_t;
typedef unsigned long size_t;
_Static_assert(sizeof(uint64_t) == 8 && sizeof(void *) == 8, "LP64");

#define NULL ((void *)0)
#define INLINE static inline __attribute__((always_inline))

#if defined(__NVPTX__)

#define KERNEL __attribute__((nvptx_kernel, visibility("protected")))

INLINE uint64_t gpu_active(void) { return __nvvm_activemask(); }
INLINE uint32_t gpu_lane(void) { return __nvvm_read_ptx_sreg_laneid(); }
INLINE uint32_t gpu_thread(void) { return __nvvm_read_ptx_sreg_tid_x(); }
INLINE uint32_t gpu_block(void) { return __nvvm_read_ptx_sreg_ctaid_x(); }
INLINE uint64_t gpu_ballot(uint64_t mask, int what) { return __nvvm_vote_ballot_sync((uint32_t)mask, what); }
INLINE void gpu_meet(uint64_t mask) { __nvvm_bar_warp_sync((uint32_t)mask); }
// clang 19 has no acquire or release fence for NVPTX; this one is stronger.
INLINE void gpu_fence(void) { __nvvm_membar_sys(); }
INLINE void gpu_pause(void) { __nvvm_nanosleep(64); }
INLINE _Noreturn void gpu_trap(void)
{
    __builtin_trap();
}

#elif defined(__AMDGCN__)

#define KERNEL __attribute__((amdgpu_kernel, visibility("protected")))

INLINE uint64_t gpu_active(void) { return __builtin_amdgcn_read_exec(); }
INLINE uint32_t gpu_lane(void) { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }
INLINE uint32_t gpu_thread(void) { return __builtin_amdgcn_workitem_id_x(); }
INLINE uint32_t gpu_block(void) { return __builtin_amdgcn_workgroup_id_x(); }
INLINE uint64_t gpu_ballot(uint64_t mask, int what)
{
#if __AMDGCN_WAVEFRONT_SIZE == 64
    return mask & __builtin_amdgcn_ballot_w64(what);
#else
    return mask & __builtin_amdgcn_ballot_w32(what);
#endif
}
INLINE void gpu_meet(uint64_t mask)
{
    (void)mask;
    __builtin_amdgcn_wave_barrier();
}
INLINE void gpu_fence(void) { __atomic_thread_fence(__ATOMIC_ACQ_REL); }
INLINE void gpu_pause(void) { __builtin_amdgcn_s_sleep(2); }
INLINE _Noreturn void gpu_trap(void)
{
    __builtin_trap();
}

#else
#error "for nvptx64 and amdgcn"
#endif

#endif
