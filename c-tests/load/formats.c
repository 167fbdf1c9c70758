/* printf's conversions, with the output that C specifies. With an argument: a format that C leaves undefined. */

#include "runtime/start.h"

int main(int argc, char **argv, char **envp)
{
    if (argc > 1)
        return printf(argv[1], 1, 2, 3);
    int size = printf("%d %5d|%-5d|%05d %+d %x %#X %o %u\n", -1, 42, 42, 42, 7, 255, 255, 8, 4000000000u);
    printf("%d bytes\n", size);
    printf("%ld %lld %zu %hhd %hd %c%c\n", -5000000000l, 1ll << 62, (size_t)-1, 300, 70000, 'o', 'k');
    printf("%f %.3f %10.2f|%e %g %G %a\n", 1.5, 3.14159, -2.5, 12345.678, 1e-7, 1e100, 0.5);
    printf("%s|%10s|%-10s|%.2s|%s|%%\n", "text", "right", "left", "cut", (char *)NULL);
    printf("%*d|%-*d|%.*f|%*.*s|\n", 6, 1, 4, 2, 3, 2.0 / 3, 8, 3, "abcdef");
    printf("%c%s%c%ld%c%f\n", 'a', "b", 'c', 4l, 'e', 0.5);
    printf("%s", "no argument after it, and a long one: ");
    printf("%s%s%s%s%s%s%s%s%s%s\n", "0123456789012345678901234567890123456789012345678901234567890123456789", "1", "2", "3",
           "4", "5", "6", "7", "8", "9");
    return 0;
}
