/* The same region a thousand times, and one with many arguments. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    int a = 0, b[4] = {0}, c[4] = {0}, d[4] = {0}, e[4] = {0}, f[4] = {0}, g[4] = {0}, h[4] = {0};
    for (int i = 0; i < 1000; i++) {
#pragma omp target map(tofrom : a)
        a += i;
    }
#pragma omp target map(tofrom : b, c, d, e, f, g, h)
    b[0] = c[0] = d[0] = e[0] = f[0] = g[0] = h[0] = 5;
    printf("%d %d\n", a, b[0] + c[0] + d[0] + e[0] + f[0] + g[0] + h[0]);
    return 0;
}
