/* Prints its arguments, and environment variables that begin with ECHO_; the exit status is the number of arguments. */

#include "runtime/start.h"

int main(int argc, char **argv, char **envp)
{
    for (int i = 1; i < argc; i++)
        printf("%d: %s\n", i, argv[i]);
    printf("end: %p\n", argv[argc]);
    for (char **at = envp; *at; at++) {
        const char *want = "ECHO_";
        int i = 0;
        while (want[i] && (*at)[i] == want[i])
            i++;
        if (!want[i])
            puts(*at);
    }
    return argc - 1;
}
