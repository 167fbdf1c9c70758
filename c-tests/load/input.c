/* Standard input line by line, numbered. */

#include "runtime/start.h"

static char line[64];

int main(int argc, char **argv, char **envp)
{
    for (int number = 1; fgets(line, sizeof line, stdin); number++)
        printf("%d %s", number, line);
    return feof(stdin) ? 0 : 1;
}
