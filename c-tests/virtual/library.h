/* Calls of the driver and of a library of NVIDIA's by name: the programs are built without CUDA's headers. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int call();
static void *driver, *library;

static call *of(void *from, const char *name)
{
    void *found = from ? dlsym(from, name) : NULL;
    if (!found) {
        printf("no %s\n", name);
        exit(0);
    }
    return (call *)found;
}
#define CUDA(name, ...)                                                                                                \
    do {                                                                                                               \
        int status = of(driver, name)(__VA_ARGS__);                                                                    \
        if (status) {                                                                                                  \
            printf("%s: %d\n", name, status);                                                                          \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
