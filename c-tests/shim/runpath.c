/* See outer.c. */
#include <dlfcn.h>
#include <stdio.h>

int outer(void);
int main(void) {
    printf("inner %d\n", outer());
    printf("from here %s\n", dlopen("libinner-nowhere.so", RTLD_NOW) ? "found" : "not found");
    return 0;
}
