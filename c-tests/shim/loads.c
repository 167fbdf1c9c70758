/* Loads and unloads code ROUNDS times, and launches a kernel of it each time: `loads WHAT ROUNDS [FILE]`. WHAT:
   `library` and `module`: from memory, two texts alternately at the same address, whose kernels have one name but differ;
   `constant`: from the program's own data, where the same two texts alternate; `file`: from FILE, which is rewritten
   each time with one of the two; `plugin`: opens and closes the library FILE.
   Prints the private memory that the second half of the rounds added, in KiB. */
#include <dlfcn.h>

#include "cuda.h"

int cuModuleLoad(void **, const char *);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuModuleUnload(void *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

static const char *const texts[] = {
    PTX_HEAD ".visible .entry same(.param .u32 a)\n{ ret; }\n",
    PTX_HEAD ".visible .entry same(.param .u64 a)\n{ ret; }\n",
};
static char place[256] = "in the program's data";

static long private_memory(void) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long size = -1;
    while (file && fgets(line, sizeof line, file)) sscanf(line, "RssAnon: %ld", &size);
    if (file) fclose(file);
    return size;
}
static void check(int status, const char *what, int round) {
    if (!status) return;
    printf("%s: %d in round %d\n", what, status, round);
    exit(1);
}
static void of_runtime(const char *image, int round) {
    void *library, *kernel;
    uint64_t value = 7;
    void *args[] = {&value};
    check(cudaLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0), "load", round);
    check(cudaLibraryGetKernel(&kernel, library, "same"), "get", round);
    check(cudaLaunchKernel(kernel, d3(1, 1, 1), d3(1, 1, 1), args, 0, NULL), "launch", round);
    check(cudaLibraryUnload(library), "unload", round);
}
static void of_driver(const char *image, const char *file, int round) {
    void *module, *function;
    uint64_t value = 7;
    void *args[] = {&value};
    check(file ? cuModuleLoad(&module, file) : cuModuleLoadData(&module, image), "load", round);
    check(cuModuleGetFunction(&function, module, "same"), "get", round);
    check(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL), "launch", round);
    check(cuModuleUnload(module), "unload", round);
}
static void write_file(const char *path, const char *text) {
    // In place, as both texts are equally long: a file that is made empty waits for a disk with `discard`.
    FILE *file = fopen(path, "r+");
    if (!file) file = fopen(path, "w");
    check(!file || fputs(text, file) < 0 || fclose(file), path, 0);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    const char *what = argv[1], *file = argc > 3 ? argv[3] : NULL;
    char *heap = malloc(256);
    int rounds = atoi(argv[2]);
    long before = 0;
    for (int round = 0; round < rounds; round++) {
        if (round == rounds / 2) before = private_memory();
        if (!strcmp(what, "plugin")) {
            void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
            int (*run)(int) = library ? (int (*)(int))dlsym(library, "plugin_run") : NULL;
            check(!run || run(1), "plugin", round);
            dlclose(library);
            continue;
        }
        const char *text = texts[round % 2];
        strcpy(heap, text);
        strcpy(place, text);
        if (!strcmp(what, "library")) of_runtime(heap, round);
        else if (!strcmp(what, "constant")) of_runtime(place, round);
        else if (!strcmp(what, "module")) of_driver(heap, NULL, round);
        else write_file(file, text), of_driver(NULL, file, round);
    }
    printf("%ld\n", private_memory() - before);
    return 0;
}
