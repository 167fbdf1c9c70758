/* Two launches by a program that needs only CUDA's own functions, so that it can be linked with NVIDIA's runtime. */
#include "cuda.h"

int main(void) {
    int first = LAUNCH1(alpha(NULL, 1, 2)), second = LAUNCH1(beta());
    printf("%d %d\n", first, second);
    return 0;
}
