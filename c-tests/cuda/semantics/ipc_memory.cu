// Memory of another process: small and large allocations with their content, opened twice, and events that two
// processes record in turn.
#include <sys/wait.h>
#include <unistd.h>
#include "../common.h"

__global__ void step(int *v, int n, int what)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        v[i] = v[i] * 10 + what;
}

static const int SIZES[] = {10, 5000, 3000000};

struct Handles {
    cudaIpcMemHandle_t memory[3];
    cudaIpcEventHandle_t event[2];
};

static void all(int **memory, int what)
{
    for (int i = 0; i < 3; i++)
        step<<<(SIZES[i] + 255) / 256, 256>>>(memory[i], SIZES[i], what);
}

static int child(int in, int out)
{
    Handles handles;
    if (read(in, &handles, sizeof handles) != sizeof handles)
        return 4;
    int *memory[3] = {}, *again = nullptr;
    cudaEvent_t event[2];
    for (int i = 0; i < 3; i++)
        NEED(cudaIpcOpenMemHandle((void **)&memory[i], handles.memory[i], cudaIpcMemLazyEnablePeerAccess));
    NEED(cudaIpcOpenMemHandle((void **)&again, handles.memory[2], cudaIpcMemLazyEnablePeerAccess));
    bool same = again == memory[2];
    CK(cudaIpcCloseMemHandle(again));
    for (int i = 0; i < 2; i++)
        NEED(cudaIpcOpenEventHandle(&event[i], handles.event[i]));
    CK(cudaStreamWaitEvent(0, event[0], 0));
    all(memory, 2);
    CK(cudaEventRecord(event[1]));
    if (write(out, same ? "s" : "d", 1) != 1)
        return 4;
    char byte = 0;
    if (read(in, &byte, 1) != 1)
        return 4;
    CK(cudaDeviceSynchronize());
    for (int *one : memory)
        CK(cudaIpcCloseMemHandle(one));
    for (cudaEvent_t one : event)
        CK(cudaEventDestroy(one));
    return finish();
}

int main()
{
    int there[2], back[2];
    if (pipe(there) || pipe(back))
        return 4;
    pid_t pid = fork();
    if (pid == 0) {
        close(there[1]);
        close(back[0]);
        _exit(child(there[0], back[1]));
    }
    close(back[1]);
    close(there[0]);
    int *memory[3] = {};
    cudaEvent_t event[2];
    Handles handles;
    bool made = true;
    for (int i = 0; i < 3; i++) {
        made = made && CK(cudaMalloc(&memory[i], SIZES[i] * sizeof(int)));
        CK(cudaMemset(memory[i], 0, SIZES[i] * sizeof(int)));
    }
    all(memory, 7);
    CK(cudaDeviceSynchronize());
    for (int i = 0; i < 3; i++)
        made = made && CK(cudaIpcGetMemHandle(&handles.memory[i], memory[i]));
    for (int i = 0; i < 2; i++)
        made = made && CK(cudaEventCreateWithFlags(&event[i], cudaEventInterprocess | cudaEventDisableTiming)) &&
            CK(cudaIpcGetEventHandle(&handles.event[i], event[i]));
    all(memory, 1);
    CK(cudaEventRecord(event[0]));
    char byte = 0;
    if (made && write(there[1], &handles, sizeof handles) == sizeof handles && read(back[0], &byte, 1) == 1) {
        CK(cudaStreamWaitEvent(0, event[1], 0));
        all(memory, 3);
        CK(cudaEventSynchronize(event[1]));
        CK(cudaDeviceSynchronize());
        printf("opened twice: %s address\n", byte == 's' ? "the same" : "another");
        for (int i = 0; i < 3; i++) {
            int h[2] = {};
            CK(cudaMemcpy(&h[0], memory[i], sizeof(int), cudaMemcpyDeviceToHost));
            CK(cudaMemcpy(&h[1], memory[i] + SIZES[i] - 1, sizeof(int), cudaMemcpyDeviceToHost));
            printf("%d: %d %d\n", SIZES[i], h[0], h[1]);
        }
        if (write(there[1], "x", 1) != 1)
            return 4;
    }
    close(there[1]);
    int status = -1;
    waitpid(pid, &status, 0);
    if (made)
        printf("the other process ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    for (int *one : memory)
        CK(cudaFree(one));
    for (cudaEvent_t one : event)
        CK(cudaEventDestroy(one));
    return finish();
}
