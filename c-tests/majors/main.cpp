// Launches through the runtimes of three CUDA majors in one process. The program links the
// libraries (LINKED), or loads them with RTLD_LOCAL or RTLD_GLOBAL, as its argument says.
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <libgen.h>
#include <string>
#include <unistd.h>

typedef void part(const char *);
struct Major {
    const char *name;
    part *launch, *after;
};

#ifdef LINKED
extern "C" part launch_11, launch_12, launch_13, after_11, after_12, after_13;
static Major majors[] = {{"11", launch_11, after_11}, {"12", launch_12, after_12}, {"13", launch_13, after_13}};
static bool load(const char *) { return true; }
#else
static Major majors[] = {{"11"}, {"12"}, {"13"}};
static bool load(const char *how)
{
    char self[4096] = {};
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return false;
    std::string folder = dirname(self);
    for (Major &m : majors) {
        std::string path = folder + "/libpart_" + m.name + ".so";
        void *library = dlopen(path.c_str(), RTLD_NOW | (strcmp(how, "global") ? RTLD_LOCAL : RTLD_GLOBAL));
        if (!library) {
            printf("%s\n", dlerror());
            return false;
        }
        m.launch = (part *)dlsym(library, (std::string("launch_") + m.name).c_str());
        m.after = (part *)dlsym(library, (std::string("after_") + m.name).c_str());
        if (!m.launch || !m.after)
            return false;
    }
    return true;
}
#endif

int main(int argc, char **argv)
{
    if (!load(argc > 1 ? argv[1] : "local"))
        return 1;
    for (Major &m : majors)
        m.launch(m.name);
    for (Major &m : majors)
        m.after(m.name);
    // In reverse order, so that the result does not depend on which came first.
    for (int i = 2; i >= 0; i--)
        majors[i].launch(majors[i].name);
    return 0;
}
