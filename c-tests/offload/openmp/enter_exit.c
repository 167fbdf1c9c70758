/* enter data and exit data, heap memory, release and delete. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    int n = 500, *p = malloc(n * sizeof *p), *q = malloc(n * sizeof *q);
    for (int i = 0; i < n; i++) p[i] = i;
#pragma omp target enter data map(to : p[0 : n]) map(alloc : q[0 : n])
#pragma omp target teams distribute parallel for
    for (int i = 0; i < n; i++) q[i] = p[i] + 1;
#pragma omp target exit data map(release : p[0 : n]) map(from : q[0 : n])
    printf("%d %d\n", q[0], q[n - 1]);
#pragma omp target enter data map(to : p[0 : n])
#pragma omp target exit data map(delete : p[0 : n])
    free(p), free(q);
    return 0;
}
