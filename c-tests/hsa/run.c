// A program of the HSA API: memory, copies, signals, dispatches, and failing kernels.
//
//   run CODE            allocate, copy, dispatch, check
//   run CODE stray      a kernel writes to memory that is not mapped: AMD's runtime ends the process
//   run CODE broken     a kernel has an unknown instruction: the runtime calls the queue's callback
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check(hsa_status_t status, const char *what) {
    if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK)
        return;
    printf("%s: %#x\n", what, status);
    exit(1);
}

static hsa_agent_t gpu, cpu;
static hsa_amd_memory_pool_t device, host, arguments;

static hsa_status_t agent(hsa_agent_t a, void *data) {
    hsa_device_type_t type;
    check(hsa_agent_get_info(a, HSA_AGENT_INFO_DEVICE, &type), "device type");
    *(type == HSA_DEVICE_TYPE_GPU ? &gpu : &cpu) = a;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t pool(hsa_amd_memory_pool_t p, void *data) {
    hsa_amd_segment_t segment;
    uint32_t flags = 0;
    hsa_amd_memory_pool_get_info(p, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
    if (segment != HSA_AMD_SEGMENT_GLOBAL)
        return HSA_STATUS_SUCCESS;
    hsa_amd_memory_pool_get_info(p, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
    if (data) {
        device = p;
    } else {
        if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)
            arguments = p;
        if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED || !host.handle)
            host = p;
    }
    return HSA_STATUS_SUCCESS;
}

static hsa_queue_t *queue;
static hsa_executable_t executable;
static volatile int failed;

static void on_error(hsa_status_t status, hsa_queue_t *q, void *data) {
    printf("queue: %s\n", (int)status == HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION ? "illegal instruction" : "another error");
    failed = 1;
}

static void *allocate(hsa_amd_memory_pool_t p, size_t bytes) {
    void *at = 0;
    check(hsa_amd_memory_pool_allocate(p, bytes, 0, &at), "allocate");
    hsa_agent_t both[2] = {gpu, cpu};
    check(hsa_amd_agents_allow_access(2, both, 0, at), "allow access");
    return at;
}

static void load(const char *path) {
    int file = open(path, O_RDONLY);
    hsa_code_object_reader_t reader;
    check(hsa_code_object_reader_create_from_file(file, &reader), "read");
    check(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, "", &executable), "executable");
    check(hsa_executable_load_agent_code_object(executable, gpu, reader, 0, 0), "load");
    check(hsa_executable_freeze(executable, ""), "freeze");
}

static void launch(const char *name, const void *args, size_t bytes, unsigned items) {
    hsa_executable_symbol_t symbol;
    uint64_t kernel;
    uint32_t group, private_bytes;
    check(hsa_executable_get_symbol_by_name(executable, name, &gpu, &symbol), name);
    hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel);
    hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &group);
    hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &private_bytes);
    char *kernargs = allocate(arguments, 4096);
    memcpy(kernargs, args, bytes);
    hsa_signal_t done;
    check(hsa_signal_create(1, 0, 0, &done), "signal");
    uint64_t id = hsa_queue_add_write_index_relaxed(queue, 1);
    hsa_kernel_dispatch_packet_t *p = (hsa_kernel_dispatch_packet_t *)queue->base_address + (id & (queue->size - 1));
    memset((char *)p + 4, 0, sizeof *p - 4);
    p->workgroup_size_x = 64;
    p->workgroup_size_y = p->workgroup_size_z = 1;
    p->grid_size_x = items;
    p->grid_size_y = p->grid_size_z = 1;
    p->group_segment_size = group;
    p->private_segment_size = private_bytes;
    p->kernel_object = kernel;
    p->kernarg_address = kernargs;
    p->completion_signal = done;
    uint32_t header = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
    header = header << 16 | HSA_PACKET_TYPE_KERNEL_DISPATCH | 2 << HSA_PACKET_HEADER_ACQUIRE_FENCE_SCOPE | 2 << HSA_PACKET_HEADER_RELEASE_FENCE_SCOPE;
    __atomic_store_n((uint32_t *)p, header, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, id);
    while (!failed && hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, 100000000, HSA_WAIT_STATE_BLOCKED) >= 1)
        ;
    hsa_signal_destroy(done);
    hsa_amd_memory_pool_free(kernargs);
}

static void copy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent, size_t bytes) {
    hsa_signal_t done;
    check(hsa_signal_create(1, 0, 0, &done), "signal");
    check(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, bytes, 0, 0, done), "copy");
    hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
    hsa_signal_destroy(done);
}

enum { N = 10000 };

int main(int count, char **words) {
    const char *what = count > 2 ? words[2] : "";
    check(hsa_init(), "hsa_init");
    check(hsa_iterate_agents(agent, 0), "agents");
    check(hsa_amd_agent_iterate_memory_pools(cpu, pool, 0), "pools");
    check(hsa_amd_agent_iterate_memory_pools(gpu, pool, &gpu), "pools");
    char name[64];
    hsa_agent_get_info(gpu, HSA_AGENT_INFO_NAME, name);
    printf("agent: %s\n", name);
    check(hsa_queue_create(gpu, 256, HSA_QUEUE_TYPE_MULTI, on_error, 0, UINT32_MAX, UINT32_MAX, &queue), "queue");
    load(words[1]);
    if (!strcmp(what, "stray") || !strcmp(what, "broken")) {
        fflush(stdout);
        void *at = !strcmp(what, "stray") ? (void *)0x700000000000 : allocate(device, 4096);
        launch(!strcmp(what, "stray") ? "stray.kd" : "broken.kd", &at, 8, 64);
        printf("%s\n", failed ? "told" : "nobody noticed");
        return !failed;
    }
    float *a = allocate(host, N * 4), *b = allocate(host, N * 4), *c = allocate(host, N * 4);
    float *da = allocate(device, N * 4), *db = allocate(device, N * 4), *dc = allocate(device, N * 4);
    for (int i = 0; i < N; i++) {
        a[i] = i * 0.5f;
        b[i] = 1000 - i;
        c[i] = -1;
    }
    copy(da, gpu, a, cpu, N * 4);
    copy(db, gpu, b, cpu, N * 4);
    struct { void *a, *b, *c; int n; } args = {da, db, dc, N};
    launch("add.kd", &args, sizeof args, (N + 63) / 64 * 64);
    copy(c, cpu, dc, gpu, N * 4);
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += c[i] != a[i] * 2 + b[i];
    printf("add: %d wrong of %d\n", wrong, N);
    unsigned *in = allocate(host, 64 * 256 * 4), *out = allocate(device, 4096), expected = 0, sum = 0;
    for (int i = 0; i < 64 * 256; i++)
        expected += in[i] = i * 2654435761u;
    check(hsa_amd_memory_fill(out, 0, 1024), "fill");
    struct { void *in, *out; } two = {in, out};
    launch("sum.kd", &two, sizeof two, 64 * 64);
    check(hsa_memory_copy(&sum, out, 4), "copy");
    printf("sum: %s\n", sum == expected ? "right" : "wrong");
    hsa_queue_destroy(queue);
    check(hsa_shut_down(), "shut down");
    printf("done\n");
    return wrong || sum != expected;
}
