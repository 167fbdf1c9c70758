/* A program whose image has a variable: two launches, and the status of each. */
#define MORE_PTX ".visible .const .align 4 .f32 scale;\n"
#include <stdio.h>
#include "cuda.h"

int main(void) {
    for (int i = 0; i < 2; i++) printf("%d\n", (int)LAUNCH1(alpha(NULL, i, 1)));
    return 0;
}
