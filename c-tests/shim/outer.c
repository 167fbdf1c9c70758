/* A library that opens another by its plain name: only its own RUNPATH finds it. */
#include <dlfcn.h>
#include <stdio.h>

int outer(void) {
    void *inner = dlopen("libinner.so", RTLD_NOW);
    if (!inner) {
        printf("%s\n", dlerror());
        return -1;
    }
    return ((int (*)(int))dlsym(inner, "plugin_run"))(4);
}
