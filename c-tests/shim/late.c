/* Launches before main, from atexit handlers, from destructors. */
#include "cuda.h"

__attribute__((constructor(65535))) static void early(void) { LAUNCH(d3(1, 1, 1), d3(1, 1, 1), 0, NULL, beta()); }
static void at_exit(void) { printf("atexit %d\n", LAUNCH(d3(3, 1, 1), d3(1, 1, 1), 0, NULL, beta())); }
__attribute__((destructor)) static void destructor(void) {
    printf("destructor %d\n", LAUNCH(d3(4, 1, 1), d3(1, 1, 1), 0, NULL, beta()));
    fflush(stdout);
}
int main(void) {
    atexit(at_exit);
    printf("main %d\n", LAUNCH(d3(2, 1, 1), d3(1, 1, 1), 0, NULL, beta()));
    return 5;
}
