/* malloc and free while a kernel runs: allocations do not overlap, and each is freed once. */

#include "runtime/start.h"

int main(int argc, char **argv, char **envp)
{
    uint32_t thread = gpu_thread();
    int wrong = 0;
    for (int round = 1; round < 4; round++) {
        uint32_t count = 10 * round + thread % 7;
        uint32_t *memory = malloc(count * sizeof *memory);
        if (!memory)
            return 1;
        for (uint32_t i = 0; i < count; i++)
            memory[i] = thread * 1000 + i;
        for (uint32_t i = 0; i < count; i++)
            wrong |= memory[i] != thread * 1000 + i;
        free(memory);
    }
    free(NULL);
    if (thread == 0) {
        wrong |= malloc((size_t)1 << 60) != NULL;
        puts(wrong ? "heap: wrong" : "heap: right");
        if (argc > 1)
            free((void *)0x1234);
    }
    return wrong;
}
