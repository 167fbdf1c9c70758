/*
 * Which capability a library sees that selects images by it: libcurand of CUDA 13, which imports
 * the runtime's function. With -DRUNTIME: a runtime for linking, of a device 7.5; with -DLIBRARY: the library; else a program that opens the
 * libraries of its arguments.
 */
#include <dlfcn.h>
#include <stdio.h>

enum { WARP_SIZE = 10, MAJOR = 75, MINOR = 76 };

#ifdef RUNTIME
int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == MAJOR ? 7 : attribute == MINOR ? 5 : 32;
    return device != 0;
}
#else
int cudaDeviceGetAttribute(int *value, int attribute, int device);

int told(const char *who)
{
    int major = -1, minor = -1, warp = -1, none = -1;
    int (*direct)(int *, int, int) = cudaDeviceGetAttribute;
    int status = cudaDeviceGetAttribute(&major, MAJOR, 0);
    status |= direct(&minor, MINOR, 0);
    status |= cudaDeviceGetAttribute(&warp, WARP_SIZE, 0);
    printf("%s: %d, %d.%d, warp of %d, no device: %d, %d\n", who, status, major, minor, warp,
           cudaDeviceGetAttribute(&none, MAJOR, 99) != 0, none);
    return 0;
}

#ifndef LIBRARY
int main(int count, char **names)
{
    for (int n = 1; n < count; n++) {
        void *library = dlopen(names[n], RTLD_LAZY | RTLD_LOCAL);
        if (!library)
            return !!printf("%s\n", dlerror());
        const char *file = names[n];
        for (const char *at = names[n]; *at; at++)
            if (*at == '/')
                file = at + 1;
        ((int (*)(const char *))dlsym(library, "told"))(file);
    }
    return told("program");
}
#endif
#endif
