// Opens argv[1] three times in turn, and argv[2], a copy of it, beside the last: each time the library's variables
// are new.
#include <cstdio>
#include <dlfcn.h>

typedef int (*calculate_t)(int by, int n);

static void *opened(const char *path, calculate_t *calculate)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("%s\n", dlerror());
        return nullptr;
    }
    *calculate = (calculate_t)dlsym(library, "calculate");
    return library;
}

int main(int, char **argv)
{
    calculate_t one, two;
    for (int i = 3; i < 5; i++) {
        void *library = opened(argv[1], &one);
        if (!library)
            return 1;
        printf("opened %d", one(i, 10));
        printf(" %d\n", one(0, 20));
        dlclose(library);
    }
    if (!opened(argv[1], &one) || !opened(argv[2], &two))
        return 1;
    printf("anew %d %d\n", one(0, 10), two(7, 10));
    printf("both %d %d\n", one(6, 10), two(0, 10));
    return 0;
}
