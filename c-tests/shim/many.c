/* `N`: launches N times. `N kill`: and dies of SIGKILL. `N limit BYTES`: and lowers its
   own RLIMIT_FSIZE on the way. */
#include <signal.h>
#include <sys/resource.h>

#include "cuda.h"

int main(int argc, char **argv) {
    for (int i = 0; i < atoi(argv[1]); i++) {
        if (i == 100 && argc > 3) {
            struct rlimit limit = {(rlim_t)atol(argv[3]), (rlim_t)atol(argv[3])};
            setrlimit(RLIMIT_FSIZE, &limit);
        }
        LAUNCH1(alpha(NULL, i, 0));
    }
    printf("%lu\n", stub_launches());
    fflush(stdout);
    if (argc > 2 && !strcmp(argv[2], "kill")) raise(SIGKILL);
    return 0;
}
