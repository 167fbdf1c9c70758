/* Part of cuda.c: kernels that are enumerated, and images that are linked. */

static int enumerate(void **out, unsigned count, void *m) {
    char names[64][128];
    if (!out || !is_module(m)) return 400;
    int there = stub_kernels(((struct module *)m)->image, names, 64);
    for (int i = 0; i < there && (unsigned)i < count; i++) {
        int status = get(&out[i], m, names[i]);
        if (status) return status;
    }
    return 0;
}
int cuModuleEnumerateFunctions(void **out, unsigned count, void *m) { CHECK_STATUS("failing"); LOG("out=%d count=%u module=%d", !!out, count, is_module(m)); return enumerate(out, count, m); }
int cuLibraryEnumerateKernels(void **out, unsigned count, void *m) { LOG("out=%d count=%u library=%d", !!out, count, is_module(m)); return enumerate(out, count, m); }
int cuModuleGetFunctionCount(unsigned *out, void *m) { return cuLibraryGetKernelCount(out, m); }

/* What is linked is the first image that was added. */
struct link { char *image; size_t size; };
int cuLinkCreate_v2(unsigned count, void *options, void *values, void **out) {
    LOG("options=%u,%d,%d out=%d", count, !!options, !!values, !!out);
    if (!out) return 1;
    *out = calloc(1, sizeof(struct link));
    return 0;
}
int cuLinkAddData_v2(void *state, int type, void *data, size_t size, const char *name, unsigned count, void *options, void *values) {
    LOG("type=%d size=%zu name=%s options=%u,%d,%d", type, size, name ? name : "?", count, !!options, !!values);
    struct link *link = state;
    if (!data || !size) return 1;
    if (!link->image) {
        link->image = calloc(1, size + 1);
        link->size = size;
        memcpy(link->image, data, size);
    }
    return 0;
}
int cuLinkComplete(void *state, void **out, size_t *size) {
    LOG("out=%d size=%d", !!out, !!size);
    struct link *link = state;
    if (!link->image) return 1;
    *out = link->image;
    *size = link->size;
    return 0;
}
int cuLinkDestroy(void *state) {
    LOG("state=%d", !!state);
    free(((struct link *)state)->image);
    free(state);
    return 0;
}
