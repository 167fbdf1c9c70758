/* CUDA's libraries by the file names that drivers and toolkits install: which one is opened, and whether it is the
   same as by its SONAME. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *open_it(const char *name) {
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static void driver(const char *name) {
    void *library = open_it(name), *usual = open_it("libcuda.so.1");
    int version = 0, (*get)(int *) = library ? (int (*)(int *))dlsym(library, "cuDriverGetVersion") : NULL;
    int status = get ? get(&version) : -1;
    printf("%s: %s, %d, version %s\n", name, library && library == usual ? "the driver" : "another", status, version >= 11000 ? "there" : "missing");
}

static void runtime(const char *name) {
    void *library = open_it(name);
    int version = 0, (*get)(int *) = library ? (int (*)(int *))dlsym(library, "cudaRuntimeGetVersion") : NULL;
    if (get) get(&version);
    printf("%s: %d\n", name, version / 1000);
}

int main(int argc, char **argv) {
    driver("libcuda.so");
    driver("libcuda.so.1");
    driver("libcuda.so.580.95.05");
    runtime("libcudart.so");
    runtime("libcudart.so.11");
    runtime("libcudart.so.11.0");
    runtime("libcudart.so.12");
    runtime("libcudart.so.12.4.127");
    runtime("libcudart.so.13");
    runtime("libcudart.so.13.0.96");
    /* A program whose runtime is newer than the driver compiles machine code for it. */
    int of_driver = 0, of_runtime = 0;
    ((int (*)(int *))dlsym(open_it("libcuda.so.1"), "cuDriverGetVersion"))(&of_driver);
    ((int (*)(int *))dlsym(open_it("libcudart.so.13"), "cudaRuntimeGetVersion"))(&of_runtime);
    printf("the driver is %s than the newest runtime\n", of_driver < of_runtime ? "older" : "no older");
    const char *others[] = {"libcudart.so.99", "libcudart.so.120", "libcudart.so.1", "libcudart.sox", "libcuda.sox", "libcudadebugger.so.1"};
    for (int i = 0; i < 6; i++) printf("%s: %s\n", others[i], open_it(others[i]) ? "opened" : "not found");
    printf("libcuda.so in a folder: %s\n", open_it("/nonexistent/libcuda.so") ? "opened" : "not found");
    /* Files of the toolkit, by their paths; each is empty. */
    for (int i = 1; i < argc; i++) {
        const char *file = strrchr(argv[i], '/') + 1;
        void *library = open_it(argv[i]);
        int version = 0, (*get)(int *) = library ? (int (*)(int *))dlsym(library, "cudaRuntimeGetVersion") : NULL;
        if (get) get(&version);
        printf("%s by its path: %s, %d\n", file, library ? "opened" : "not found", version / 1000);
    }
    return 0;
}
