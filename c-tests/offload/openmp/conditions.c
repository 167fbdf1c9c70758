/* if and device clauses: regions that run on the host because the program asks for it. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    int on = 0, host = omp_get_initial_device();
#pragma omp target if (0) map(tofrom : on)
    on += 1;
#pragma omp target if (1) map(tofrom : on)
    on += 10;
#pragma omp target device(host) map(tofrom : on)
    on += 100;
#pragma omp target device(1) map(tofrom : on)
    on += 1000;
    printf("%d\n", on);
    return 0;
}
