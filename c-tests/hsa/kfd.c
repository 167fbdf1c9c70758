// Preloaded into rocminfo, which opens the kernel driver's device and asks lsmod before it asks the runtime.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

int open(const char *path, int flags, ...) {
    static int (*real)(const char *, int, ...);
    va_list list;
    va_start(list, flags);
    int mode = va_arg(list, int);
    va_end(list);
    if (!real)
        real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    return real(strcmp(path, "/dev/kfd") ? path : "/dev/null", flags, mode);
}
