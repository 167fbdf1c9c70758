/* A program without CUDA that is linked with a library that uses CUDA. */
#include <stdio.h>

int plugin_run(int n);
int plugin_version(void);

int main(void) {
    printf("%d %d\n", plugin_version(), plugin_run(3));
    return 0;
}
