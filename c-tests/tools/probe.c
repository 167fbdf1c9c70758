/* A tool for tests: does what the words of PROBE say, and prints what it sees on stderr.
   `see` everything; `swap` images for the file in PROBE_IMAGE; `other` kernel from it (PROBE_KERNEL, if set);
   `skip` the second launch; `shape` 9 blocks; `args` the parameter at 8 becomes 77; `again` calls cudaMalloc inside a
   callback, `hook` the program's cudaMalloc; `refuse`, `old` (version 7), `short` (a table of 4 bytes), `long` (a table with more than is known). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cushim.h"

static const cushim_host *cushim;
static void *file;
static long file_bytes;

static int does(const char *word) {
    const char *all = getenv("PROBE");
    return all && strstr(all, word) != NULL;
}

static void image(cushim_image *image) {
    if (does("see")) fprintf(stderr, "image %s owner=%d bytes=%d\n", image->call, image->owner[0] != 0, image->bytes > 0);
    if (!does("swap")) return;
    image->other = file;
    image->other_bytes = (uint64_t)file_bytes;
}

static void function(const cushim_function *function) {
    if (does("see")) fprintf(stderr, "function %s\n", function->name);
}

static void launch_begin(cushim_launch *launch) {
    char name[64];
    cushim->readable(launch->name, name, sizeof name);
    if (does("see")) {
        fprintf(stderr, "begin %lu %s %s grid=%u args=", (unsigned long)launch->number, launch->call, name, launch->grid.x);
        for (uint64_t i = 0; i < launch->args_bytes; i++) fprintf(stderr, "%02x", ((unsigned char *)launch->args)[i]);
        fprintf(stderr, " image=%d\n", launch->image != NULL);
    }
    launch->user = (void *)(size_t)(launch->number * 10);
    if (does("skip")) launch->skip = launch->number == 2;
    if (does("shape")) launch->grid.x = 9;
    if (does("args")) memcpy((char *)launch->args + 8, &(int){77}, 4);
    if (does("other")) {
        launch->other_image = cushim->add_image(file, (uint64_t)file_bytes);
        launch->other_kernel = getenv("PROBE_KERNEL");
    }
    if (does("again")) {
        int (*allocate)(void **, size_t) = (int (*)(void **, size_t))(size_t)cushim->symbol("cudaMalloc");
        void *at;
        fprintf(stderr, "again %d\n", allocate ? allocate(&at, 1) : -1);
    }
    if (does("hook")) {
        int (*allocate)(void **, size_t) = (int (*)(void **, size_t))dlsym(RTLD_DEFAULT, "cudaMalloc");
        void *at;
        fprintf(stderr, "hook %d\n", allocate ? allocate(&at, 1) : -1);
    }
    cushim->mark("probe");
}

static void launch_end(const cushim_launch *launch, int status) {
    if (does("see")) fprintf(stderr, "end %d user=%d\n", status, (int)(size_t)launch->user);
}

static void call(const cushim_call *call) {
    if (does("see"))
        fprintf(stderr, "call %s %s words=%u outs=%u status=%d\n", call->class_name, call->function, call->word_count,
                call->out_mask, call->status);
}

static void end(void) {
    if (does("see")) fprintf(stderr, "end of process\n");
}

const cushim_tool_table *cushim_tool(const cushim_host *host) {
    static struct { cushim_tool_table table; void (*more)(void); } all = {
        {CUSHIM_ABI, sizeof(cushim_tool_table), "probe", image, function, launch_begin, launch_end, call, end}, NULL};
    cushim = host;
    if (does("refuse")) return NULL;
    if (does("old")) all.table.abi = 7;
    if (does("short")) all.table.size = 4;
    if (does("long")) {
        all.table.size = sizeof all;
        all.more = end;
    }
    const char *path = getenv("PROBE_IMAGE");
    FILE *in = path ? fopen(path, "rb") : NULL;
    if (in) {
        file = malloc(1 << 20);
        file_bytes = (long)fread(file, 1, 1 << 20, in);
        fclose(in);
    }
    return &all.table;
}
