/* Teams with num_teams and thread_limit, each with its own element. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    int out[8] = {0};
#pragma omp target teams num_teams(2) thread_limit(1) map(from : out)
    {
        int t = omp_get_team_num();
        if (t < 8) out[t] = 10 + t;
    }
    printf("%d\n", out[0]);
    return 0;
}
