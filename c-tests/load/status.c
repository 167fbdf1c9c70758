/* Ways to end a program, by its first argument: `return N`, `exit N` from one of the threads, abort, a trap, or an endless
   kernel that only the host can end. */

#include "runtime/start.h"

static int number(const char *text)
{
    int value = 0;
    for (; *text; text++)
        value = value * 10 + (*text - '0');
    return value;
}

int main(int argc, char **argv, char **envp)
{
    const char *how = argc > 1 ? argv[1] : "";
    int value = argc > 2 ? number(argv[2]) : 0;
    if (gpu_thread() == 0)
        printf("%s\n", how);
    if (!strcmp(how, "return"))
        return value;
    if (!strcmp(how, "exit")) {
        if (gpu_thread() == 0)
            exit(value);
        for (;;)
            gpu_pause();
    }
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "trap"))
        gpu_trap();
    if (!strcmp(how, "null"))
        return *(volatile int *)8;
    // Fails in the middle of a request; nobody waits for its reply.
    if (!strcmp(how, "leave")) {
        rpc_port port = rpc_open(RPC_WRITE_TO_STDOUT);
        rpc_packet packet = {{1000}};
        rpc_send(&port, packet);
        gpu_trap();
    }
    return 0;
}
