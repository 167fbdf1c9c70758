// fork before CUDA is used (both processes use it), fork after (the child does not use
// CUDA, or executes this program again), and vfork with exec.
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include "common.h"

__global__ void mark(int *v, int who) { *v = who; }

static int use(int who)
{
    int *d = nullptr, h = 0;
    CK(cudaMalloc(&d, sizeof h));
    mark<<<1, 1>>>(d, who);
    LAUNCHED("mark");
    CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("process %d: %d\n", who, h);
    return finish();
}

static int wait_for(pid_t child)
{
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, nullptr, _IONBF, 0);
    if (argc > 1)
        return use(atoi(argv[1]));
    pid_t before = fork();
    if (before == 0)
        _exit(use(1));
    int first = wait_for(before);
    int own = use(2);
    pid_t after = fork();
    if (after == 0) {
        printf("child after CUDA\n");
        _exit(7);
    }
    int second = wait_for(after);
    pid_t anew = fork();
    if (anew == 0) {
        execl("/proc/self/exe", argv[0], "3", (char *)nullptr);
        _exit(99);
    }
    int third = wait_for(anew);
    printf("children %d %d %d\n", first, second, third);
    return own ? own : use(4);
}
