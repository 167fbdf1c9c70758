/* Host functions and an opcode of a library of --rpc (calls_host.c). */

#include "runtime/start.h"

__attribute__((visibility("protected"), used)) void *host_sum;

enum { REVERSE = 0x75000001, COUNT = 0x75000002 };

int main(int argc, char **argv, char **envp)
{
    uint32_t thread = gpu_thread();
    uint64_t numbers[3] = {thread, 10, 100};
    rpc_port port = rpc_open(RPC_HOST_CALL);
    rpc_send_bytes(&port, numbers, sizeof numbers);
    rpc_packet packet = {{(uint64_t)host_sum}};
    rpc_send(&port, packet);
    packet = rpc_receive(&port);
    rpc_close(&port);
    int wrong = packet.data[0] != thread + 110;

    static const char *words[] = {"palindrome", "ab", ""};
    char back[64] = {0};
    port = rpc_open(REVERSE);
    const char *word = words[thread % 3];
    rpc_send_bytes(&port, word, strlen(word) + 1);
    uint64_t size = rpc_receive_bytes(&port, back, sizeof back);
    rpc_close(&port);
    wrong |= size != strlen(word) + 1;
    for (uint64_t i = 0; i + 1 < size; i++)
        wrong |= back[i] != word[size - 2 - i];

    wrong |= rpc_ask(COUNT, thread, 0, 0) != thread * 2;
    if (thread == 0)
        puts(wrong ? "calls: wrong" : "calls: right");
    return wrong;
}
