/* Opens each named library and runs its region, twenty times in turn; the program itself is not linked with libomptarget. */
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
