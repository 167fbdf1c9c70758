/* Memory: with STUB_MEMORY it is host memory. Part of cuda.c. */

static struct { char *at; size_t size; } allocations[MOST];
static atomic_int allocation_count;

static int allocation_of(unsigned long long address) {
    for (int i = 0; i < allocation_count; i++) {
        unsigned long long at = (unsigned long long)(uintptr_t)allocations[i].at;
        if (at && address >= at && address < at + allocations[i].size) return i;
    }
    return -1;
}
int cuMemAlloc_v2(unsigned long long *out, size_t size) {
    CHECK_STATUS("failing");
    LOG("size=%zu", size);
    if (!out) return 1;
    *out = 0x7f0000002000;
    if (stub_memory()) {
        int at = allocation_count++;
        if (at >= MOST) abort();
        allocations[at].at = calloc(1, size);
        allocations[at].size = size;
        *out = (uintptr_t)allocations[at].at;
    }
    return 0;
}
int cuMemAlloc(unsigned *out, unsigned size) { LOG("size=%u", size); *out = 0x1000; return 0; }
int cuMemFree_v2(unsigned long long at) {
    LOG("at=%llx", stub_memory() ? 0 : at);
    int found = stub_memory() ? allocation_of(at) : -1;
    if (found >= 0) {
        free(allocations[found].at);
        allocations[found].at = NULL;
    }
    return 0;
}
int cuMemGetAddressRange_v2(unsigned long long *base, size_t *size, unsigned long long at) {
    int found = stub_memory() ? allocation_of(at) : -1;
    if (found < 0) return 500;
    if (base) *base = (uintptr_t)allocations[found].at;
    if (size) *size = allocations[found].size;
    return 0;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t size) {
    CHECK_STATUS("failing");
    LOG("to=%llx from=%d size=%zu", stub_memory() ? 0 : to, !!from, size);
    if (stub_memory()) memcpy((void *)(uintptr_t)to, from, size);
    if (stub_cuda_work) stub_cuda_work(&(struct stub_work){.kind = 1, .direction = 1, .bytes = size, .ns = 500}, 1);
    return 0;
}
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t size) {
    CHECK_STATUS("failing");
    LOG("to=%d from=%llx size=%zu", !!to, stub_memory() ? 0 : from, size);
    if (stub_memory()) memcpy(to, (void *)(uintptr_t)from, size);
    return 0;
}

/* ---- copies in a stream: done at once, and only with STUB_MEMORY */

static int move(void *to, const void *from, size_t size, unsigned long long device) {
    int found = stub_memory() ? allocation_of(device) : -1;
    if (found < 0 || device + size > (uintptr_t)allocations[found].at + allocations[found].size) return 1;
    memcpy(to, from, size);
    return 0;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t size, void *stream) {
    CHECK_STATUS("failing");
    LOG("from=%d size=%zu stream=%d", !!from, size, !!stream);
    return move((void *)(uintptr_t)to, from, size, to);
}
int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t size, void *stream) {
    CHECK_STATUS("failing");
    LOG("to=%d size=%zu stream=%d", !!to, size, !!stream);
    return move(to, (const void *)(uintptr_t)from, size, from);
}
