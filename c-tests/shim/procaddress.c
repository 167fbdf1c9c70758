/* The rules of cuGetProcAddress: symbol, version and flags choose; unknown symbols and
   versions newer than any header pass through; the function returns itself, too. */
#include <dlfcn.h>

#define NO_STUBS
#include "cuda.h"

typedef int (*get_v1)(const char *, void **, int, uint64_t);
typedef int (*get_v2)(const char *, void **, int, uint64_t, int *);
typedef int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

static void *library;
static launch launches[16];
static int launch_count;

/* Names an address: its library and its function. */
static const char *what(void *address) {
    static char text[300];
    Dl_info info;
    if (!address) return "nothing";
    if (!dladdr(address, &info) || !info.dli_fname) return "no library";
    const char *file = strrchr(info.dli_fname, '/');
    snprintf(text, sizeof text, "%s", file ? file + 1 : info.dli_fname);
    return text;
}

static void *ask1(get_v1 get, const char *name, int version, uint64_t flags) {
    void *out = (void *)0x5;
    int status = get(name, &out, version, flags);
    printf("v1 %s %d %d: %d %s\n", name, version, (int)flags, status, out ? "found" : "nothing");
    return out;
}
static void *ask2(get_v2 get, const char *name, int version, uint64_t flags) {
    void *out = (void *)0x5;
    int result = -1, status = get(name, &out, version, flags, &result);
    printf("v2 %s %d %d: %d %d %s\n", name, version, (int)flags, status, result, out ? "found" : "nothing");
    return out;
}
static void remember(void *f) { if (f) launches[launch_count++] = (launch)f; }

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    get_v1 v1 = (get_v1)dlsym(library, "cuGetProcAddress");
    get_v2 v2 = (get_v2)dlsym(library, "cuGetProcAddress_v2");
    printf("no such export: %s\n", dlsym(library, "cuGetProcAddress_v9") ? "found" : "nothing");

    /* The function itself, in both forms, through both forms, several times. */
    get_v2 again = (get_v2)ask2(v2, "cuGetProcAddress", 12000, 0);
    get_v1 older = (get_v1)ask2(again, "cuGetProcAddress", 11030, 0);
    older = (get_v1)ask1(older, "cuGetProcAddress", 11080, 0);
    again = (get_v2)ask1(older, "cuGetProcAddress", 13000, 0);
    ask2(again, "cuGetProcAddress", 11020, 0);

    remember(ask2(again, "cuLaunchKernel", 4000, 0));
    remember(ask2(again, "cuLaunchKernel", 13000, 2));
    remember(ask1(older, "cuLaunchKernel", 7000, 2));
    remember(ask1(v1, "cuLaunchKernel", 6050, 2));
    remember(ask2(v2, "cuLaunchKernel", 13050, 1));
    ask2(v2, "cuLaunchKernel", 3000, 0);
    ask2(again, "cuNoSuchThing", 13000, 0);
    ask1(older, "cuNoSuchThing", 13000, 0);
    ask1(v1, "", 13000, 0);
    int (*secret)(int) = (int (*)(int))ask2(again, "cuSecret", 13000, 0);
    printf("secret %d in %s\n", secret(41), what((void *)secret));

    /* One name, two signatures. */
    int (*old)(void *, void *, void *, size_t, void *, void *, size_t, size_t *, void *) = (int (*)(void *, void *, void *, size_t, void *, void *, size_t, size_t *, void *))ask2(again, "cuMemcpyBatchAsync", 12080, 0);
    int (*new)(void *, void *, void *, size_t, void *, void *, size_t, void *) = (int (*)(void *, void *, void *, size_t, void *, void *, size_t, void *))ask2(again, "cuMemcpyBatchAsync", 13000, 0);
    size_t fail = 1;
    printf("batch %d %d\n", old(&fail, &fail, &fail, 2, &fail, &fail, 3, &fail, (void *)0x4), new(&fail, &fail, &fail, 5, &fail, &fail, 6, (void *)0x7));
    int (*alloc_old)(unsigned *, unsigned) = (int (*)(unsigned *, unsigned))ask2(again, "cuMemAlloc", 2000, 0);
    int (*alloc)(unsigned long long *, size_t) = (int (*)(unsigned long long *, size_t))ask2(again, "cuMemAlloc", 3020, 0);
    unsigned small[2] = {7, 7};
    unsigned long long large = 0;
    printf("alloc %d", alloc_old(small, 5));
    printf(" %x %x", small[0], small[1]);
    printf(" %d", alloc(&large, 1ull << 33));
    printf(" %llx\n", large);

    /* The driver handles NULL places. */
    void *out = NULL;
    printf("null symbol %d\n", v2(NULL, &out, 12000, 0, NULL));
    printf("null place %d\n", v2("cuInit", NULL, 12000, 0, NULL));
    printf("null result %d %d\n", v2("cuInit", &out, 12000, 0, NULL), out != NULL);

    /* A returned function launches. */
    int (*load)(void **, const void *) = (int (*)(void **, const void *))ask2(again, "cuModuleLoadData", 2000, 0);
    int (*function)(void **, void *, const char *) = (int (*)(void **, void *, const char *))ask2(again, "cuModuleGetFunction", 2000, 0);
    void *module, *f;
    printf("load %d", load(&module, PTX));
    printf(" %d\n", function(&f, module, KERNEL_BETA));
    for (int i = 0; i < launch_count; i++) printf("launch %d\n", launches[i](f, i + 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    return 0;
}
