// A program without CUDA that loads, uses, unloads and reloads two libraries
// with kernels (plugin_a, plugin_b): with a static runtime each contains its own.
// The kernels of both have the same name.
#include <cstdio>
#include <dlfcn.h>
#include <libgen.h>
#include <string>
#include <unistd.h>

static std::string folder;

static int use(const char *name, int flags, bool unload)
{
    void *library = dlopen((folder + "/" + name).c_str(), flags);
    if (!library) {
        printf("dlopen failed for %s\n", name);
        return 1;
    }
    int (*run)(int) = (int (*)(int))dlsym(library, "plugin_run");
    int status = run ? run(unload ? 1 : 2) : 1;
    if (unload)
        printf("%s closed: %d\n", name, dlclose(library));
    return status;
}

int main()
{
    char self[4096] = {};
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return 1;
    folder = dirname(self);
    setvbuf(stdout, nullptr, _IONBF, 0);
    int status = 0;
    status |= use("libplugin_a.so", RTLD_NOW | RTLD_LOCAL, true);
    status |= use("libplugin_b.so", RTLD_NOW | RTLD_LOCAL, true);
    status |= use("libplugin_a.so", RTLD_LAZY | RTLD_GLOBAL, true);
    status |= use("libplugin_b.so", RTLD_NOW | RTLD_LOCAL, false);
    status |= use("libplugin_a.so", RTLD_NOW | RTLD_LOCAL, false);
    printf("end\n");
    return status;
}
