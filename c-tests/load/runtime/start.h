/* The start and end of a program: `_begin` runs constructors, `_start` runs main with all threads, `_end` runs
   destructors. LAYOUT 1 has only `_start`, which does all of it with one thread, as in the first releases;
   LAYOUT 2 has `_start` for main, and the compiler's kernels for the rest. */

#ifndef START_H
#define START_H

#include "stdio.h"

#ifndef LAYOUT
#define LAYOUT 3
#endif

int main(int argc, char **argv, char **envp);

typedef void constructor(int, char **, char **);
typedef void destructor(void);

#if LAYOUT != 2
#if defined(__NVPTX__)
__attribute__((visibility("protected"), used)) uint64_t *__init_array_start, *__init_array_end;
__attribute__((visibility("protected"), used)) uint64_t *__fini_array_start, *__fini_array_end;
#else
extern uint64_t __init_array_start[], __init_array_end[], __fini_array_start[], __fini_array_end[];
#endif

static void construct(int argc, char **argv, char **envp)
{
    for (uint64_t *at = __init_array_start; at != __init_array_end; at++)
        ((constructor *)*at)(argc, argv, envp);
}
#endif

#if LAYOUT == 3
KERNEL void _begin(int argc, char **argv, char **envp) { construct(argc, argv, envp); }

KERNEL void _start(int argc, char **argv, char **envp, int *status)
{
    __atomic_fetch_or(status, main(argc, argv, envp), __ATOMIC_RELAXED);
}

KERNEL void _end(int status)
{
    (void)status;
    for (uint64_t *at = __fini_array_end; at != __fini_array_start;)
        ((destructor *)*--at)();
}
#elif LAYOUT == 2
KERNEL void _start(int argc, char **argv, char **envp, int *status)
{
    __atomic_fetch_or(status, main(argc, argv, envp), __ATOMIC_RELAXED);
}
#else
KERNEL void _start(int argc, char **argv, char **envp, int *status)
{
    construct(argc, argv, envp);
    *status = main(argc, argv, envp);
    for (uint64_t *at = __fini_array_start; at != __fini_array_end; at++)
        ((destructor *)*at)();
}
#endif

#endif
