/* The program's own API calls: device memory, copies both ways, memsets, presence. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    int device = omp_get_default_device(), host = omp_get_initial_device();
    int a[100], b[100];
    for (int i = 0; i < 100; i++) a[i] = i;
    int *p = omp_target_alloc(sizeof a, device);
    printf("%d\n", p != NULL);
    printf("%d\n", omp_target_memcpy(p, a, sizeof a, 0, 0, device, host));
#pragma omp target is_device_ptr(p)
    for (int i = 0; i < 100; i++) p[i] += 1;
    printf("%d\n", omp_target_memcpy(b, p, sizeof b, 0, 0, host, device));
    printf("%d %d\n", b[0], b[99]);
    printf("%d\n", omp_target_is_present(a, device));
    printf("%d\n", omp_target_associate_ptr(a, p, sizeof a, 0, device));
    printf("%d %d\n", omp_target_is_present(a, device), omp_get_mapped_ptr(a, device) == (void *)p);
    printf("%d\n", omp_target_disassociate_ptr(a, device));
    size_t volume[2] = {2, 3}, at[2] = {0, 1}, from[2] = {1, 0}, dimensions[2] = {10, 10};
    printf("%d\n", omp_target_memcpy_rect(p, a, sizeof(int), 2, volume, at, from, dimensions, dimensions, device, host));
    omp_target_free(p, device);
    return 0;
}
