/* Every form of every hooked libomptarget call, with different values: `forms`. Other words: `entries
   old|new`: a table in that form, two images, and a region from it; `versions`: arguments of versions 0 to 9; `again`: a region
   repeatedly, as clang launches one without teams, with other names, counts, sizes and devices; `rustc`:
   rustc's sequence, with an empty descriptor on the stack around the call; `time BURSTS N`: ns per
   region in each burst of N, as clang launches one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "abi.h"

static char region_a, region_b, unknown_region;
static struct ident where = {0, 2, 0, 0, ";forms.c;work;12;5;;"};
static int data[100];
static void *pointers[3] = {data, data + 10, (void *)(intptr_t)42};
static int64_t sizes[3] = {400, 40, 4};
static int64_t types[3] = {TO | FROM | PARAM, TO | ALWAYS | PARAM, LITERAL | PARAM | IMPLICIT};
static void *names[3] = {";data;forms.c;20;5;;", ";data[10:10];forms.c;20;5;;", ";n;forms.c;21;5;;"};

static struct kernel_args args_of(uint32_t version) {
    struct kernel_args a = {version, 3, pointers, pointers, sizes, types, names, NULL, 1000, 0, {8, 2, 0}, {128, 0, 0}, 64};
    return a;
}

static const char image_a[] = "\x7f" "ELF not really an image", image_b[] = ".version 7.0\n.target sm_52\n.address_size 64\n";
static const char name_a[] = "__omp_offloading_10_2a_work_l12", name_b[] = "__omp_offloading_10_2a__Z4workPi_l20_1";
static struct old_entry old_entries[] = {
    {NULL, "", 0, 0x10, 8},
    {&region_a, name_a, 0, 0, 0},
    {&region_b, name_b, 0, 0, 0},
    {data, "data", sizeof data, 0, 0},
};
static struct new_entry new_entries[] = {
    {0, 1, 1, 0, &region_a, name_a, 0, 0, NULL},
    {0, 1, 1, 0, &region_b, name_b, 0, 0, NULL},
    {0, 1, 1, 0, data, "data", sizeof data, 0, NULL},
};
static struct image images[] = {
    {image_a, image_a + sizeof image_a - 1, NULL, NULL},
    {image_b, image_b + sizeof image_b, NULL, NULL},
};
static struct descriptor old_lib = {2, images, old_entries, old_entries + 4};
static struct descriptor new_lib = {2, images, new_entries, new_entries + 3};

static void forms(void) {
    void *p = &where;
    struct kernel_args a = args_of(3);
    __tgt_register_lib(&old_lib);
    printf("%d\n", __tgt_target_kernel(&where, -1, -1, 0, &region_a, &a));
    printf("%d\n", __tgt_target_kernel_nowait(&where, 0, 4, 32, &region_b, &a, 1, p, 2, p));
    printf("%d\n", __tgt_target(-1, &region_a, 3, pointers, pointers, sizes, types));
    printf("%d\n", __tgt_target_nowait(0, &region_a, 2, pointers, pointers, sizes, types, 3, p, 4, p));
    printf("%d\n", __tgt_target_mapper(&where, 0, &region_a, 1, pointers, pointers, sizes, types, names, NULL));
    printf("%d\n", __tgt_target_nowait_mapper(&where, 0, &region_a, 1, pointers, pointers, sizes, types, names, NULL, 5, p, 6, p));
    printf("%d\n", __tgt_target_teams(0, &region_a, 2, pointers, pointers, sizes, types, 16, 64));
    printf("%d\n", __tgt_target_teams_nowait(0, &region_a, 2, pointers, pointers, sizes, types, 17, 65, 7, p, 8, p));
    printf("%d\n", __tgt_target_teams_mapper(&where, 0, &region_a, 3, pointers, pointers, sizes, types, names, NULL, 18, 66));
    printf("%d\n", __tgt_target_teams_nowait_mapper(&where, 0, &region_a, 3, pointers, pointers, sizes, types, names, NULL, 19, 67, 9, p, 10, p));
    printf("%d\n", __tgt_target_kernel(&where, -1, -1, 0, &unknown_region, &a));
#define MAPS(which) \
    __tgt_target_data_##which(0, 2, pointers, pointers, sizes, types); \
    __tgt_target_data_##which##_nowait(0, 2, pointers, pointers, sizes, types, 1, p, 2, p); \
    __tgt_target_data_##which##_mapper(&where, -1, 3, pointers, pointers, sizes, types, names, NULL); \
    __tgt_target_data_##which##_nowait_mapper(&where, 0, 1, pointers, pointers, sizes, types, NULL, NULL, 3, p, 4, p);
    MAPS(begin)
    MAPS(update)
    MAPS(end)
    struct dim3 grid = {3, 2, 1}, block = {64, 2, 1};
    printf("%u\n", __llvmPushCallConfiguration(grid, block, 256, p));
    printf("%d\n", llvmLaunchKernel(&region_b, grid, block, p, 256, p));
    void *memory = omp_target_alloc(1000, 0);
    printf("%d\n", omp_target_is_present(memory, 0));
    printf("%d\n", omp_target_memcpy(memory, data, 100, 8, 4, 0, -1));
    printf("%d\n", omp_target_memcpy(memory, data, 100, 8, 4, 7, -1));
    printf("%d\n", omp_target_memcpy_rect(memory, data, 4, 2, p, p, p, p, NULL, 0, 1));
    printf("%d\n", omp_target_associate_ptr(data, memory, 100, 0, 0));
    printf("%d\n", omp_target_memset(memory, 5, 100, 0) == memory);
    omp_target_free(memory, 0);
    printf("%d\n", omp_target_alloc(5, 7) == NULL);
    __tgt_unregister_lib(&old_lib);
}

static void versions(void) {
    __tgt_register_lib(&new_lib);
    for (uint32_t version = 0; version < 10; version++) {
        struct kernel_args a = args_of(version);
        printf("%d\n", __tgt_target_kernel(&where, 0, 5, 33, &region_a, &a));
    }
    __tgt_unregister_lib(&new_lib);
}

static void again(void) {
    struct kernel_args a = args_of(3);
    memset(a.teams, 0xff, 4), memset(a.teams + 1, 0, 8), memset(a.threads, 0, sizeof a.threads);
    a.shared = 0;
    __tgt_register_lib(&old_lib);
    for (int i = 0; i < 8; i++) {
        a.count = i == 2 ? 2 : 3;
        if (i == 3) names[1] = ";other;forms.c;20;5;;";
        if (i == 4) names[1] = ";data[10:10];forms.c;20;5;;";
        sizes[1] = i == 5 ? 5000000000 : 40;
        printf("%d\n", __tgt_target_kernel(&where, i < 6 ? 0 : i < 7 ? 7 : 1 << 20, i == 1 ? 9 : -1, 0, &region_a, &a));
    }
    __tgt_unregister_lib(&old_lib);
}

/* rust_codegen_llvm, builder/gpu_offload.rs: the images come from the linker's own descriptor. */
static void rustc(void) {
    __tgt_register_lib(&new_lib);
    for (int i = 0; i < 3; i++) {
        struct descriptor nothing;
        memset(&nothing, 0, sizeof nothing);
        __tgt_register_lib(&nothing);
        __tgt_init_all_rtls();
        __tgt_target_data_begin_mapper(&where, -1, 2, pointers, pointers, sizes, types, NULL, NULL);
        struct kernel_args a = args_of(3);
        a.count = 2, a.names = NULL;
        printf("%d\n", __tgt_target_kernel(&where, -1, 2097152, 256, &region_a, &a));
        __tgt_target_data_end_mapper(&where, -1, 2, pointers, pointers, sizes, types, NULL, NULL);
        __tgt_unregister_lib(&nothing);
    }
    __tgt_unregister_lib(&new_lib);
}

