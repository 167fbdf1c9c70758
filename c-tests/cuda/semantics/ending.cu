// CUDA while the process ends: in handlers and destructors of all kinds, created or
// registered before the first call of CUDA or after it, by threads that they start, and
// after a reset or a fault. Each way to end runs in a process of its own.
#include <condition_variable>
#include <dlfcn.h>
#include <mutex>
#include <pthread.h>
#include <thread>
#include "ending_calls.h"

static bool by_threads;

// A thread that runs from the start and makes the calls at each place.
class Waiting {
    std::mutex mutex;
    std::condition_variable changed;
    std::string job;

public:
    void start(bool first)
    {
        std::thread([this, first] {
            if (first)
                cudaFree(nullptr);
            std::unique_lock<std::mutex> lock(mutex);
            for (;;) {
                changed.wait(lock, [this] { return !job.empty(); });
                runtime_calls(job.c_str());
                job.clear();
                changed.notify_all();
            }
        }).detach();
    }
    void run(const std::string &text)
    {
        std::unique_lock<std::mutex> lock(mutex);
        job = text;
        changed.notify_all();
        changed.wait(lock, [this] { return job.empty(); });
    }
};

static Waiting *waiting;

// NVIDIA's static runtime is part of the program and already gone when the program's last objects are destroyed:
// calls crash there. With the shared runtime these places give the same as the earlier ones.
static bool runtime_is_inside()
{
    Dl_info runtime, program;
    return dladdr((void *)cudaGetDeviceCount, &runtime) && dladdr((void *)runtime_is_inside, &program) &&
        runtime.dli_fbase == program.dli_fbase;
}

static void at(const char *place)
{
    if (!way || (*place == '=' && runtime_is_inside()))
        return;
    std::string text = named_place(place);
    if (waiting)
        waiting->run(text);
    else if (by_threads)
        std::thread([&] { runtime_calls(text.c_str()); }).join();
    else
        runtime_calls(text.c_str());
}

__attribute__((init_priority(101))) static Object early{"=first global"};
static Object global{"global"};
static void early_handler() { at("handler of a constructor"); }
__attribute__((constructor)) static void construct() { atexit(early_handler); }
__attribute__((destructor)) static void destruct() { at("=destructor function"); }
__attribute__((destructor(101))) static void last_destruct() { at("=last destructor function"); }

static void before() { at("handler before"); }
static void after() { at("handler after"); }
static void between() { at("handler between"); }
static void quick_before() { at("quick handler before"); }
static void quick_after() { at("quick handler after"); }
static void key_gone(void *) { at("key's destructor"); }

static void local(const char *name)
{
    if (*name == 'b')
        static Object object{"function's object before"};
    else
        static Object object{"function's object after"};
}

static void thread_object(const char *name)
{
    if (*name == 'b')
        static thread_local Object object{"thread's object before"};
    else
        static thread_local Object object{"thread's object after"};
}

__global__ void fault(int *nowhere) { *nowhere = 1; }

// Registers all handlers that come before the first call.
static void prepare()
{
    atexit(before);
    at_quick_exit(quick_before);
    local("before");
    thread_object("before");
}

// And those that come after it.
static void prepare_more()
{
    atexit(after);
    at_quick_exit(quick_after);
    local("after");
    thread_object("after");
}

static int run()
{
    if (is("no call before")) {
        prepare();
        return 0;
    }
    if (is("old thread") || is("old thread without CUDA")) {
        prepare();
        waiting = new Waiting;
        waiting->start(is("old thread"));
        if (!make())
            return 1;
        prepare_more();
        return 0;
    }
    prepare();
    if (is("driver first")) {
        // The driver's initialisation decides, whoever caused it.
        void *driver = dlopen("libcuda.so.1", RTLD_NOW);
        auto init = driver ? (CUresult(*)(unsigned))dlsym(driver, "cuInit") : nullptr;
        if (!init || init(0))
            return 1;
        atexit(between);
    }
    if (!make())
        return 1;
    prepare_more();
    by_threads = is("new threads");
    if (is("reset"))
        cudaDeviceReset(), made.device = nullptr;
    if (is("fault")) {
        fault<<<1, 1>>>((int *)16);
        printf("fault: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
        fflush(stdout);
        made.device = nullptr;
    }
    if (is("exit by a thread"))
        std::thread([] { exit(0); }).join();
    if (is("thread ends")) {
        // Its thread-local objects and keys are destroyed while the process lives.
        std::thread([] {
            static pthread_key_t key;
            pthread_key_create(&key, key_gone);
            pthread_setspecific(key, &key);
            thread_object("before");
            cudaFree(nullptr);
            thread_object("after");
        }).join();
        fflush(stdout);
        _exit(0);
    }
    if (is("quick_exit"))
        quick_exit(0);
    if (is("_exit"))
        _exit(0);
    return 0;
}

int main(int argc, char **argv)
{
    return all_ways(argc, argv,
                    {"main returns", "no call before", "new threads", "old thread", "old thread without CUDA", "reset", "fault",
                     "exit by a thread", "thread ends", "driver first", "quick_exit", "_exit"},
                    run);
}
