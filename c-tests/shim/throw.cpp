// A C++ exception, pthread_exit and pthread_cancel out of a callback inside a launch.
#include <pthread.h>
#include <unistd.h>

#include <stdexcept>

#include "cuda.h"

static void fling(void *) { throw std::runtime_error("flung"); }
static void leave(void *) { pthread_exit((void *)7); }
static void wait_for_cancel(void *) {
    for (;;) pause();
}
struct Guard {
    const char *what;
    ~Guard() { printf("unwound %s\n", what); }
};
static void *thread(void *callback) {
    Guard guard{"thread"};
    stub_in_launch((void (*)(void *))callback, NULL);
    LAUNCH(d3(3, 1, 1), d3(1, 1, 1), 0, NULL, beta());
    return (void *)8;
}

int main() {
    for (int i = 0; i < 20; i++) {
        try {
            Guard guard{"main"};
            stub_in_launch(fling, NULL);
            LAUNCH(d3(1, 1, 1), d3(1, 1, 1), 0, NULL, beta());
            printf("not reached\n");
        } catch (const std::exception &e) {
            printf("caught %s\n", e.what());
        }
        LAUNCH(d3(2, 1, 1), d3(1, 1, 1), 0, NULL, beta());
    }
    pthread_t t;
    void *result;
    pthread_create(&t, NULL, thread, (void *)leave);
    pthread_join(t, &result);
    printf("left with %ld\n", (long)result);
    pthread_create(&t, NULL, thread, (void *)wait_for_cancel);
    while (stub_launches() < 42) usleep(1000);
    pthread_cancel(t);
    pthread_join(t, &result);
    printf("cancelled %d\n", result == PTHREAD_CANCELED);
    LAUNCH(d3(4, 1, 1), d3(1, 1, 1), 0, NULL, beta());
    return 0;
}