/* clang 19's call for `target teams num_teams(8) thread_limit(128)`. The first burst is a warm-up. */
static void measure(int bursts, long count) {
    struct kernel_args a = args_of(3);
    memset(a.teams, 0, sizeof a.teams), memset(a.threads, 0, sizeof a.threads);
    a.teams[0] = 8, a.threads[0] = 128, a.shared = 0;
    double *ns = calloc(bursts + 1, sizeof *ns);
    __tgt_register_lib(&old_lib);
    for (int burst = 0; burst <= bursts; burst++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (long i = 0; i < count; i++) __tgt_target_kernel(&where, -1, 8, 128, &region_a, &a);
        clock_gettime(CLOCK_MONOTONIC, &end);
        ns[burst] = (end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec);
    }
    for (int burst = 1; burst <= bursts; burst++) printf("%.1f ns a region\n", ns[burst] / count);
}

int main(int count, char **words) {
    const char *word = count > 1 ? words[1] : "forms";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!strcmp(word, "forms")) forms();
    if (!strcmp(word, "versions")) versions();
    if (!strcmp(word, "again")) again();
    if (!strcmp(word, "rustc")) rustc();
    if (!strcmp(word, "time")) measure(atoi(words[2]), atol(words[3]));
    if (!strcmp(word, "entries")) {
        struct descriptor *lib = strcmp(words[2], "old") ? &new_lib : &old_lib;
        struct kernel_args a = args_of(3);
        __tgt_register_lib(lib);
        printf("%d\n", __tgt_target_kernel(&where, -1, -1, 0, &region_b, &a));
        __tgt_unregister_lib(lib);
        printf("%d\n", __tgt_target_kernel(&where, -1, -1, 0, &region_b, &a));
    }
    return 0;
}
