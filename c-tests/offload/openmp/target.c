/* A target region alone: generic mode, scalars by value, an array both ways. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    int a[16], n = 16, x = 3;
    double y = 0.5;
    for (int i = 0; i < n; i++) a[i] = i;
#pragma omp target map(tofrom : a)
    for (int i = 0; i < n; i++) a[i] = a[i] * x + (int)(y * 2);
    for (int i = 0; i < n; i++) printf("%d ", a[i]);
    puts("");
    return 0;
}
