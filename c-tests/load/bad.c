/* Requests that a device must not send, by its first argument; the host ends the program with a message. */

#include "runtime/start.h"

int main(int argc, char **argv, char **envp)
{
    const char *what = argc > 1 ? argv[1] : "";
    rpc_packet packet = {{0}};
    if (!strcmp(what, "opcode"))
        rpc_ask(0x63001234, 0, 0, 0);
    if (!strcmp(what, "old"))
        rpc_ask(1, 0, 0, 0);
    if (!strcmp(what, "length"))
        rpc_ask(RPC_WRITE_TO_STDOUT, ~0ul, 0, 0);
    if (!strcmp(what, "read"))
        rpc_ask(RPC_READ_FROM_STREAM, ~0ul, 1, 0);
    if (!strcmp(what, "stream"))
        fputs("x", (FILE *)0xdeadbeef0);
    if (!strcmp(what, "call"))
        send_text(RPC_HOST_CALL, "arguments", 10);
    if (!strcmp(what, "function")) {
        rpc_port port = rpc_open(RPC_HOST_CALL);
        rpc_send_bytes(&port, "arguments", 10);
        packet.data[0] = 0x401000;
        rpc_send(&port, packet);
        rpc_receive(&port);
    }
    if (!strcmp(what, "open"))
        fopen("/etc/hostname", "r");
    if (!strcmp(what, "mode"))
        fopen("/etc/hostname", "r,ccs=UTF-8");
    if (!strcmp(what, "system"))
        system("echo ran");
    if (!strcmp(what, "arguments")) {
        rpc_port port = rpc_open(RPC_PRINTF_TO_STDOUT);
        rpc_send_bytes(&port, "%d\n", 4);
        rpc_receive(&port);
        rpc_send_bytes(&port, "no int", 2);
        rpc_receive(&port);
    }
    puts("still here");
    return 0;
}
