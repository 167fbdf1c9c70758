/* Closes every descriptor that it did not open, before and after CUDA is used. */
#include <fcntl.h>
#include <unistd.h>

#include "cuda.h"

static void many(unsigned n) {
    for (int i = 0; i < 3000; i++) LAUNCH(d3(n, 1, 1), d3(1, 1, 1), 0, NULL, alpha(NULL, i, 0));
}

int main(int argc, char **argv) {
    int keep = dup(1);
    (void)argc, (void)argv;
    many(1);
    for (int fd = 3; fd < 1024; fd++)
        if (fd != keep) close(fd);
    /* New files reuse the numbers, and must stay unchanged. */
    char name[] = "precious-XXXXXX";
    int first = mkstemp(name);
    for (int fd = 4; fd < 1000; fd++) dup2(first, fd);
    many(2);
    printf("precious file: %ld bytes\n", (long)lseek(first, 0, SEEK_END));
    unlink(name);
    return 0;
}
