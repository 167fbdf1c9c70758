/* Starts a command by the shell, with the argument `cuda` after cuInit. Arguments: `cuda` or anything else, the command. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    if (!strcmp(arguments[1], "cuda")) {
        void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
        int (*init)(unsigned) = cuda ? (int (*)(unsigned))dlsym(cuda, "cuInit") : NULL;
        if (!init || init(0))
            return 3;
    }
    return system(arguments[2]) != 0;
}
