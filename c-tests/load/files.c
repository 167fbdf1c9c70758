/* Every call about files, on argv[1] and argv[2]. */

#include "runtime/start.h"

#define CHECK(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "%s:%d: %s\n", "files.c", __LINE__, #what); \
            return 1; \
        } \
    } while (0)

static char line[256], large[5000], back[5000];

int main(int argc, char **argv, char **envp)
{
    CHECK(argc == 3);
    CHECK(!fopen("/nowhere/at/all", "r"));
    FILE *file = fopen(argv[1], "w");
    CHECK(file);
    CHECK(fprintf(file, "%s line %d\n", "first", 1) == 13);
    CHECK(fputs("second line\n", file) == 12);
    for (int i = 0; i < 5000; i++)
        large[i] = (char)('a' + i % 26);
    CHECK(fwrite(large, 1, sizeof large, file) == sizeof large);
    CHECK(fflush(file) == 0);
    CHECK(fclose(file) == 0);
    CHECK(rename(argv[1], argv[2]) == 0);
    CHECK(rename(argv[1], argv[2]) != 0);

    file = fopen(argv[2], "r");
    CHECK(file);
    CHECK(fgets(line, sizeof line, file));
    CHECK(!strcmp(line, "first line 1\n"));
    CHECK(ftell(file) == 13);
    CHECK(fgets(line, 7, file));
    CHECK(!strcmp(line, "second"));
    CHECK(fseek(file, 25, 0) == 0);
    CHECK(fread(back, 1, sizeof back, file) == sizeof back);
    for (int i = 0; i < 5000; i++)
        CHECK(back[i] == large[i]);
    CHECK(!feof(file));
    CHECK(fread(back, 1, 8, file) == 0);
    CHECK(feof(file));
    CHECK(!ferror(file));
    CHECK(!fgets(line, sizeof line, file));
    CHECK(ungetc('x', file) == 'x');
    CHECK(fread(back, 1, 8, file) == 1 && back[0] == 'x');
    clearerr(file);
    CHECK(!feof(file));
    CHECK(fclose(file) == 0);
    CHECK(remove(argv[2]) == 0);
    CHECK(remove(argv[2]) != 0);
    puts("files are as they should be");
    return 0;
}
