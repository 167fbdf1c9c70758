/* Opens the libraries named by its arguments, runs their kernels, closes them.
   `loop N A B …`: one after another, N times. `all A B …`: all at once, each
   twice, then closed. `own A B …`: as `all`, together with the program's own kernels. */
#include <dlfcn.h>

#include "cuda.h"

static void *open_one(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) { printf("%s\n", dlerror()); exit(1); }
    return library;
}
static void run(void *library, int times) {
    int (*run)(int) = (int (*)(int))dlsym(library, "plugin_run");
    int (*version)(void) = (int (*)(void))dlsym(library, "plugin_version");
    printf("%d %d\n", version(), run(times));
}

int main(int argc, char **argv) {
    if (!strcmp(argv[1], "loop")) {
        for (int round = 0; round < atoi(argv[2]); round++)
            for (int i = 3; i < argc; i++) {
                void *library = open_one(argv[i]);
                run(library, 3);
                dlclose(library);
            }
        return 0;
    }
    void *libraries[8];
    for (int i = 2; i < argc; i++) libraries[i] = open_one(argv[i]);
    for (int round = 0; round < 2; round++)
        for (int i = 2; i < argc; i++) {
            run(libraries[i], 2);
#ifndef NO_STUBS
            printf("own %d\n", LAUNCH1(beta()));
#endif
        }
    for (int i = 2; i < argc; i++) dlclose(libraries[i]);
    return 0;
}
