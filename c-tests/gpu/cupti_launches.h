/* What clients of CUPTI share that look at launches: which calls of the driver launch kernels, and their output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int launches_kernels(const char *function)
{
    return !strncmp(function, "cuLaunch", 8) && strncmp(function, "cuLaunchHostFunc", 16);
}

/* A text as a JSON string. */
static void print_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (const char *c = text; *c; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
            fprintf(file, "\\u%04x", (unsigned char)*c);
        else
            fputc(*c, file);
    fputc('"', file);
}

/* Creates the file that the variable names, with this process's number behind it; or NULL. */
static FILE *output(const char *variable)
{
    const char *base = getenv(variable);
    char path[4096];
    if (!base || snprintf(path, sizeof path, "%s.%d", base, (int)getpid()) >= (int)sizeof path)
        return NULL;
    return fopen(path, "w");
}
