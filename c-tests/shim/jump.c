/* longjmp out of a callback inside a launch: later calls are outermost again. */
#include <setjmp.h>

#include "cuda.h"

static jmp_buf back;
static void leap(void *data) { longjmp(back, (int)(intptr_t)data); }
static __attribute__((noinline)) void deeper(int levels, intptr_t n) {
    volatile char room[256] = {0};
    (void)room[0];
    if (levels) { deeper(levels - 1, n); return; }
    stub_in_launch(leap, (void *)n);
    LAUNCH(d3((unsigned)n, 1, 1), d3(1, 1, 1), 0, NULL, beta());
    printf("not reached\n");
}

int main(void) {
    for (volatile intptr_t n = 1; n <= 40; n++) {
        if (setjmp(back) == 0) deeper(n % 7, n);
        LAUNCH(d3(100 + (unsigned)n, 1, 1), d3(1, 1, 1), 0, NULL, beta());
    }
    printf("%lu\n", stub_launches());
    return 0;
}
