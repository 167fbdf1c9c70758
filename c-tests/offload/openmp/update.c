/* update to and from, of parts. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    int a[100];
    for (int i = 0; i < 100; i++) a[i] = i;
#pragma omp target data map(alloc : a)
    {
#pragma omp target update to(a[0 : 50])
#pragma omp target
        for (int i = 0; i < 50; i++) a[i] *= 3;
#pragma omp target update from(a[10 : 20])
    }
    printf("%d %d\n", a[10], a[29]);
    return 0;
}
