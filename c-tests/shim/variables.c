/* A program whose image has a variable: two launches, the second one far down the stack, and the status of each. */
#define MORE_PTX ".visible .const .align 4 .f32 scale;\n"
#include <stdio.h>
#include "cuda.h"

static int launch(int i) { return (int)LAUNCH1(alpha(NULL, i, 1)); }
__attribute__((noinline)) static int launch_below(int i) {
    volatile char room[1 << 16];
    room[0] = room[sizeof room - 1] = 0;
    return launch(i) + room[0];
}

int main(void) {
    printf("%d\n", launch(0));
    printf("%d\n", launch_below(1));
    return 0;
}
