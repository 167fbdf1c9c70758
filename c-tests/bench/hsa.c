/* `hsa CODE BURSTS LAUNCHES ROUNDS`: the cost of a launch by AMD's runtime itself, the yardstick for launches through
   `--backend hsa`. CODE has a kernel `empty` without arguments. Each packet of a burst of LAUNCHES is as cushim writes it:
   the barrier bit, fences at system scope, a completion signal. Prints for each burst the thread's own nanoseconds per
   launch; then, for ROUNDS launches with a wait after each, the nanoseconds from the packet to the end of the wait. */
#include <fcntl.h>
#include <hsa/hsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void check(hsa_status_t status, const char *what) {
    if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK) return;
    fprintf(stderr, "%s: %#x\n", what, status);
    exit(1);
}

static hsa_agent_t gpu;
static hsa_queue_t *queue;
static uint64_t kernel;

static hsa_status_t agent(hsa_agent_t a, void *data) {
    (void)data;
    hsa_device_type_t type;
    check(hsa_agent_get_info(a, HSA_AGENT_INFO_DEVICE, &type), "device type");
    if (type == HSA_DEVICE_TYPE_GPU) gpu = a;
    return HSA_STATUS_SUCCESS;
}

static void load(const char *path) {
    hsa_code_object_reader_t reader;
    hsa_executable_t executable;
    hsa_executable_symbol_t symbol;
    check(hsa_code_object_reader_create_from_file(open(path, O_RDONLY), &reader), "read");
    check(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, "", &executable), "executable");
    check(hsa_executable_load_agent_code_object(executable, gpu, reader, 0, 0), "load");
    check(hsa_executable_freeze(executable, ""), "freeze");
    check(hsa_executable_get_symbol_by_name(executable, "empty.kd", &gpu, &symbol), "empty");
    check(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel), "kernel");
}

static void launch(hsa_signal_t done) {
    uint64_t id = hsa_queue_add_write_index_relaxed(queue, 1);
    hsa_kernel_dispatch_packet_t *p = (hsa_kernel_dispatch_packet_t *)queue->base_address + (id & (queue->size - 1));
    memset((char *)p + 4, 0, sizeof *p - 4);
    p->workgroup_size_x = 64;
    p->workgroup_size_y = p->workgroup_size_z = p->grid_size_y = p->grid_size_z = 1;
    p->grid_size_x = 64;
    p->kernel_object = kernel;
    p->completion_signal = done;
    uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << HSA_PACKET_HEADER_BARRIER | 2 << HSA_PACKET_HEADER_ACQUIRE_FENCE_SCOPE
        | 2 << HSA_PACKET_HEADER_RELEASE_FENCE_SCOPE | 1u << (16 + HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS);
    __atomic_store_n((uint32_t *)p, header, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)id);
}

static void wait_for(hsa_signal_t done) {
    while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) >= 1)
        ;
}

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    int bursts = atoi(argv[2]), launches = atoi(argv[3]), rounds = atoi(argv[4]);
    check(hsa_init(), "hsa_init");
    check(hsa_iterate_agents(agent, 0), "agents");
    check(hsa_queue_create(gpu, 4096, HSA_QUEUE_TYPE_MULTI, 0, 0, UINT32_MAX, UINT32_MAX, &queue), "queue");
    load(argv[1]);
    hsa_signal_t *done = calloc((size_t)launches, sizeof *done);
    for (int n = 0; n < launches; n++) check(hsa_signal_create(1, 0, 0, done + n), "signal");
    for (int burst = 0; burst < bursts; burst++) {
        double begun = now(CLOCK_THREAD_CPUTIME_ID);
        for (int n = 0; n < launches; n++) launch(done[n]);
        printf("burst %.1f\n", (now(CLOCK_THREAD_CPUTIME_ID) - begun) / launches);
        for (int n = 0; n < launches; n++) {
            wait_for(done[n]);
            hsa_signal_store_relaxed(done[n], 1);
        }
    }
    for (int n = 0; n < rounds; n++) {
        double begun = now(CLOCK_MONOTONIC);
        launch(done[0]);
        wait_for(done[0]);
        printf("wait %.1f\n", now(CLOCK_MONOTONIC) - begun);
        hsa_signal_store_relaxed(done[0], 1);
    }
    return 0;
}
