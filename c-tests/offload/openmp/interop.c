/* An interop object: created, queried, used, destroyed. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    omp_interop_t object = omp_interop_none;
    int a = 1;
#pragma omp interop init(targetsync : object) device(0)
#pragma omp interop use(object)
#pragma omp target map(tofrom : a)
    a += 1;
#pragma omp interop destroy(object)
    printf("%d %d\n", a, object == omp_interop_none);
    return 0;
}
