/* How programs look for CUDA, and what dlsym returns to them. The
   results must be those without the shim; but where a function really
   exists, it may be the shim's. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef _GNU_SOURCE
#error "RTLD_NEXT needs it"
#endif

int cuInit(unsigned) __attribute__((weak));
int cuLaunchKernel(void) __attribute__((weak));
int cudaGetDeviceCount(int *) __attribute__((weak));
int cudaMalloc(void **, size_t) __attribute__((weak));

static const char *yes(void *p) { return p ? "there" : "absent"; }
/* The file that contains an address; the shim's own file is skipped. */
static const char *file(void *p) {
    Dl_info info;
    if (!p) return "nothing";
    if (!dladdr(p, &info)) return "unknown";
    const char *slash = strrchr(info.dli_fname, '/');
    const char *name = slash ? slash + 1 : info.dli_fname;
    return strstr(name, "cushim") ? "the shim" : name;
}

int main(int argc, char **argv) {
    static const char *names[] = {"cuInit", "cuLaunchKernel", "cuGetProcAddress", "cudaLaunchKernel", "cudaMalloc",
                                  "__cudaRegisterFatBinary", "cudaGraphAddNode", "cuNoSuchThing"};
    if (argc > 1 && !dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL)) printf("cannot open %s\n", argv[1]);
    void *self = dlopen(NULL, RTLD_NOW), *libc = dlopen("libc.so.6", RTLD_NOW);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        dlerror();
        printf("%s:", names[i]);
        printf(" default %s", yes(dlsym(RTLD_DEFAULT, names[i])));
        printf(" %s,", dlerror() ? "error" : "no error");
        printf(" self %s", yes(dlsym(self, names[i])));
        printf(" %s,", dlerror() ? "error" : "no error");
        printf(" libc %s", yes(dlsym(libc, names[i])));
        printf(" %s\n", dlerror() ? "error" : "no error");
    }
    for (size_t i = 3; i < 6; i++) {
        printf("%s:", names[i]);
        printf(" 11 %s", yes(dlvsym(RTLD_DEFAULT, names[i], "libcudart.so.11.0")));
        printf(" 12 %s", yes(dlvsym(RTLD_DEFAULT, names[i], "libcudart.so.12")));
        printf(" 13 %s", yes(dlvsym(RTLD_DEFAULT, names[i], "libcudart.so.13")));
        printf(" 99 %s\n", yes(dlvsym(RTLD_DEFAULT, names[i], "libcudart.so.99")));
    }
    printf("puts %s %s\n", file(dlsym(RTLD_DEFAULT, "puts")), file(dlsym(libc, "puts")));
    printf("next %s\n", file(dlsym(RTLD_NEXT, "puts")));
    printf("version %s\n", file(dlvsym(libc, "getenv", "GLIBC_2.2.5")));
    printf("no version %s\n", file(dlvsym(libc, "getenv", "GLIBC_9.9")));
    printf("nonsense handle %s\n", yes(dlsym(self, "no_such_symbol_at_all")));
    printf("%s\n", strstr(dlerror(), "no_such_symbol_at_all") ? "said so" : "said nothing");
    printf("no library %s\n", yes(dlopen("libno-such-thing.so", RTLD_NOW)));
    printf("%s\n", strstr(dlerror(), "libno-such-thing.so") ? "said so" : "said nothing");
    errno = 5;
    dlsym(self, "main");
    printf("errno %d\n", errno);
#ifdef WEAK
    printf("weak %s %s", yes((void *)cuInit), yes((void *)cuLaunchKernel));
    printf(" %s %s\n", yes((void *)cudaGetDeviceCount), yes((void *)cudaMalloc));
#endif
    return 0;
}
