/* Shared by the parts of the test-only CUDA; not for programs. */
#ifndef STUB_INSIDE_H
#define STUB_INSIDE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The driver has its own set, so that a program can link both. */
#ifdef STUB_CUDA
#define stub_fail stub_cuda_fail
#define stub_in_launch stub_cuda_in_launch
#define stub_set_errno stub_cuda_set_errno
#define stub_launches stub_cuda_launches
#define stub_use_driver stub_cuda_use_driver
#endif
#include "stub.h"

/* In a program's static runtime no symbol may be visible from
   outside, as in NVIDIA's libcudart_static.a. */
#ifdef STUB_STATIC
#pragma GCC visibility push(hidden)
#endif

typedef struct { unsigned x, y, z; } dim3;

#define MOST_PARAMS 16
struct signature {
    int count;
    unsigned offset[MOST_PARAMS], size[MOST_PARAMS], total;
};

/* The parameters of `kernel` as the PTX in `image` declares them: a wrapper, a
   fat binary with uncompressed PTX first, or PTX text. False if the kernel is
   missing. */
int stub_signature(const void *image, const char *kernel, struct signature *out);

/* The names of the kernels in an image, in order; returns their number. */
int stub_kernels(const void *image, char (*names)[128], int most);

/* The PTX of an image that ends with a NUL; "" if it has none. */
const char *stub_ptx(const void *image);

/* Identifies an image: FNV-1a (32 bits) of its first PTX text, else of its first cubin; 0 if it has
   neither. */
unsigned stub_code(const void *image);

/* Whether STUB_MEMORY is set: then there is memory, and a kernel "runs": it adds its image's stub_code to each
   byte of the first allocation that one of its arguments points into. */
int stub_memory(void);

/* One line of the log. Keeps errno. */
void stub_log(const char *library, const char *function, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int stub_logging(void);

/* Whether STUB_QUIET is set: then the calls that benchmarks time do nothing. */
int stub_quiet(void);

/* The status that `function` must return: 0, or that of stub_fail. */
int stub_status(const char *function);

/* Counts a launch, runs the callback, sets errno. */
void stub_launched(void);

/* A kernel's parameter block, of at most 1024 bytes; false if a buffer has another size. */
int stub_block(unsigned char *block, const struct signature *s, void **args, void **extra);

/* A kernel's parameter block in hex, from the caller's pointers or buffer. */
const char *stub_hex(char *to, size_t room, const struct signature *s, void **args, void **extra);

extern int stub_driver_wanted;

#endif
