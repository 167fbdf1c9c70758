/* Regions from several host threads at once. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    int sums[4] = {0};
#pragma omp parallel for num_threads(4)
    for (int t = 0; t < 4; t++) {
        int s = 0;
#pragma omp target map(tofrom : s)
        for (int i = 0; i <= 100 * (t + 1); i++) s += i;
        sums[t] = s;
    }
    printf("%d %d %d %d\n", sums[0], sums[1], sums[2], sums[3]);
    return 0;
}
