/* printf in a region. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
#pragma omp target
    {
        printf("in a region: %d\n", 42);
    }
    puts("after it");
    return 0;
}
