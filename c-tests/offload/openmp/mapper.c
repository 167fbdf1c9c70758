/* A user-defined mapper: a structure with the memory that it points to. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
typedef struct { int n; double *values; } Vector;
#pragma omp declare mapper(Vector v) map(v, v.values[0 : v.n])
int main(void) {
    Vector v = {100, malloc(100 * sizeof(double))};
    for (int i = 0; i < 100; i++) v.values[i] = i;
#pragma omp target map(tofrom : v)
    for (int i = 0; i < v.n; i++) v.values[i] *= 2;
    printf("%.0f\n", v.values[99]);
    free(v.values);
    return 0;
}
