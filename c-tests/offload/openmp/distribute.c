/* The usual combined construct, with a sum. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    enum { N = 10000 };
    static int a[N], b[N];
    long sum = 0;
    for (int i = 0; i < N; i++) a[i] = i % 7, b[i] = i % 11;
#pragma omp target teams distribute parallel for map(to : a, b) reduction(+ : sum)
    for (int i = 0; i < N; i++) sum += a[i] * b[i];
    printf("%ld\n", sum);
    return 0;
}
