// A program without CUDA that loads a library with kernels: CUDA at the end of the process, when all
// of it came by dlopen. Handlers registered before the library was loaded, after it, and after its first
// call; and the results in the library's own destructors, when it is closed and when the process ends.
// The expected output is that of CUDA 13.5's runtime. 13.0's gives other results, and crashes after "closed" (on an H100).
#include <dlfcn.h>
#include <libgen.h>
#include "ending.h"

static void (*calls)(const char *);

static void at(const char *place)
{
    if (calls)
        calls(named_place(place).c_str());
}

static void (*quiet)();

// NVIDIA's runtime, which came with the library, is unloaded by now: calls crash. So the rest prints nothing.
static void before_load()
{
    calls = nullptr;
    if (quiet)
        quiet();
}
static void before_call() { at("handler before its first call"); }
static void after_call() { at("handler after its first call"); }

static void *load(const char *folder)
{
    void *library = dlopen((std::string(folder) + "/libending_library.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        puts("dlopen failed");
        exit(4);
    }
    return library;
}

// The folder of this program, which also holds the library.
static const char *folder()
{
    static char self[4096];
    return readlink("/proc/self/exe", self, sizeof self - 1) < 0 ? "." : dirname(self);
}

static int run()
{
    atexit(before_load);
    void *library = load(folder());
    atexit(before_call);
    auto start = (bool (*)(const char *))dlsym(library, "start");
    if (!start(way))
        return 1;
    calls = (void (*)(const char *))dlsym(library, "calls");
    quiet = (void (*)())dlsym(library, "quiet");
    atexit(after_call);
    if (!is("loaded")) {
        calls = nullptr;
        quiet = nullptr;
        dlclose(library);
        puts("closed");
        fflush(stdout);
    }
    if (is("loaded twice")) {
        library = load(folder());
        start = (bool (*)(const char *))dlsym(library, "start");
        if (!start("second"))
            return 1;
        // The second library's own handlers run before the runtime's; none of the program's do.
        quiet = (void (*)())dlsym(library, "quiet");
    }
    return 0;
}

int main(int argc, char **argv)
{
    return all_ways(argc, argv, {"loaded", "closed", "loaded twice"}, run);
}
