/* Device variables, device functions, and a constant table. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#pragma omp declare target
int counter = 5;
static const int table[4] = {1, 2, 4, 8};
static int twice(int x) { return 2 * x; }
#pragma omp end declare target
int main(void) {
    int out = 0;
#pragma omp target map(from : out)
    out = twice(counter) + table[3];
    printf("%d\n", out);
    counter = 9;
#pragma omp target update to(counter)
#pragma omp target map(from : out)
    out = counter;
    printf("%d\n", out);
    return 0;
}
