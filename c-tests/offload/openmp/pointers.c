/* use_device_ptr and use_device_addr. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    int a[50], *q = a;
    for (int i = 0; i < 50; i++) a[i] = i;
#pragma omp target data map(tofrom : q[0 : 50]) use_device_ptr(q)
    {
#pragma omp target is_device_ptr(q)
        for (int i = 0; i < 50; i++) q[i] *= 3;
    }
    printf("%d\n", a[49]);
#pragma omp target data map(tofrom : a) use_device_addr(a)
    {
#pragma omp target has_device_addr(a)
        a[0] = 77;
    }
    printf("%d\n", a[0]);
    return 0;
}
