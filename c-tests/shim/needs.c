/* A program that knows no CUDA but is linked with a library that does. */
#include <stdio.h>

int plugin_run(int n);
int plugin_version(void);

int main(void) {
    printf("%d %d\n", plugin_version(), plugin_run(3));
    return 0;
}
