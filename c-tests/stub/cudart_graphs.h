/* Graphs: handles are indices into these arrays. Part of cudart.c. */

struct node_params { void *func; dim3 grid, block; unsigned shared; void **args; void **extra; };
static char graphs[64], nodes[256], execs[64];
static atomic_int graph_count, node_count, exec_count;
static __thread int capturing;

static cudaError_t node(const char *function, const struct node_params *p, void **out) {
    char hex[2100];
    int status = stub_status(function);
    struct kernel *k = p ? find(p->func) : NULL;
    if (!status) status = !p ? 1 : !k ? 98 : 0;
    if (p)
        stub_log(LIBRARY, function, "kernel=%s grid=%u,%u,%u block=%u,%u,%u shared=%u stream=graph args=%s status=%d code=%08x", name_of(k), p->grid.x,
                 p->grid.y, p->grid.z, p->block.x, p->block.y, p->block.z, p->shared,
                 hex_of(k, p->args, p->extra, hex, sizeof hex), status, k && k->module ? stub_code(k->module->image) : 0);
    else
        stub_log(LIBRARY, function, "params=0 status=%d", status);
    if (!status && out) *out = &nodes[node_count++ % 256];
    return status;
}

cudaError_t cudaGraphCreate(void **out, unsigned flags) {
    CHECK_STATUS("failing");
    LOG("out=%d flags=%u", !!out, flags);
    if (!out) return 1;
    *out = &graphs[graph_count++ % 64];
    return 0;
}
cudaError_t cudaGraphDestroy(void *graph) { LOG("graph=%d", !!graph); return graph ? 0 : 1; }
cudaError_t cudaGraphAddKernelNode(void **out, void *graph, void **dependencies, size_t count, const struct node_params *p) {
    (void)graph, (void)dependencies, (void)count;
    return node(__func__, p, out);
}
cudaError_t cudaGraphKernelNodeSetParams(void *n, const struct node_params *p) { (void)n; return node(__func__, p, NULL); }
cudaError_t cudaGraphExecKernelNodeSetParams(void *exec, void *n, const struct node_params *p) {
    (void)exec, (void)n;
    return node(__func__, p, NULL);
}
struct generic_params { int type, reserved[3]; struct node_params kernel; };
#if STUB_MAJOR == 12
cudaError_t cudaGraphAddNode(void **out, void *graph, void **d, size_t n, struct generic_params *p) {
    (void)graph, (void)d, (void)n;
    if (p && p->type != 0) { LOG("type=%d", p->type); *out = nodes; return 0; }
    return node(__func__, p ? &p->kernel : NULL, out);
}
#elif STUB_MAJOR == 13
cudaError_t cudaGraphAddNode(void **out, void *graph, void **d, void *edges, size_t n, struct generic_params *p) {
    (void)graph, (void)d, (void)n, (void)edges;
    if (p && p->type != 0) { LOG("type=%d", p->type); *out = nodes; return 0; }
    return node(__func__, p ? &p->kernel : NULL, out);
}
#endif
#if STUB_MAJOR == 11
cudaError_t cudaGraphInstantiate(void **out, void *graph, void **error, char *buffer, size_t size) {
    LOG("graph=%d error=%d buffer=%d size=%zu", !!graph, !!error, !!buffer, size);
#else
cudaError_t cudaGraphInstantiate(void **out, void *graph, unsigned long long flags) {
    LOG("graph=%d flags=%llu", !!graph, flags);
#endif
    *out = &execs[exec_count++ % 64];
    return 0;
}
cudaError_t cudaGraphLaunch(void *exec, void *stream) {
    CHECK_STATUS("failing");
    LOG("exec=%d stream=%#lx", !!exec, (unsigned long)stream);
    return exec ? 0 : 1;
}
cudaError_t cudaGraphExecDestroy(void *exec) { LOG("exec=%d", !!exec); return 0; }
cudaError_t cudaStreamBeginCapture(void *stream, int mode) {
    LOG("stream=%#lx mode=%d", (unsigned long)stream, mode);
    if (capturing) return 401; /* it goes on */
    capturing = 1;
    return 0;
}
/* A forbidden call during a capture invalidates it. */
static cudaError_t forbidden(const char *function) {
    stub_log(LIBRARY, function, "capturing=%d", capturing);
    if (!capturing) return 0;
    capturing = 2;
    return 900;
}
cudaError_t cudaStreamEndCapture(void *stream, void **out) {
    LOG("stream=%#lx", (unsigned long)stream);
    int state = capturing;
    capturing = 0;
    *out = state == 1 ? &graphs[graph_count++ % 64] : NULL;
    return state == 1 ? 0 : 901;
}
