// OpenMP offloading: teams, reductions, mapping, atomics, a declared target function.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#pragma omp declare target
static double f(int i) { return 1.0 / (1.0 + i); }
int counter;
#pragma omp end declare target

enum { N = 20000 };

int main(void) {
    int *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b), wrong = 0, away = 0;
    for (int i = 0; i < N; i++)
        a[i] = i * 3 + 1;
    printf("devices: %d\n", omp_get_num_devices());
#pragma omp target map(from : away)
    away = !omp_is_initial_device();
    printf("away: %d\n", away);
#pragma omp target teams distribute parallel for map(to : a[0 : N]) map(from : b[0 : N])
    for (int i = 0; i < N; i++)
        b[i] = a[i] * 2 - i;
    for (int i = 0; i < N; i++)
        wrong += b[i] != a[i] * 2 - i;
    printf("map: %d wrong\n", wrong);
    double sum = 0, expected = 0;
#pragma omp target teams distribute parallel for reduction(+ : sum)
    for (int i = 0; i < N; i++)
        sum += f(i);
    for (int i = 0; i < N; i++)
        expected += f(i);
    double off = (sum - expected) / expected;
    printf("reduction: %s\n", off < 1e-12 && off > -1e-12 ? "right" : "wrong");
#pragma omp target teams num_teams(4)
    {
#pragma omp parallel for
        for (int i = 0; i < 1000; i++) {
#pragma omp atomic
            counter += 1;
        }
    }
#pragma omp target update from(counter)
    printf("atomic: %d\n", counter);
    int most = -1;
#pragma omp target teams distribute parallel for reduction(max : most) map(to : a[0 : N])
    for (int i = 0; i < N; i++)
        if (a[i] % 1009 > most)
            most = a[i] % 1009;
    printf("maximum: %d\n", most);
    return 0;
}
