/* Regions with nowait, ordered by their dependences. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    static int a[1000], b[1000];
#pragma omp target nowait map(from : a) depend(out : a)
    for (int i = 0; i < 1000; i++) a[i] = i;
#pragma omp target nowait map(to : a) map(from : b) depend(in : a) depend(out : b)
    for (int i = 0; i < 1000; i++) b[i] = a[i] + 1;
#pragma omp taskwait
    printf("%d %d\n", a[999], b[999]);
    return 0;
}
