/* Reductions of every common kind. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    enum { N = 4096 };
    long sum = 0, most = -1, least = 1 << 30;
    double product = 1;
    unsigned bits = 0;
    int all = 1;
#pragma omp target teams distribute parallel for reduction(+ : sum) reduction(max : most) reduction(min : least) reduction(| : bits) reduction(&& : all)
    for (int i = 0; i < N; i++) {
        sum += i;
        most = most > i ? most : i;
        least = least < i ? least : i;
        bits |= 1u << (i % 20);
        all = all && i >= 0;
    }
#pragma omp target parallel for reduction(* : product)
    for (int i = 1; i <= 10; i++) product *= i;
    printf("%ld %ld %ld %x %d %.0f\n", sum, most, least, bits, all, product);
    return 0;
}
