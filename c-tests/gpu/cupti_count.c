/* Counts kernel and graph launches with CUPTI, as an independent witness.
 *
 * The driver loads this library at cuInit when CUDA_INJECTION64_PATH names it, and
 * calls InitializeInjection. It subscribes to CUPTI's driver API callbacks, counts
 * the outermost launches of each thread that succeeded, and at the end of the process
 * writes {"kernels": {"mangled": n, ...}, "graphs": n, "calls": {"function": n}}
 * to the file $CUPTI_COUNT_FILE.PID.
 *
 *   cc -shared -fPIC -O1 -I CUPTI/include cupti_count.c -L CUPTI/lib -lcupti -o libcupti_count.so
 */
#include <cupti.h>
#include <pthread.h>
#include "cupti_launches.h"

struct entry {
    struct entry *next;
    unsigned long count;
    char name[];
};

enum { BUCKETS = 4096 };
static struct entry *kernels[BUCKETS], *calls[BUCKETS];
static unsigned long graphs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int depth;

static void count(struct entry **table, const char *name)
{
    unsigned hash = 2166136261u;
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    struct entry **at = &table[hash % BUCKETS];
    while (*at && strcmp((*at)->name, name))
        at = &(*at)->next;
    if (!*at) {
        *at = calloc(1, sizeof **at + strlen(name) + 1);
        if (!*at)
            return;
        strcpy((*at)->name, name);
    }
    (*at)->count++;
}

static void CUPTIAPI on_call(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    const CUpti_CallbackData *call = data;
    const char *name = call->functionName;
    (void)unused;
    (void)id;
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API || !name)
        return;
    int graph = strncmp(name, "cuGraphLaunch", 13) == 0;
    int kernel = launches_kernels(name);
    if (!graph && !kernel)
        return;
    if (call->callbackSite == CUPTI_API_ENTER) {
        depth++;
        return;
    }
    /* A refused launch may never have reached the driver, so only the others count. */
    if (--depth || *(const CUresult *)call->functionReturnValue != CUDA_SUCCESS)
        return;
    pthread_mutex_lock(&lock);
    count(calls, name);
    if (graph)
        graphs++;
    else
        count(kernels, call->symbolName ? call->symbolName : "-");
    pthread_mutex_unlock(&lock);
}

static void print_table(FILE *file, struct entry **table)
{
    const char *comma = "";
    fputc('{', file);
    for (int i = 0; i < BUCKETS; i++)
        for (struct entry *e = table[i]; e; e = e->next) {
            fputs(comma, file);
            print_text(file, e->name);
            fprintf(file, ": %lu", e->count);
            comma = ", ";
        }
    fputc('}', file);
}

/* A destructor, which comes after launches from atexit handlers of the program. */
__attribute__((destructor)) static void finish(void)
{
    FILE *file = output("CUPTI_COUNT_FILE");
    if (!file)
        return;
    pthread_mutex_lock(&lock);
    fprintf(file, "{\"kernels\": ");
    print_table(file, kernels);
    fprintf(file, ", \"graphs\": %lu, \"calls\": ", graphs);
    print_table(file, calls);
    fprintf(file, "}\n");
    pthread_mutex_unlock(&lock);
    fclose(file);
}

int InitializeInjection(void)
{
    CUpti_SubscriberHandle subscriber;
    CUptiResult result = cuptiSubscribe(&subscriber, on_call, NULL);
    if (result == CUPTI_SUCCESS)
        result = cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
    if (result != CUPTI_SUCCESS)
        fprintf(stderr, "cupti_count: CUPTI answers %d\n", (int)result);
    return 1;
}
