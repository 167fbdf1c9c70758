/* A libomptarget for tests: it runs nothing, prints each call on standard output, and behaves as STUB_DEVICES says:
   with 0 devices it refuses every region. STUB_QUIET: it prints nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi.h"

static int devices(void) {
    static int count = -1;
    if (count < 0) count = getenv("STUB_DEVICES") ? atoi(getenv("STUB_DEVICES")) : 1;
    return count;
}

static int quiet(void) {
    static int answer = -1;
    if (answer < 0) answer = getenv("STUB_QUIET") != NULL;
    return answer;
}

/* Sums of the arguments, so that a changed argument is noticed: addresses differ from run to run. */
#define SAY(...) do { if (!quiet()) { printf(__VA_ARGS__); fflush(stdout); } } while (0)

static int run(const char *name, int64_t device, int32_t teams, int32_t threads, int32_t count, void **pointers, int64_t *sizes, int64_t *types) {
    if (quiet()) return devices() > 0 ? 0 : ~0;
    printf("%s device %ld teams %d threads %d:", name, (long)device, teams, threads);
    for (int i = 0; i < count; i++) printf(" %ld %lx%s", (long)sizes[i], (long)types[i], pointers[i] ? "" : " null");
    printf("\n");
    fflush(stdout);
    return devices() > 0 && device < devices() ? 0 : ~0;
}

int omp_get_num_devices(void) { return devices(); }
void __tgt_register_lib(struct descriptor *d) { SAY("register %d images %ld bytes\n", d->images, (long)((const char *)d->entries_end - (const char *)d->entries)); }
void __tgt_unregister_lib(struct descriptor *d) { SAY("unregister %d images\n", d->images); }
void __tgt_init_all_rtls(void) { SAY("init\n"); }

int __tgt_target_kernel(struct ident *l, int64_t d, int32_t teams, int32_t threads, void *host, struct kernel_args *a) {
    (void)l, (void)host;
    if (a->version < 1 || a->version > 5) {
        SAY("kernel of version %u\n", a->version);
        return 0;
    }
    return run("kernel", d, teams, threads, a->count, a->pointers, a->sizes, a->types);
}
int __tgt_target_kernel_nowait(struct ident *l, int64_t d, int32_t teams, int32_t threads, void *host, struct kernel_args *a, int32_t n, void *list, int32_t m, void *other) {
    SAY("depend %d %d %d %d\n", n, list != NULL, m, other != NULL);
    return __tgt_target_kernel(l, d, teams, threads, host, a);
}
#define OLD int64_t d, void *host, int32_t n, void **b, void **p, int64_t *s, int64_t *t
#define MAPPER struct ident *l, int64_t d, void *host, int32_t n, void **b, void **p, int64_t *s, int64_t *t, void **names, void **mappers
#define DEPEND int32_t dn, void *dl, int32_t an, void *al
#define USED (void)host, (void)b
int __tgt_target(OLD) { USED; return run("target", d, 1, 0, n, p, s, t); }
int __tgt_target_nowait(OLD, DEPEND) { USED, (void)dl, (void)al; return run("target_nowait", d, dn, an, n, p, s, t); }
int __tgt_target_mapper(MAPPER) { USED, (void)l, (void)mappers; return run(names ? (char *)names[0] : "mapper", d, 1, 0, n, p, s, t); }
int __tgt_target_nowait_mapper(MAPPER, DEPEND) { USED, (void)l, (void)names, (void)mappers, (void)dl, (void)al; return run("nowait_mapper", d, dn, an, n, p, s, t); }
int __tgt_target_teams(OLD, int32_t teams, int32_t threads) { USED; return run("teams", d, teams, threads, n, p, s, t); }
int __tgt_target_teams_nowait(OLD, int32_t teams, int32_t threads, DEPEND) { USED, (void)dl, (void)al; SAY("%d %d ", dn, an); return run("teams_nowait", d, teams, threads, n, p, s, t); }
int __tgt_target_teams_mapper(MAPPER, int32_t teams, int32_t threads) { USED, (void)l, (void)names, (void)mappers; return run("teams_mapper", d, teams, threads, n, p, s, t); }
int __tgt_target_teams_nowait_mapper(MAPPER, int32_t teams, int32_t threads, DEPEND) { USED, (void)l, (void)names, (void)mappers, (void)dl, (void)al; SAY("%d %d ", dn, an); return run("teams_nowait_mapper", d, teams, threads, n, p, s, t); }

#define ARRAYS int64_t d, int32_t n, void **b, void **p, int64_t *s, int64_t *t
#define MAPS(which) \
    void __tgt_target_data_##which(ARRAYS) { (void)b; run(#which, d, 0, 0, n, p, s, t); } \
    void __tgt_target_data_##which##_nowait(ARRAYS, DEPEND) { (void)b, (void)dl, (void)al; run(#which "_nowait", d, dn, an, n, p, s, t); } \
    void __tgt_target_data_##which##_mapper(struct ident *l, ARRAYS, void **names, void **mappers) { (void)l, (void)b, (void)names, (void)mappers; run(#which "_mapper", d, 0, 0, n, p, s, t); } \
    void __tgt_target_data_##which##_nowait_mapper(struct ident *l, ARRAYS, void **names, void **mappers, DEPEND) { (void)l, (void)b, (void)names, (void)mappers, (void)dl, (void)al; run(#which "_nowait_mapper", d, dn, an, n, p, s, t); }
MAPS(begin)
MAPS(end)
MAPS(update)

unsigned __llvmPushCallConfiguration(struct dim3 g, struct dim3 b, size_t shared, void *stream) {
    SAY("push %u %u %u, %u %u %u, %zu %d\n", g.x, g.y, g.z, b.x, b.y, b.z, shared, stream != NULL);
    return 0;
}
int llvmLaunchKernel(const void *f, struct dim3 g, struct dim3 b, void *args, size_t shared, void *stream) {
    SAY("launch %d %u %u %u, %u %u %u, %d %zu %d\n", f != NULL, g.x, g.y, g.z, b.x, b.y, b.z, args != NULL, shared, stream != NULL);
    return 0;
}

void *omp_target_alloc(size_t size, int device) { SAY("alloc %zu %d\n", size, device); return device < devices() ? malloc(size) : NULL; }
void omp_target_free(void *p, int device) { SAY("free %d %d\n", p != NULL, device); free(p); }
int omp_target_is_present(const void *p, int device) { SAY("present %d %d\n", p != NULL, device); return p != NULL; }
int omp_target_memcpy(void *to, const void *from, size_t n, size_t a, size_t b, int d, int s) {
    SAY("memcpy %zu %zu %zu %d %d\n", n, a, b, d, s);
    if (d >= devices() && d != -1) return ~0;
    memcpy((char *)to + a, (const char *)from + b, n);
    return 0;
}
int omp_target_memcpy_rect(void *to, const void *from, size_t e, int n, const size_t *v, const size_t *a, const size_t *b, const size_t *c, const size_t *f, int d, int s) {
    SAY("rect %d %d %zu %d %d %d %d %d %d %d %d\n", to != NULL, from != NULL, e, n, v != NULL, a != NULL, b != NULL, c != NULL, f != NULL, d, s);
    return 0;
}
int omp_target_associate_ptr(const void *h, const void *p, size_t n, size_t o, int d) { SAY("associate %d %d %zu %zu %d\n", h != NULL, p != NULL, n, o, d); return 0; }
#ifndef OLDER /* an older release lacks it */
void *omp_target_memset(void *p, int v, size_t n, int d) { SAY("memset %d %zu %d\n", v, n, d); return memset(p, v, n); }
#endif
