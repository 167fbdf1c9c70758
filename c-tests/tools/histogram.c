/* A tool that counts launches: how often each kernel was launched, and in which shapes. It writes the counts to the file
   that HISTOGRAM names, or to stderr, when the process ends.

       gcc -shared -fPIC -I include c-tests/tools/histogram.c -o libhistogram.so
       cushim trace --tool ./libhistogram.so ./app */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cushim.h"

struct row {
    struct row *next;
    unsigned long count;
    cushim_dim3 grid, block;
    uint32_t shared;
    char name[];
};

static const cushim_host *cushim;
static struct row *rows;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int same(const struct row *row, const cushim_launch *launch) {
    return !memcmp(&row->grid, &launch->grid, sizeof row->grid) && !memcmp(&row->block, &launch->block, sizeof row->block)
        && row->shared == launch->shared && !strcmp(row->name, launch->name);
}

static void launch_end(const cushim_launch *launch, int status) {
    if (status) return;
    pthread_mutex_lock(&lock);
    struct row *row = rows;
    while (row && !same(row, launch)) row = row->next;
    if (!row && (row = malloc(sizeof *row + strlen(launch->name) + 1))) {
        row->count = 0;
        row->grid = launch->grid;
        row->block = launch->block;
        row->shared = launch->shared;
        strcpy(row->name, launch->name);
        row->next = rows;
        rows = row;
    }
    if (row) row->count++;
    pthread_mutex_unlock(&lock);
}

static int by_count(const void *a, const void *b) {
    const struct row *const *x = a, *const *y = b;
    if ((*x)->count != (*y)->count) return (*x)->count < (*y)->count ? 1 : -1;
    return strcmp((*x)->name, (*y)->name);
}

static void end(void) {
    size_t count = 0;
    for (struct row *row = rows; row; row = row->next) count++;
    struct row **all = calloc(count + 1, sizeof *all);
    if (!all) return;
    count = 0;
    for (struct row *row = rows; row; row = row->next) all[count++] = row;
    qsort(all, count, sizeof *all, by_count);
    const char *path = getenv("HISTOGRAM");
    FILE *out = path && *path ? fopen(path, "w") : stderr;
    if (!out) {
        cushim->say("histogram: the file in HISTOGRAM cannot be written");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        char name[512];
        cushim->readable(all[i]->name, name, sizeof name);
        cushim_dim3 g = all[i]->grid, b = all[i]->block;
        fprintf(out, "%8lu  %s<<<(%u, %u, %u), (%u, %u, %u), %u>>>\n", all[i]->count, name, g.x, g.y, g.z, b.x, b.y, b.z,
                all[i]->shared);
    }
    if (out != stderr) fclose(out);
}

const cushim_tool_table *cushim_tool(const cushim_host *host) {
    static const cushim_tool_table table = {
        .abi = CUSHIM_ABI, .size = sizeof table, .name = "histogram", .launch_end = launch_end, .end = end};
    cushim = host;
    return &table;
}
