/* A program without CUDA that uses a little of everything that sanitizers check: threads, memory, symbols, a child. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void *work(void *number) {
    for (int i = 0; i < 1000; i++) {
        char *text = malloc(32);
        snprintf(text, 32, "%ld", (long)number * i);
        pthread_mutex_lock(&lock);
        sum += atol(text) + (long)strlen(text);
        pthread_mutex_unlock(&lock);
        free(text);
    }
    return number;
}

int main(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    void *there = dlsym(RTLD_DEFAULT, "getpid"), *none = dlsym(RTLD_DEFAULT, "cuInit"), *math = dlopen("libm.so.6", RTLD_NOW);
    printf("%ld, %d %d %d\n", sum, there != NULL, none != NULL, math && dlsym(math, "cos"));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(3);
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    return 11;
}
