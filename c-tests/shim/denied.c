/* `CALL HOW`: a sandbox refuses the system call CALL, with EPERM, ENOSYS, or `kill`; then two threads launch 3000 times. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda.h"

static const struct { const char *name; int number; } CALLS[] = {
    {"getrandom", SYS_getrandom}, {"clock_gettime", SYS_clock_gettime}, {"openat", SYS_openat}, {"open", SYS_open},
    {"memfd_create", SYS_memfd_create}, {"fallocate", SYS_fallocate}, {"mmap", SYS_mmap}, {"madvise", SYS_madvise},
    {"ftruncate", SYS_ftruncate}, {"fcntl", SYS_fcntl}, {"newfstatat", SYS_newfstatat}, {"readlink", SYS_readlink},
    {"fstat", SYS_fstat}, {"munmap", SYS_munmap}, {"prlimit64", SYS_prlimit64}, {"getrlimit", SYS_getrlimit},
    {"futex", SYS_futex}, {"statx", SYS_statx}, {"mremap", SYS_mremap}, {"sched_yield", SYS_sched_yield},
};

static void deny(int number, unsigned answer) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        puts("no sandbox here");
        exit(77);
    }
}

static int done;

static void *more(void *none) {
    for (int i = 0; i < 1500; i++) LAUNCH1(alpha(NULL, i, 0));
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    return none;
}

int main(int argc, char **argv) {
    unsigned answer = SECCOMP_RET_ERRNO | (!strcmp(argv[2], "ENOSYS") ? ENOSYS : EPERM);
    if (!strcmp(argv[2], "kill")) answer = SECCOMP_RET_KILL_PROCESS;
    pthread_t thread;
    pthread_barrier_t none;
    (void)none;
    /* By now the runtime below has made all system calls that it needs. */
    if (argc > 3) LAUNCH1(alpha(NULL, 1, 0));
    for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++)
        if (!strcmp(argv[1], CALLS[i].name)) deny(CALLS[i].number, answer);
    if (pthread_create(&thread, NULL, more, NULL) == 0) {
        pthread_detach(thread);
        /* pthread_join calls futex if the thread is slow, and glibc ends the program if futex is refused. */
        while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) sched_yield();
    } else {
        more(NULL);
    }
    more(NULL);
    printf("%lu launches\n", stub_launches());
    return 0;
}
