/* The control side of the test-only CUDA: calls by which a test program controls the
   runtime and driver that it is linked with, besides CUDA's own.

   Everything that reaches them is written to the file named by STUB_LOG, one
   line per call: `PID LIBRARY FUNCTION key=value …`. No pointer stands in a
   line, so that two runs of a program write the same lines. Without STUB_LOG
   nothing is written and only counters move; with STUB_QUIET not even those.
   A launch's line ends with code=, which tells the image that was launched from
   every other. With STUB_MEMORY (and STUB_DRIVER) there is memory, and kernels
   change it: see stub_memory; variables have addresses, and the driver's
   launches end with what those of the image hold (cuda_variables.h). With
   STUB_CONTEXTS functions of the driver are in one context each, and its
   launches have the current one's device=. */
#ifndef STUB_H
#define STUB_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The next `times` calls of `function` return `status` and write nothing to
   their outputs; a negative number: all calls. One function at a time. */
void stub_fail(const char *function, int status, int times);

/* `callback(data)` runs inside the next launch, once. It may throw, jump,
   or end the thread. */
void stub_in_launch(void (*callback)(void *), void *data);

/* Each launch sets errno to this value; -1: it leaves errno alone. */
void stub_set_errno(int value);

/* The number of launches that have reached this library. */
unsigned long stub_launches(void);

/* Makes the runtime pass its work to the driver, as NVIDIA's does: it opens
   libcuda.so.1 and calls cuGetProcAddress. STUB_DRIVER in the environment does
   the same. */
void stub_use_driver(int on);

/* The same for the driver. */
#ifndef STUB_CUDA
void stub_cuda_fail(const char *function, int status, int times);
unsigned long stub_cuda_launches(void);
#endif

#ifdef __cplusplus
}
#endif

#endif
