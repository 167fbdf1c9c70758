/* The device's side of LLVM's GPU RPC: through a port the active lanes exchange packets with the host. It follows the
   protocol's documentation, so that the host's side is tested by an independent implementation. */

#ifndef RPC_H
#define RPC_H

#include "gpu.h"

typedef struct rpc_packet {
    uint64_t data[8];
} rpc_packet;

typedef struct rpc_header {
    uint64_t mask;
    uint32_t opcode;
    uint32_t unused;
} rpc_header;

#if defined(__AMDGCN__) && __AMDGCN_WAVEFRONT_SIZE == 64
#define RPC_LANES 64
#else
#define RPC_LANES 32
#endif

typedef struct rpc_client {
    uint32_t ports;
    uint32_t *inbox;
    uint32_t *outbox;
    rpc_header *headers;
    rpc_packet *packets;
    uint32_t lock[128];
} rpc_client;
_Static_assert(sizeof(rpc_client) == 552, "as the host writes it");

#ifdef RPC_BY_POINTER
// In older releases the symbol holds a pointer, and the host writes the address there.
static rpc_client rpc_own;
__attribute__((visibility("protected"), used)) rpc_client *__llvm_rpc_client = &rpc_own;
#define RPC (&rpc_own)
#else
__attribute__((visibility("protected"), used)) rpc_client __llvm_rpc_client;
#define RPC (&__llvm_rpc_client)
#endif

typedef struct rpc_port {
    uint64_t mask;
    uint32_t index;
    uint32_t lane;
    uint32_t out;
    int received;
} rpc_port;

enum {
    RPC_NOOP = 0x63000000,
    RPC_EXIT,
    RPC_WRITE_TO_STDOUT,
    RPC_WRITE_TO_STDERR,
    RPC_WRITE_TO_STREAM,
    RPC_WRITE_TO_STDOUT_NEWLINE,
    RPC_READ_FROM_STREAM,
    RPC_READ_FGETS,
    RPC_OPEN_FILE,
    RPC_CLOSE_FILE,
    RPC_MALLOC,
    RPC_FREE,
    RPC_HOST_CALL,
    RPC_ABORT,
    RPC_FEOF,
    RPC_FERROR,
    RPC_CLEARERR,
    RPC_FSEEK,
    RPC_FTELL,
    RPC_FFLUSH,
    RPC_UNGETC,
    RPC_PRINTF_TO_STDOUT,
    RPC_PRINTF_TO_STDERR,
    RPC_PRINTF_TO_STREAM,
    RPC_PRINTF_TO_STDOUT_PACKED,
    RPC_PRINTF_TO_STDERR_PACKED,
    RPC_PRINTF_TO_STREAM_PACKED,
    RPC_REMOVE,
    RPC_RENAME,
    RPC_SYSTEM,
};

INLINE int rpc_first(const rpc_port *port) { return port->lane == (uint32_t)__builtin_ctzl(port->mask); }

INLINE uint32_t rpc_inbox(const rpc_port *port)
{
    return __atomic_load_n(&RPC->inbox[port->index], __ATOMIC_RELAXED);
}

INLINE void rpc_unlock(rpc_port *port)
{
    gpu_meet(port->mask);
    if (rpc_first(port))
        __atomic_fetch_and(&RPC->lock[port->index / 32], ~(1u << (port->index % 32)), __ATOMIC_RELAXED);
    gpu_meet(port->mask);
}

/* Takes a free port; the calling lanes share it. */
INLINE rpc_port rpc_open(uint32_t opcode)
{
    rpc_port port = {.mask = gpu_active(), .lane = gpu_lane()};
    uint32_t ports = RPC->ports;
    for (;; port.index = port.index + 1 < ports ? port.index + 1 : 0) {
        uint32_t bit = 1u << (port.index % 32), held = 0;
        if (rpc_first(&port))
            held = !(__atomic_fetch_or(&RPC->lock[port.index / 32], bit, __ATOMIC_RELAXED) & bit);
        if (!gpu_ballot(port.mask, held))
            continue;
        port.out = __atomic_load_n(&RPC->outbox[port.index], __ATOMIC_RELAXED);
        // If the mailboxes differ, the host still has the port: nobody waited for its last reply.
        if (!gpu_ballot(port.mask, rpc_first(&port) && rpc_inbox(&port) != port.out))
            break;
        rpc_unlock(&port);
    }
    gpu_fence();
    if (rpc_first(&port)) {
        RPC->headers[port.index].opcode = opcode;
        RPC->headers[port.index].mask = port.mask;
    }
    gpu_meet(port.mask);
    return port;
}

INLINE void rpc_give(rpc_port *port)
{
    gpu_meet(port->mask);
    port->out = !port->out;
    gpu_fence();
    if (rpc_first(port))
        __atomic_store_n(&RPC->outbox[port->index], port->out, __ATOMIC_RELAXED);
    gpu_meet(port->mask);
}

INLINE void rpc_wait(const rpc_port *port)
{
    while (rpc_inbox(port) != port->out)
        gpu_pause();
    gpu_meet(port->mask);
    gpu_fence();
}

INLINE rpc_packet *rpc_own_packet(const rpc_port *port)
{
    return &RPC->packets[(uint64_t)port->index * RPC_LANES + port->lane];
}

INLINE void rpc_send(rpc_port *port, rpc_packet packet)
{
    rpc_wait(port);
    *rpc_own_packet(port) = packet;
    rpc_give(port);
    port->received = 0;
}

INLINE rpc_packet rpc_receive(rpc_port *port)
{
    if (port->received)
        rpc_give(port);
    rpc_wait(port);
    port->received = 1;
    return *rpc_own_packet(port);
}

INLINE void rpc_close(rpc_port *port) { rpc_unlock(port); }

/* Sends a message of any size for each lane; lanes with shorter messages take part until the longest is sent. */
static void rpc_send_bytes(rpc_port *port, const void *from, uint64_t size)
{
    const uint8_t *bytes = from;
    rpc_packet packet = {{size}};
    uint64_t at = size < 56 ? size : 56;
    for (uint64_t i = 0; i < at; i++)
        ((uint8_t *)&packet.data[1])[i] = bytes[i];
    rpc_send(port, packet);
    for (uint64_t sent = 56; gpu_ballot(port->mask, sent < size); sent += 64) {
        for (uint64_t i = 0; i < 64 && sent + i < size; i++)
            ((uint8_t *)packet.data)[i] = bytes[sent + i];
        rpc_send(port, packet);
    }
}

/* Receives as much as fits; returns the number of bytes that the host sent. */
static uint64_t rpc_receive_bytes(rpc_port *port, void *to, uint64_t room)
{
    uint8_t *bytes = to;
    rpc_packet packet = rpc_receive(port);
    uint64_t size = packet.data[0];
    for (uint64_t i = 0; i < 56 && i < size && i < room; i++)
        bytes[i] = ((uint8_t *)&packet.data[1])[i];
    for (uint64_t got = 56; gpu_ballot(port->mask, got < size); got += 64) {
        packet = rpc_receive(port);
        for (uint64_t i = 0; i < 64 && got + i < size && got + i < room; i++)
            bytes[got + i] = ((uint8_t *)packet.data)[i];
    }
    return size;
}

/* Sends a packet and receives a packet. */
static uint64_t rpc_ask(uint32_t opcode, uint64_t a, uint64_t b, uint64_t c)
{
    rpc_port port = rpc_open(opcode);
    rpc_packet packet = {{a, b, c}};
    rpc_send(&port, packet);
    packet = rpc_receive(&port);
    rpc_close(&port);
    return packet.data[0];
}

#endif
