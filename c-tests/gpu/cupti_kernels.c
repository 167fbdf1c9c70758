/* Each thread's kernel launches in their order, with the times that CUPTI measured for their kernels.
 *
 * The driver loads this library at cuInit when CUDA_INJECTION64_PATH names it, and
 * calls InitializeInjection. At the end of the process it writes to the file $CUPTI_KERNELS_FILE.PID a JSON line
 * {"tid": n, "mangled": "...", "start": ns, "end": ns} for each outermost launch that succeeded, in the order of the
 * calls; then one with tid 0 for each kernel of another call (of a graph). Times are those of CUPTI's clock; both are 0
 * if there is no record (a captured launch runs nothing, and CUPTI gives none after the driver's end).
 *
 *   cc -shared -fPIC -O1 -I CUPTI/include cupti_kernels.c -L CUPTI/lib -lcupti -o libcupti_kernels.so
 */
#define _GNU_SOURCE
#include <cupti.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include "cupti_launches.h"

struct call {
    uint32_t correlation;
    long tid;
    char *name;
};

struct kernel {
    uint32_t correlation;
    int used;
    uint64_t start, end;
};

static struct call *calls;
static struct kernel *kernels;
static size_t call_count, call_room, kernel_count, kernel_room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int depth;

/* Room for one more item of this size, or 0. */
static int grow(void *items, size_t count, size_t *room, size_t size)
{
    void *grown;
    if (count < *room)
        return 1;
    grown = realloc(*(void **)items, 2 * (*room + 64) * size);
    if (!grown)
        return 0;
    *(void **)items = grown;
    *room = 2 * (*room + 64);
    return 1;
}

static void CUPTIAPI on_call(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    const CUpti_CallbackData *call = data;
    (void)unused;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        /* Its records go with the context. */
        if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
            cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
        return;
    }
    const char *name = call->functionName;
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API || !name || !launches_kernels(name))
        return;
    if (call->callbackSite == CUPTI_API_ENTER) {
        depth++;
        return;
    }
    if (--depth || *(const CUresult *)call->functionReturnValue != CUDA_SUCCESS)
        return;
    pthread_mutex_lock(&lock);
    if (grow(&calls, call_count, &call_room, sizeof *calls))
        calls[call_count++] = (struct call){call->correlationId, syscall(SYS_gettid), strdup(call->symbolName ? call->symbolName : "-")};
    pthread_mutex_unlock(&lock);
}

static void CUPTIAPI give(uint8_t **buffer, size_t *size, size_t *records)
{
    *size = 1 << 20;
    *buffer = aligned_alloc(8, *size);
    *records = 0;
}

static void CUPTIAPI take(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_Activity *record = NULL;
    (void)context, (void)stream, (void)size;
    pthread_mutex_lock(&lock);
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        /* Later versions of the record begin with the same fields. */
        const CUpti_ActivityKernel4 *kernel = (const void *)record;
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && grow(&kernels, kernel_count, &kernel_room, sizeof *kernels))
            kernels[kernel_count++] = (struct kernel){kernel->correlationId, 0, kernel->start, kernel->end};
    }
    pthread_mutex_unlock(&lock);
    free(buffer);
}

static int by_correlation(const void *a, const void *b)
{
    uint32_t x = ((const struct kernel *)a)->correlation, y = ((const struct kernel *)b)->correlation;
    return (x > y) - (x < y);
}

static void print(FILE *file, long tid, const char *name, const struct kernel *kernel)
{
    fprintf(file, "{\"tid\": %ld, \"mangled\": ", tid);
    print_text(file, name);
    fprintf(file, ", \"start\": %llu, \"end\": %llu}\n", kernel ? (unsigned long long)kernel->start : 0,
            kernel ? (unsigned long long)kernel->end : 0);
}

/* The last records: asked for while the driver still answers. */
static void flush(void)
{
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

/* A destructor, which comes after launches from atexit handlers of the program. */
__attribute__((destructor)) static void finish(void)
{
    FILE *file = output("CUPTI_KERNELS_FILE");
    if (!file)
        return;
    pthread_mutex_lock(&lock);
    qsort(kernels, kernel_count, sizeof *kernels, by_correlation);
    for (size_t i = 0; i < call_count; i++) {
        struct kernel asked = {calls[i].correlation, 0, 0, 0};
        struct kernel *found = kernels ? bsearch(&asked, kernels, kernel_count, sizeof *kernels, by_correlation) : NULL;
        if (found)
            found->used = 1;
        print(file, calls[i].tid, calls[i].name ? calls[i].name : "-", found);
    }
    for (size_t i = 0; i < kernel_count; i++)
        if (!kernels[i].used)
            print(file, 0, "-", &kernels[i]);
    pthread_mutex_unlock(&lock);
    fclose(file);
}

int InitializeInjection(void)
{
    CUpti_SubscriberHandle subscriber;
    CUptiResult result = cuptiSubscribe(&subscriber, on_call, NULL);
    if (result == CUPTI_SUCCESS)
        result = cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
    if (result == CUPTI_SUCCESS)
        result = cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
    if (result == CUPTI_SUCCESS)
        result = cuptiActivityRegisterCallbacks(give, take);
    if (result == CUPTI_SUCCESS)
        result = cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    if (result != CUPTI_SUCCESS)
        fprintf(stderr, "cupti_kernels: CUPTI answers %d\n", (int)result);
    atexit(flush);
    return 1;
}
