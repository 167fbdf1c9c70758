/* `MODE [ARGUMENT]`: launches, does what few programs do, launches again, and says what it saw. With `-x cu` for NVIDIA's
   compiler it is a program of its own; else it is linked with the stub. */
#ifdef __CUDACC__
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
__device__ int count;
__global__ void add(void) { atomicAdd(&count, 1); }
static int failed;
static void launches(int times) {
    for (int i = 0; i < times; i++) add<<<1, 1>>>();
    if (cudaDeviceSynchronize() != cudaSuccess) failed++;
}
static unsigned long counted(void) {
    int all = -1;
    if (cudaMemcpyFromSymbol(&all, count, sizeof all) != cudaSuccess || failed) return 999999;
    return all;
}
#else
#include "cuda.h"
static void launches(int times) {
    for (int i = 0; i < times; i++) LAUNCH(d3(1, 1, 1), d3(1, 1, 1), 0, NULL, alpha(NULL, i, 0));
}
static unsigned long counted(void) { return stub_launches(); }
#endif
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void *launching(void *times) {
    if (times) launches((int)(size_t)times);
    return NULL;
}

/* A thread with so small a stack; what creating it says. */
static int small_thread(size_t bytes, size_t times) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    int answer = pthread_attr_setstacksize(&attributes, bytes);
    if (!answer) answer = pthread_create(&thread, &attributes, launching, (void *)times);
    if (!answer) pthread_join(thread, NULL);
    return answer;
}

static char *page;
static volatile int faults, ticks;
static char alternate[64 << 10];

/* On the alternate stack: what the program waits for. */
static void on_fault(int number, siginfo_t *info, void *context) {
    char here;
    (void)number, (void)context;
    if (&here < alternate || &here >= alternate + sizeof alternate) _exit(50);
    if ((char *)info->si_addr != page + 100) _exit(51);
    faults++;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}
static void on_tick(int number) {
    (void)number;
    ticks++;
}

static void own_handlers(void) {
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = alternate, stack.ss_size = sizeof alternate;
    sigaltstack(&stack, NULL);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault, action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, NULL);
    signal(SIGPROF, on_tick);
    struct itimerval timer = {{0, 2000}, {0, 2000}};
    setitimer(ITIMER_PROF, &timer, NULL);
    page = (char *)mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 20; i++) {
        launches(10);
        page[100] = 1;
        mprotect(page, 4096, PROT_NONE);
    }
    while (ticks < 3) launches(1);
    timer.it_value.tv_usec = timer.it_interval.tv_usec = 0;
    setitimer(ITIMER_PROF, &timer, NULL);
    struct sigaction now;
    sigaction(SIGSEGV, NULL, &now);
    stack_t after;
    sigaltstack(NULL, &after);
    printf("%d faults, handler %d, stack %d\n", faults, now.sa_sigaction == on_fault, after.ss_sp == alternate);
    exit(0);
}

/* Closes cushim's libraries that it finds, as often as they may have been opened. */
static int close_ours(struct dl_phdr_info *info, size_t size, void *found) {
    (void)size;
    if (info->dlpi_name && strstr(info->dlpi_name, "cushim")) strcpy((char *)found, info->dlpi_name);
    return 0;
}
static void closes_us(void) {
    char found[PATH_MAX] = "";
    dl_iterate_phdr(close_ours, found);
    void *handle = found[0] ? dlopen(found, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    for (int i = 0; handle && i < 3; i++)
        if (dlclose(handle)) break;
}

static void descriptors(const char *when) {
    int file = open("/dev/null", O_RDONLY);
    printf("%s: %d\n", when, file);
    if (file >= 0) close(file);
}

/* Without its first three files: it writes to the file of that name. */
static void without_standard_files(const char *name) {
    launches(10);
    int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    int other = open("/dev/null", O_RDWR);
    char line[100];
    launches(10);
    int length = snprintf(line, sizeof line, "%d %d %lu\n", file, other, counted());
    if (write(1, "to 1\n", 5) < 0) length += snprintf(line + length, 50, "1: %s\n", strerror(errno));
    if (write(2, "to 2\n", 5) < 0) length += snprintf(line + length, 50, "2: %s\n", strerror(errno));
    if (write(file, line, length) != length) _exit(52);
    exit(0);
}

static pid_t started(void) {
    pid_t child = vfork();
    if (!child) {
        execl("/bin/true", "true", NULL);
        _exit(55);
    }
    return child;
}

static int is(const char *mode, const char *name) { return !strcmp(mode, name); }

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "", *more = argc > 2 ? argv[2] : "";
    setvbuf(stdout, NULL, _IONBF, 0);
    if (is(mode, "files")) without_standard_files(more);
    if (is(mode, "handlers")) own_handlers();
    if (is(mode, "early-close")) close_range(3, ~0u, 0);
    if (is(mode, "early-close-us")) closes_us();
    launches(10);
    if (is(mode, "close")) {
        close_range(3, ~0u, 0);
        descriptors("first");
    } else if (is(mode, "close-all")) {
        close_range(0, ~0u, 0);
        launches(10);
        if (open(more, O_RDWR | O_CREAT | O_TRUNC, 0600) != 0 || dup(0) != 1 || dup(0) != 2) _exit(53);
    } else if (is(mode, "close-us")) {
        closes_us();
    } else if (is(mode, "stacks")) {
        for (size_t kib = atoi(more); kib <= 64; kib += 11) printf("%zu KiB: %s\n", kib, strerror(small_thread(kib << 10, 5)));
    } else if (is(mode, "idle-stacks")) {
        printf("16 KiB: %s\n", strerror(small_thread(16 << 10, 0)));
    } else if (is(mode, "undumpable")) {
        prctl(PR_SET_DUMPABLE, 0);
        if (geteuid() == 0 && setresuid(65534, 65534, 65534)) _exit(54);
    } else if (is(mode, "chroot")) {
        if (chroot(more) || chdir("/")) {
            printf("skipped\n");
            return 0;
        }
    } else if (is(mode, "forks")) {
        for (int i = 0; i < 3; i++) {
            pid_t child = is(more, "vfork") ? started() : fork();
            if (!child) _exit(i);
            int status = -1;
            waitpid(child, &status, 0);
            printf("%d\n", status);
        }
    } else if (is(mode, "limits")) {
        struct rlimit files = {5, 5}, size = {0, 0};
        setrlimit(RLIMIT_NOFILE, &files);
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &size);
    } else if (is(mode, "crash")) {
        raise(SIGSEGV);
    }
    launches(10);
    pthread_t thread;
    if (pthread_create(&thread, NULL, launching, (void *)10)) _exit(56);
    pthread_join(thread, NULL);
    printf("%lu launches\n", counted());
    return 7;
}
