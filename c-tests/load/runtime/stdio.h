/* The part of a C library that the programs use: every call is a request to the host. */

#ifndef STDIO_H
#define STDIO_H

#include "rpc.h"

typedef __builtin_va_list va_list;
typedef struct file FILE;
#define stdin ((FILE *)1)
#define stdout ((FILE *)2)
#define stderr ((FILE *)3)
#define EOF (-1)

static size_t strlen(const char *text)
{
    size_t size = 0;
    while (text[size])
        size++;
    return size;
}

static int strcmp(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return (uint8_t)*a - (uint8_t)*b;
}

static uint64_t send_text(uint32_t opcode, const void *bytes, size_t size)
{
    rpc_port port = rpc_open(opcode);
    rpc_send_bytes(&port, bytes, size);
    rpc_packet answer = rpc_receive(&port);
    rpc_close(&port);
    return answer.data[0];
}

static size_t fwrite(const void *from, size_t each, size_t count, FILE *file)
{
    if (file == stdout)
        return send_text(RPC_WRITE_TO_STDOUT, from, each * count) / each;
    if (file == stderr)
        return send_text(RPC_WRITE_TO_STDERR, from, each * count) / each;
    rpc_port port = rpc_open(RPC_WRITE_TO_STREAM);
    rpc_packet packet = {{(uint64_t)file}};
    rpc_send(&port, packet);
    rpc_send_bytes(&port, from, each * count);
    packet = rpc_receive(&port);
    rpc_close(&port);
    return packet.data[0] / each;
}

static int puts(const char *text) { return (int)send_text(RPC_WRITE_TO_STDOUT_NEWLINE, text, strlen(text)); }
static int fputs(const char *text, FILE *file) { return (int)fwrite(text, 1, strlen(text), file); }

static size_t fread(void *to, size_t each, size_t count, FILE *file)
{
    rpc_port port = rpc_open(RPC_READ_FROM_STREAM);
    rpc_packet packet = {{each * count, (uint64_t)file}};
    rpc_send(&port, packet);
    rpc_receive_bytes(&port, to, each * count);
    packet = rpc_receive(&port);
    rpc_close(&port);
    return packet.data[0] / each;
}

static char *fgets(char *to, int size, FILE *file)
{
    rpc_port port = rpc_open(RPC_READ_FGETS);
    rpc_packet packet = {{(uint64_t)size, (uint64_t)file}};
    rpc_send(&port, packet);
    uint64_t got = rpc_receive_bytes(&port, to, (uint64_t)size);
    rpc_close(&port);
    return got ? to : NULL;
}

static FILE *fopen(const char *path, const char *mode)
{
    rpc_port port = rpc_open(RPC_OPEN_FILE);
    rpc_send_bytes(&port, path, strlen(path) + 1);
    rpc_packet packet = {{0}};
    for (int i = 0; i < 8 && mode[i]; i++)
        ((char *)packet.data)[i] = mode[i];
    rpc_send(&port, packet);
    packet = rpc_receive(&port);
    rpc_close(&port);
    return (FILE *)packet.data[0];
}

static int fclose(FILE *file) { return (int)rpc_ask(RPC_CLOSE_FILE, (uint64_t)file, 0, 0); }
static int feof(FILE *file) { return (int)rpc_ask(RPC_FEOF, (uint64_t)file, 0, 0); }
static int ferror(FILE *file) { return (int)rpc_ask(RPC_FERROR, (uint64_t)file, 0, 0); }
static void clearerr(FILE *file) { rpc_ask(RPC_CLEARERR, (uint64_t)file, 0, 0); }
static long ftell(FILE *file) { return (long)rpc_ask(RPC_FTELL, (uint64_t)file, 0, 0); }
static int fflush(FILE *file) { return (int)rpc_ask(RPC_FFLUSH, (uint64_t)file, 0, 0); }
static int ungetc(int byte, FILE *file) { return (int)rpc_ask(RPC_UNGETC, (uint64_t)byte, (uint64_t)file, 0); }
static int fseek(FILE *file, long to, int whence)
{
    return (int)rpc_ask(RPC_FSEEK, (uint64_t)file, (uint64_t)to, (uint64_t)whence);
}

static int remove(const char *path) { return (int)send_text(RPC_REMOVE, path, strlen(path) + 1); }
static int system(const char *command) { return (int)send_text(RPC_SYSTEM, command, strlen(command) + 1); }
static int rename(const char *from, const char *to)
{
    rpc_port port = rpc_open(RPC_RENAME);
    rpc_send_bytes(&port, from, strlen(from) + 1);
    rpc_send_bytes(&port, to, strlen(to) + 1);
    rpc_packet answer = rpc_receive(&port);
    rpc_close(&port);
    return (int)answer.data[0];
}

static void *malloc(size_t size) { return (void *)rpc_ask(RPC_MALLOC, size, 0, 0); }
static void free(void *memory)
{
    rpc_port port = rpc_open(RPC_FREE);
    rpc_packet packet = {{(uint64_t)memory}};
    rpc_send(&port, packet);
    rpc_close(&port);
}

static _Noreturn void exit(int status)
{
    rpc_ask(RPC_NOOP, 0, 0, 0);
    rpc_port port = rpc_open(RPC_EXIT);
    rpc_packet packet = {{0}};
    rpc_send(&port, packet);
    rpc_receive(&port);
    packet.data[0] = (uint32_t)status;
    rpc_send(&port, packet);
    for (;;)
        gpu_pause();
}

static _Noreturn void abort(void)
{
    rpc_port port = rpc_open(RPC_ABORT);
    rpc_packet packet = {{0}};
    rpc_send(&port, packet);
    rpc_receive(&port);
    rpc_send(&port, packet);
    for (;;)
        gpu_pause();
}

/* The host reads the format and returns the size of the arguments; then it asks for each string. `args` is
   the address of the variadic arguments. */
static int print_by(rpc_port port, const char *format, const void *args)
{
    rpc_send_bytes(&port, format, strlen(format) + 1);
    rpc_packet answer = rpc_receive(&port);
    rpc_send_bytes(&port, args, answer.data[0]);
    for (;;) {
        answer = rpc_receive(&port);
        const char *text = (const char *)answer.data[1];
        if (!gpu_ballot(port.mask, text != NULL))
            break;
        rpc_send_bytes(&port, text, text ? strlen(text) + 1 : 0);
    }
    rpc_close(&port);
    return (int)answer.data[0];
}

// A va_list is the address of the arguments: on NVPTX each at its natural alignment, on AMD's GPUs packed.
#if defined(__NVPTX__)
#define PRINTF(which) RPC_PRINTF_TO_##which
#else
#define PRINTF(which) RPC_PRINTF_TO_##which##_PACKED
#endif

static int printf(const char *format, ...)
{
    va_list list;
    __builtin_va_start(list, format);
    int printed = print_by(rpc_open(PRINTF(STDOUT)), format, (const void *)list);
    __builtin_va_end(list);
    return printed;
}

static int fprintf(FILE *file, const char *format, ...)
{
    va_list list;
    __builtin_va_start(list, format);
    int printed;
    if (file == stderr) {
        printed = print_by(rpc_open(PRINTF(STDERR)), format, (const void *)list);
    } else {
        rpc_port port = rpc_open(PRINTF(STREAM));
        rpc_packet packet = {{(uint64_t)file}};
        rpc_send(&port, packet);
        printed = print_by(port, format, (const void *)list);
    }
    __builtin_va_end(list);
    return printed;
}

#endif
