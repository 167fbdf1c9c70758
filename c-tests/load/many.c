/* All threads print at once; each line must appear whole, and once. */

#include "runtime/start.h"

int main(int argc, char **argv, char **envp)
{
    uint32_t thread = gpu_block() * 1000 + gpu_thread();
    // Lanes of one warp with different formats and different lengths.
    const char *pad = "..............................................................................................";
    int printed = thread % 3 ? printf("thread %u of warp %u %.*s\n", thread, thread / 32, (int)(thread % 90), pad)
                             : printf("%s %05u|%g\n", "every third", thread, thread * 0.5);
    return printed > 0 ? 0 : 1;
}
