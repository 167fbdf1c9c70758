/* A library that registers a region when it is opened, and runs it. */
#include "abi.h"
static char region;
static int data[8];
static void *pointers[] = {data};
static int64_t sizes[] = {sizeof data}, types[] = {TO | PARAM};
static struct ident where = {0, 2, 0, 0, ";plugin.c;plugin_run;" LINE ";1;;"};
static struct old_entry entries[] = {{&region, "__omp_offloading_1_2_plugin_run_l" LINE, 0, 0, 0}};
static const char bytes[] = "\x7f" "ELF plugin";
static struct image images[] = {{bytes, bytes + sizeof bytes, 0, 0}};
static struct descriptor lib = {1, images, entries, entries + 1};
__attribute__((constructor)) static void begin(void) { __tgt_register_lib(&lib); }
__attribute__((destructor)) static void end(void) { __tgt_unregister_lib(&lib); }
int plugin_run(void) {
    struct kernel_args a = {3, 1, pointers, pointers, sizes, types, 0, 0, 0, 0, {0}, {0}, 0};
    return __tgt_target_kernel(&where, 0, -1, 0, &region, &a);
}
