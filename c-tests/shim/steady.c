/* Launches under a filter that kills a process at any system call but write and
   exit, and counts allocations meanwhile: `steady THREADS` prints their number. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda.h"

enum { WARM = 10, STEADY = 400 };

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
static int allocations;
void *malloc(size_t size) { return __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED), __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED), __libc_calloc(n, size); }
void *realloc(void *p, size_t size) { return __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED), __libc_realloc(p, size); }

static int forbid(void) {
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write), ALLOW(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static pthread_barrier_t warm;
static int done;

static void *work(void *threads) {
    for (int i = 0; i < WARM; i++) LAUNCH1(alpha(NULL, i, 0));
    if (pthread_barrier_wait(&warm) == PTHREAD_BARRIER_SERIAL_THREAD) __atomic_store_n(&done, -1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {}
    if (forbid()) _exit(4);
    int before = __atomic_load_n(&allocations, __ATOMIC_RELAXED);
    for (int i = 0; i < STEADY; i++) LAUNCH1(alpha(NULL, i, 0));
    char line[] = "allocations 0\n";
    int more = __atomic_load_n(&allocations, __ATOMIC_RELAXED) - before;
    line[12] = more > 9 ? '+' : (char)('0' + more);
    if (write(1, line, sizeof line - 1) < 0) _exit(5);
    /* Only the last thread may end the process; none may wait in the kernel. */
    if (__atomic_add_fetch(&done, 2, __ATOMIC_ACQ_REL) == -1 + 2 * (int)(intptr_t)threads) syscall(SYS_exit_group, 0);
    for (;;) {}
}

int main(int argc, char **argv) {
    intptr_t threads = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t ids[64];
    pthread_barrier_init(&warm, NULL, (unsigned)threads);
    for (int i = 1; i < threads; i++) pthread_create(&ids[i], NULL, work, (void *)threads);
    work((void *)threads);
    return 6;
}
