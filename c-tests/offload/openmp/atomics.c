/* Atomic updates and a critical section. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    int count = 0, most = 0;
#pragma omp target teams distribute parallel for map(tofrom : count, most)
    for (int i = 0; i < 1000; i++) {
#pragma omp atomic
        count += i % 3;
        if (i == 999) {
#pragma omp atomic write
            most = i;
        }
    }
    printf("%d %d\n", count, most);
    return 0;
}
