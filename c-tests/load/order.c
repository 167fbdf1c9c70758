/* Constructors by priority, then main, then destructors in reverse order. */

#include "runtime/start.h"

static int count;

__attribute__((constructor(300))) static void third(void) { printf("%d: constructor 300\n", ++count); }
__attribute__((constructor)) static void last(void) { printf("%d: constructor without priority\n", ++count); }
__attribute__((constructor(101))) static void first(void) { printf("%d: constructor 101\n", ++count); }
__attribute__((constructor(200))) static void second(void) { printf("%d: constructor 200\n", ++count); }
__attribute__((destructor(101))) static void end_last(void) { printf("%d: destructor 101\n", ++count); }
__attribute__((destructor(200))) static void end_second(void) { printf("%d: destructor 200\n", ++count); }
__attribute__((destructor)) static void end_first(void) { printf("%d: destructor without priority\n", ++count); }

int main(int argc, char **argv, char **envp)
{
    printf("%d: main\n", ++count);
    return 0;
}
