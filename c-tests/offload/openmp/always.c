/* Data that are already present: moved again only with the "always" modifier. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    int a[10] = {1}, seen = 0;
#pragma omp target data map(to : a)
    {
        a[0] = 7;
#pragma omp target map(to : a) map(from : seen)
        seen = a[0];
        (void)seen;
#pragma omp target map(always, to : a) map(from : seen)
        seen = a[0];
        printf("%d\n", seen);
    }
    return 0;
}
