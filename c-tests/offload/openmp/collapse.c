/* distribute parallel for, collapse(2), and a two-dimensional array. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    static float m[32][48];
#pragma omp target teams distribute parallel for collapse(2) map(from : m)
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 48; j++) m[i][j] = i * 0.5f + j;
    printf("%.1f %.1f\n", m[31][47], m[7][5]);
    return 0;
}
