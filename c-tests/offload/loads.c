/* Opens the libraries that are named in turn and runs their region, twenty times; itself it is linked with nothing. */
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 0; count > 1 && i < 20; i++) {
        void *library = dlopen(words[1 + i % (count - 1)], RTLD_NOW | RTLD_LOCAL);
        if (!library) return puts(dlerror()), 1;
        printf("%d\n", ((int (*)(void))dlsym(library, "plugin_run"))());
        dlclose(library);
    }
    return 0;
}
