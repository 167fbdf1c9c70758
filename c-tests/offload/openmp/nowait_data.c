/* Mappings that begin, are updated and end asynchronously. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    static int a[100];
    for (int i = 0; i < 100; i++) a[i] = i;
#pragma omp target enter data map(to : a) nowait depend(out : a)
#pragma omp target nowait depend(inout : a)
    for (int i = 0; i < 100; i++) a[i] *= 2;
#pragma omp target update from(a) nowait depend(inout : a)
#pragma omp target exit data map(release : a) nowait depend(inout : a)
#pragma omp taskwait
    printf("%d\n", a[99]);
    return 0;
}
