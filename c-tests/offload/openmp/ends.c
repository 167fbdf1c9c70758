/* A program that ends by exit, with data still mapped. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    static int a[10];
#pragma omp target enter data map(to : a)
#pragma omp target
    a[0] = 3;
    printf("%d\n", a[0] != 99);
    exit(7);
}
