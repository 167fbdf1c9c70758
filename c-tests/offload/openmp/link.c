/* A variable with a link clause: on the device only while it is mapped. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int big[1000];
#pragma omp declare target link(big)
int main(void) {
    for (int i = 0; i < 1000; i++) big[i] = i;
#pragma omp target map(tofrom : big)
    for (int i = 0; i < 1000; i++) big[i] += 1;
    printf("%d\n", big[999]);
    return 0;
}
