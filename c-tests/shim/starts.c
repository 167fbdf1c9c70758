/* Starts other programs in every way. `HOW PROGRAM`: `sh`, `system`, `spawn`, `fork`, `clean` (with an
   empty environment), `own` (with its own ASAN_OPTIONS). Prints how the program ended. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv) {
    char *how = argv[1], *program = argv[2], *arguments[] = {program, "3", NULL}, *none[] = {NULL};
    int status = 0;
    if (argc < 3) return 9;
    fflush(stdout);
    if (!strcmp(how, "system")) {
        char line[4096];
        snprintf(line, sizeof line, "%s 3", program);
        status = system(line);
    } else if (!strcmp(how, "spawn")) {
        pid_t child;
        if (posix_spawn(&child, program, NULL, NULL, arguments, environ)) return 8;
        waitpid(child, &status, 0);
    } else {
        char *shell[] = {"sh", "-c", "\"$0\" 3; exit $?", program, NULL};
        if (!strcmp(how, "own")) setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
        pid_t child = fork();
        if (child == 0) {
            if (!strcmp(how, "sh")) execv("/bin/sh", shell);
            execve(program, arguments, !strcmp(how, "clean") ? none : environ);
            _exit(7);
        }
        waitpid(child, &status, 0);
    }
    printf("%s: %s %d\n", how, WIFEXITED(status) ? "exit" : "signal", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return 0;
}
