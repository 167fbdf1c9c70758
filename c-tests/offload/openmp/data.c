/* A data region around several target regions. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    enum { N = 1000 };
    static double a[N], b[N];
    for (int i = 0; i < N; i++) a[i] = i;
#pragma omp target data map(to : a) map(from : b)
    {
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++) b[i] = a[i] * 2;
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++) b[i] += 1;
    }
    printf("%.0f %.0f\n", b[0], b[N - 1]);
    return 0;
}
