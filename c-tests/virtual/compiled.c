/*
 * Compiles and links at run time, and loads the results. Arguments: `linked`, or files of libnvrtc to open one after
 * the other; the last argument is a libnvJitLink. With -DLINKED the program is linked to its libnvrtc.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int any(void *, ...);
static void *library;

#ifdef LINKED
any nvrtcCreateProgram, nvrtcCompileProgram, nvrtcDestroyProgram, nvrtcGetProgramLog, nvrtcGetCUBINSize, nvrtcGetCUBIN;
#endif

static any *find(const char *name)
{
#ifdef LINKED
    static const struct { const char *name; any *function; } all[] = {
        {"nvrtcCreateProgram", nvrtcCreateProgram}, {"nvrtcCompileProgram", nvrtcCompileProgram},
        {"nvrtcDestroyProgram", nvrtcDestroyProgram}, {"nvrtcGetProgramLog", nvrtcGetProgramLog},
        {"nvrtcGetCUBINSize", nvrtcGetCUBINSize}, {"nvrtcGetCUBIN", nvrtcGetCUBIN},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].name, name))
            return all[i].function;
#endif
    return (any *)dlsym(library, name);
}

/* Whether the driver accepts an image. */
static const char *loads(const void *image)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context, *module, *kernel;
    if (!cuda)
        return "no driver";
    any *init = (any *)dlsym(cuda, "cuInit"), *create = (any *)dlsym(cuda, "cuCtxCreate_v2");
    any *load = (any *)dlsym(cuda, "cuModuleLoadData"), *get = (any *)dlsym(cuda, "cuModuleGetFunction");
    init(0);
    create(&context, 0, 0);
    if (load(&module, image))
        return "not loaded";
    return get(&kernel, module, "k") ? "no kernel" : "loaded";
}

static void compile(const char *option)
{
    void *program;
    char log[1000];
    size_t size = 0;
    find("nvrtcCreateProgram")(&program, "", "", 0, NULL, NULL);
    const char *options[] = {"-w", option};
    find("nvrtcCompileProgram")(program, 2, options);
    find("nvrtcGetProgramLog")(program, log);
    find("nvrtcGetCUBINSize")(program, &size);
    char *image = calloc(1, size + 1);
    find("nvrtcGetCUBIN")(program, image);
    printf("%s: %s; %zu bytes, %s\n", option, log, size, loads(image));
    find("nvrtcDestroyProgram")(&program);
}

static any *linker(const char *name)
{
    char whole[100];
    snprintf(whole, sizeof whole, "__nvJitLink%s_12_4", name);
    return (any *)dlsym(library, whole);
}

static void join(int count, const char *const *options, int kind, const char *data)
{
    void *link;
    size_t size = 0, said = 0;
    linker("Create")(&link, count, options);
    int added = linker("AddData")(link, kind, data, strlen(data), "input");
    int done = linker("Complete")(link);
    linker("GetErrorLogSize")(link, &said);
    char *log = calloc(1, said + 1);
    linker("GetErrorLog")(link, log);
    printf("%d %d, %s", added, done, log);
    if (!done) {
        linker("GetLinkedCubinSize")(link, &size);
        char *image = calloc(1, size + 1);
        linker("GetLinkedCubin")(link, image);
        printf("; %zu bytes, %s", size, loads(image));
    }
    printf("\n");
    linker("Destroy")(&link);
}

int main(int count, char **words)
{
    for (int i = 1; i < count - 1; i++) {
        if (strcmp(words[i], "linked") && !(library = dlopen(words[i], RTLD_NOW | RTLD_LOCAL)))
            return printf("%s\n", dlerror()), 1;
        compile("-arch=sm_80");
        compile("-arch=compute_80");
        compile("-dlto");
    }
    if (!(library = dlopen(words[count - 1], RTLD_NOW | RTLD_LOCAL)))
        return printf("%s\n", dlerror()), 1;
    const char *head = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n";
    char good[200], bad[200];
    snprintf(good, sizeof good, "%sret;\n}\n", head);
    snprintf(bad, sizeof bad, "%smov.u32 %%r1, 1;\n}\n", head);
    const char *options[] = {"-arch=sm_80", "-lto"};
    join(1, options, 2, good);
    join(1, options, 2, bad);
    join(2, options, 3, "LTO-IR");
    return 0;
}
