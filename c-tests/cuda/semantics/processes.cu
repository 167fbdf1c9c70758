// Memory and an event of another process, by their handles.
#include <sys/wait.h>
#include <unistd.h>
#include "../common.h"

__global__ void fill(int *v, int with) { v[threadIdx.x] = with + threadIdx.x; }

struct Handles {
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t event;
};

static int child(int in, int out)
{
    Handles handles;
    if (read(in, &handles, sizeof handles) != sizeof handles)
        return 4;
    int *theirs = nullptr;
    cudaEvent_t event = nullptr;
    NEED(cudaIpcOpenMemHandle((void **)&theirs, handles.memory, cudaIpcMemLazyEnablePeerAccess));
    NEED(cudaIpcOpenEventHandle(&event, handles.event));
    CK(cudaStreamWaitEvent(0, event, 0));
    fill<<<1, 32>>>(theirs, 1000);
    LAUNCHED("fill");
    CK(cudaDeviceSynchronize());
    CK(cudaEventDestroy(event));
    CK(cudaIpcCloseMemHandle(theirs));
    return write(out, "x", 1) == 1 ? finish() : 4;
}

int main()
{
    int there[2], back[2];
    if (pipe(there) || pipe(back))
        return 4;
    // Before any CUDA call: CUDA does not survive a fork after its initialisation.
    pid_t pid = fork();
    if (pid == 0) {
        // So that the parent holds the only end: when it closes it, reading ends.
        close(there[1]);
        close(back[0]);
        _exit(child(there[0], back[1]));
    }
    close(back[1]);
    close(there[0]);
    int *mine = nullptr, h[32] = {};
    Handles handles;
    cudaEvent_t event = nullptr;
    bool made = CK(cudaMalloc(&mine, sizeof h)) &&
        CK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming)) && CK(cudaEventRecord(event)) &&
        CK(cudaIpcGetMemHandle(&handles.memory, mine)) && CK(cudaIpcGetEventHandle(&handles.event, event));
    char byte = 0;
    if (made && write(there[1], &handles, sizeof handles) == sizeof handles && read(back[0], &byte, 1) == 1) {
        CK(cudaMemcpy(h, mine, sizeof h, cudaMemcpyDeviceToHost));
        printf("filled by the other process: %d %d\n", h[0], h[31]);
    }
    close(there[1]);
    int status = -1;
    waitpid(pid, &status, 0);
    if (made)
        printf("the other process ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    show("a handle of what is no memory", cudaIpcGetMemHandle(&handles.memory, h));
    cudaGetLastError();
    CK(cudaEventDestroy(event));
    CK(cudaFree(mine));
    return finish();
}
