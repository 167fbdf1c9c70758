/* Members of a structure, and a pointer in it. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
struct S { int n, *p; double d; };
int main(void) {
    struct S s = {20, malloc(20 * sizeof(int)), 1.5};
    for (int i = 0; i < 20; i++) s.p[i] = i;
#pragma omp target map(tofrom : s.p[0 : s.n], s.d) map(to : s.n)
    {
        for (int i = 0; i < s.n; i++) s.p[i] += 1;
        s.d *= 2;
    }
    printf("%d %.1f\n", s.p[19], s.d);
    free(s.p);
    return 0;
}
