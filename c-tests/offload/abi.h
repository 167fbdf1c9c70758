/* The interface of LLVM's libomptarget, written for tests from its documentation: x86-64. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct ident { int32_t reserved_1, flags, reserved_2, reserved_3; const char *psource; };

/* An entry, in the form up to LLVM 19, and in that from LLVM 20 on. */
struct old_entry { void *address; const char *name; size_t size; int32_t flags, data; };
struct new_entry {
    uint64_t reserved;
    uint16_t version, kind;
    uint32_t flags;
    void *address;
    const char *name;
    uint64_t size, data;
    void *aux;
};

struct image { const void *start, *end; const void *entries, *entries_end; };
struct descriptor { int32_t images; const struct image *image; const void *entries, *entries_end; };

struct kernel_args {
    uint32_t version, count;
    void **bases, **pointers;
    int64_t *sizes, *types;
    void **names, **mappers;
    uint64_t trip_count, flags;
    uint32_t teams[3], threads[3], shared;
};

enum { TO = 1, FROM = 2, ALWAYS = 4, PARAM = 0x20, LITERAL = 0x100, IMPLICIT = 0x200 };

#ifndef WEAK
#define WEAK
#endif
extern void __tgt_register_lib(struct descriptor *) WEAK;
extern void __tgt_unregister_lib(struct descriptor *) WEAK;
extern void __tgt_init_all_rtls(void) WEAK;
extern int __tgt_target_kernel(struct ident *, int64_t, int32_t, int32_t, void *, struct kernel_args *) WEAK;
extern int __tgt_target_kernel_nowait(struct ident *, int64_t, int32_t, int32_t, void *, struct kernel_args *, int32_t, void *, int32_t, void *) WEAK;
extern int __tgt_target(int64_t, void *, int32_t, void **, void **, int64_t *, int64_t *) WEAK;
extern int __tgt_target_nowait(int64_t, void *, int32_t, void **, void **, int64_t *, int64_t *, int32_t, void *, int32_t, void *) WEAK;
extern int __tgt_target_mapper(struct ident *, int64_t, void *, int32_t, void **, void **, int64_t *, int64_t *, void **, void **) WEAK;
extern int __tgt_target_nowait_mapper(struct ident *, int64_t, void *, int32_t, void **, void **, int64_t *, int64_t *, void **, void **, int32_t, void *, int32_t, void *) WEAK;
extern int __tgt_target_teams(int64_t, void *, int32_t, void **, void **, int64_t *, int64_t *, int32_t, int32_t) WEAK;
extern int __tgt_target_teams_nowait(int64_t, void *, int32_t, void **, void **, int64_t *, int64_t *, int32_t, int32_t, int32_t, void *, int32_t, void *) WEAK;
extern int __tgt_target_teams_mapper(struct ident *, int64_t, void *, int32_t, void **, void **, int64_t *, int64_t *, void **, void **, int32_t, int32_t) WEAK;
extern int __tgt_target_teams_nowait_mapper(struct ident *, int64_t, void *, int32_t, void **, void **, int64_t *, int64_t *, void **, void **, int32_t, int32_t, int32_t, void *, int32_t, void *) WEAK;
#define DATA(which) \
    extern void __tgt_target_data_##which(int64_t, int32_t, void **, void **, int64_t *, int64_t *) WEAK; \
    extern void __tgt_target_data_##which##_nowait(int64_t, int32_t, void **, void **, int64_t *, int64_t *, int32_t, void *, int32_t, void *) WEAK; \
    extern void __tgt_target_data_##which##_mapper(struct ident *, int64_t, int32_t, void **, void **, int64_t *, int64_t *, void **, void **) WEAK; \
    extern void __tgt_target_data_##which##_nowait_mapper(struct ident *, int64_t, int32_t, void **, void **, int64_t *, int64_t *, void **, void **, int32_t, void *, int32_t, void *) WEAK;
DATA(begin)
DATA(end)
DATA(update)
struct dim3 { unsigned x, y, z; };
extern unsigned __llvmPushCallConfiguration(struct dim3, struct dim3, size_t, void *) WEAK;
extern int llvmLaunchKernel(const void *, struct dim3, struct dim3, void *, size_t, void *) WEAK;
extern int omp_get_num_devices(void) WEAK;
extern void *omp_target_alloc(size_t, int) WEAK;
extern void omp_target_free(void *, int) WEAK;
extern int omp_target_is_present(const void *, int) WEAK;
extern int omp_target_memcpy(void *, const void *, size_t, size_t, size_t, int, int) WEAK;
extern int omp_target_memcpy_rect(void *, const void *, size_t, int, const size_t *, const size_t *, const size_t *, const size_t *, const size_t *, int, int) WEAK;
extern int omp_target_associate_ptr(const void *, const void *, size_t, size_t, int) WEAK;
extern void *omp_target_memset(void *, int, size_t, int) WEAK;
