// A pool shared with another process: by a file descriptor, its allocations by the data of cudaMemPoolExportPointer.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstring>
#include "../common.h"

__global__ void add(int *v, int n, int what)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        v[i] += what;
}

static const int N = 100000;

static bool send_fd(int to, int fd, const void *data, size_t bytes)
{
    char control[CMSG_SPACE(sizeof fd)] = {};
    iovec part = {const_cast<void *>(data), bytes};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    return sendmsg(to, &message, 0) == ssize_t(bytes);
}

static int take_fd(int from, void *data, size_t bytes)
{
    char control[CMSG_SPACE(sizeof(int))] = {};
    iovec part = {data, bytes};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    int fd = -1;
    if (recvmsg(from, &message, MSG_WAITALL) == ssize_t(bytes) && CMSG_FIRSTHDR(&message))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

static int child(int with)
{
    cudaMemPoolPtrExportData data[2];
    int fd = take_fd(with, data, sizeof data);
    if (fd < 0)
        return 4;
    cudaMemPool_t pool = nullptr;
    NEED(cudaFree(nullptr));
    NEED(cudaMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd, cudaMemHandleTypePosixFileDescriptor, 0));
    for (int i = 0; i < 2; i++) {
        int *theirs = nullptr;
        NEED(cudaMemPoolImportPointer((void **)&theirs, pool, &data[i]));
        add<<<(N + 255) / 256, 256>>>(theirs, N, 1000 * (i + 1));
        LAUNCHED("add");
        CK(cudaDeviceSynchronize());
        if (i == 0)
            CK(cudaFree(theirs));
        else
            CK(cudaFreeAsync(theirs, 0));
    }
    CK(cudaDeviceSynchronize());
    int *none = nullptr;
    bool refused = cudaMallocFromPoolAsync((void **)&none, 64, pool, 0) != cudaSuccess;
    cudaGetLastError();
    CK(cudaMemPoolDestroy(pool));
    return write(with, refused ? "x" : "y", 1) == 1 ? finish() : 4;
}

int main()
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return 4;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        _exit(child(ends[1]));
    }
    close(ends[1]);
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    props.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool = nullptr;
    int *mine[2] = {}, fd = -1;
    cudaMemPoolPtrExportData data[2];
    bool made = CK(cudaMemPoolCreate(&pool, &props)) &&
        CK(cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    for (int i = 0; made && i < 2; i++) {
        made = CK(cudaMallocFromPoolAsync((void **)&mine[i], N * sizeof(int), pool, 0)) &&
            CK(cudaMemPoolExportPointer(&data[i], mine[i]));
        CK(cudaMemsetAsync(mine[i], 0, N * sizeof(int), 0));
        add<<<(N + 255) / 256, 256>>>(mine[i], N, i + 1);
        CK(cudaDeviceSynchronize());
    }
    char byte = 0;
    if (made && send_fd(ends[0], fd, data, sizeof data) && read(ends[0], &byte, 1) == 1) {
        for (int i = 0; i < 2; i++) {
            int first = 0, last = 0;
            CK(cudaMemcpy(&first, mine[i], sizeof first, cudaMemcpyDeviceToHost));
            CK(cudaMemcpy(&last, mine[i] + N - 1, sizeof last, cudaMemcpyDeviceToHost));
            printf("%d %d\n", first, last);
        }
        printf("allocating there: %s\n", byte == 'x' ? "refused" : "taken");
    }
    close(ends[0]);
    int status = -1;
    waitpid(pid, &status, 0);
    if (made)
        printf("the other process ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    for (int *one : mine)
        CK(cudaFreeAsync(one, 0));
    CK(cudaDeviceSynchronize());
    CK(cudaMemPoolDestroy(pool));
    close(fd);
    return finish();
}
