/* The library that calls.c needs: a function that device code calls, and two opcodes. */

#include <string.h>

#include "cushim.h"

static uint64_t sum(void *arguments)
{
    uint64_t *numbers = arguments;
    return numbers[0] + numbers[1] + numbers[2];
}

static int reverse(cushim_rpc_port *port, void *user)
{
    const void *bytes[CUSHIM_RPC_LANES];
    uint64_t sizes[CUSHIM_RPC_LANES];
    static char back[CUSHIM_RPC_LANES][64];
    const void *answers[CUSHIM_RPC_LANES];
    (void)user;
    if (port->receive_bytes(port, bytes, sizes))
        return -1;
    for (int lane = 0; lane < CUSHIM_RPC_LANES; lane++) {
        if (!(port->mask >> lane & 1))
            continue;
        if (sizes[lane] > 64)
            return 1;
        for (uint64_t i = 0; i + 1 < sizes[lane]; i++)
            back[lane][i] = ((const char *)bytes[lane])[sizes[lane] - 2 - i];
        answers[lane] = back[lane];
    }
    return port->send_bytes(port, answers, sizes);
}

static int count(cushim_rpc_port *port, void *user)
{
    cushim_rpc_packet packets[CUSHIM_RPC_LANES];
    if (port->opcode != 0x75000002 || strcmp(user, "count"))
        return 2;
    if (port->receive(port, packets))
        return -1;
    for (int lane = 0; lane < CUSHIM_RPC_LANES; lane++)
        if (port->mask >> lane & 1)
            packets[lane].data[0] *= 2;
    return port->send(port, packets);
}

int cushim_rpc(const cushim_rpc_host *host)
{
    if (host->abi != CUSHIM_ABI || host->size < sizeof *host)
        return 1;
    if (host->give(host, "host_sum", sum) || host->give(host, "no_such_variable", sum) != -1)
        return 2;
    if (host->serve(host, 0x75000001, reverse, 0) || host->serve(host, 0x75000002, count, "count"))
        return 3;
    return host->serve(host, 0x75000002, count, 0) == -1 ? 0 : 4;
}
