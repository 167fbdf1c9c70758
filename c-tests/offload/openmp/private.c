/* private, firstprivate, and a private array. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    int x = 4, y = 9, z[8] = {1, 2, 3}, out[8];
#pragma omp target teams distribute parallel for private(x) firstprivate(y, z) map(from : out)
    for (int i = 0; i < 8; i++) {
        x = i;
        out[i] = x + y + z[i];
    }
    for (int i = 0; i < 8; i++) printf("%d ", out[i]);
    puts("");
    return 0;
}
