/* The smallest program. */

#include "runtime/start.h"

int main(int argc, char **argv, char **envp)
{
    puts("hello from a GPU");
    fputs("and to its stderr\n", stderr);
    return 0;
}
