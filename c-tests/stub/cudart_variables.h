/* Variables, by the host variables under which programs register them; with STUB_MEMORY they have addresses. Part of
   cudart.c. Errors are the runtime's: 13 for a host variable that was not registered. */

struct variable { const void *host; char *name; size_t size; struct module *module; };
#define MOST_VARIABLES 4096
static struct variable variables[MOST_VARIABLES];
static atomic_int variable_count;

static void register_variable(void **handle, const void *host, const char *name, size_t size) {
    int at = variable_count++;
    if (at >= MOST_VARIABLES) abort();
    variables[at] = (struct variable){host, strdup(name), size, is_module(handle) ? (struct module *)handle : NULL};
}

static void forget_variables(const struct module *module) {
    for (int i = 0; i < variable_count; i++)
        if (variables[i].module == module) variables[i].module = NULL;
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext, size_t size, int constant,
                       int global) {
    LOG("handle=%d host=%d device=%s name=%s ext=%d size=%zu constant=%d global=%d", is_module(handle), !!host, device,
        name, ext, size, constant, global);
    register_variable(handle, host, name, size);
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext, size_t size,
                              int constant, int global) {
    LOG("handle=%d host=%d device=%s name=%s ext=%d size=%zu constant=%d global=%d", is_module(handle), !!host, device,
        name, ext, size, constant, global);
}

/* Its address in the current context; loads the module there if needed. */
static cudaError_t address_of(void **out, size_t *size, const void *host) {
    struct variable *v = NULL;
    for (int i = variable_count; i-- > 0 && !v;)
        if (variables[i].module && variables[i].host == host) v = &variables[i];
    if (!v) return last_error = 13;
    if (!stub_memory() || !driver_start()) return 801;
    if (!v->module->library && driver.load(&v->module->library, v->module->image, 0, 0, 0, 0, 0, 0)) return 209;
    return driver.global(out, size, v->module->library, v->name) ? (last_error = 13) : 0;
}
cudaError_t cudaGetSymbolAddress(void **out, const void *host) {
    CHECK_STATUS("failing");
    LOG("out=%d", !!out);
    return out ? address_of(out, NULL, host) : 1;
}
cudaError_t cudaGetSymbolSize(size_t *out, const void *host) {
    LOG("out=%d", !!out);
    return out ? address_of(NULL, out, host) : 1;
}
cudaError_t cudaMemcpyToSymbol(const void *host, const void *from, size_t size, size_t offset, int kind) {
    void *at;
    CHECK_STATUS("failing");
    LOG("size=%zu offset=%zu kind=%d", size, offset, kind);
    int status = address_of(&at, NULL, host);
    return status ? status : driver.up((char *)at + offset, from, size);
}
