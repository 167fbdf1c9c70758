/* A test-only CUPTI, libcupti.so.13: activity records of what the test-only driver
   is asked to do, delivered as the real one may deliver them: on another thread, in
   small buffers; and a callback in the driver's calls, which says their numbers.
   Records have the sizes of CUDA 13.5. STUB_CUPTI_REFUSE=N: enabling kind N fails;
   STUB_CUPTI_TAKEN: there is a subscriber already; STUB_CUPTI_OLD: no clock but the
   real-time one, as before CUDA 11.6; STUB_CUPTI_DROPPED=N;
   STUB_CUPTI_STEP=N: a call's number is N more than that of the one before;
   STUB_CUPTI_STALE: a graph's second node has times of a second before, as one that did not run. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "work.h"

enum { COPY = 1, SET = 2, KERNEL = 10, P2P = 22, KINDS = 64 };
enum { OK = 0, REFUSED = 15, MAX_LIMIT_REACHED = 12, TAKEN = 39, WRONG = 1 };

static int on[KINDS];
static void (*want)(uint8_t **, size_t *, size_t *);
static void (*hand_over)(void *, uint32_t, uint8_t *, size_t, size_t);
static uint64_t (*user_clock)(void);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct buffer { uint8_t *at; size_t size, used; int records; };
static struct buffer work;
static uint32_t correlation, step;
static void (*subscribed)(void *, uint32_t, uint32_t, const void *);
static void *subscriber;
/* The driver's calls by CUPTI's numbers. */
static const char *const calls[] = {NULL, "cuInit", "cuLaunchKernel", NULL, "cuMemcpyHtoD_v2", "cuGraphLaunch", "cuMemAlloc_v2"};
enum { DRIVER_API = 1, CALLS = sizeof calls / sizeof *calls };
static int called_back[CALLS];
/* CUpti_CallbackData */
struct data {
    uint32_t site;
    const char *name;
    const void *parameters;
    void *result;
    const char *symbol;
    void *context;
    uint32_t context_number;
    uint64_t *beside;
    uint32_t correlation;
};

static uint64_t now(void) {
    struct timespec t;
    if (user_clock) return user_clock();
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static size_t size_of(uint32_t kind) {
    switch (kind) {
    case COPY: return 112;
    case SET: return 104;
    case KERNEL: return 248;
    case P2P: return 96;
    default: abort();
    }
}
static void *deliver(void *unused) {
    struct buffer full = work;
    (void)unused;
    memset(&work, 0, sizeof full);
    if (full.at) hand_over(NULL, 0, full.at, full.size, full.used);
    return NULL;
}
/* On another thread, as the real CUPTI does. The lock is held. */
static void flush(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, deliver, NULL)) abort();
    pthread_join(thread, NULL);
}
static uint8_t *record(struct buffer *to, uint32_t kind) {
    if (!to->at) {
        size_t most = 0;
        want(&to->at, &to->size, &most);
        if (!to->at || (uintptr_t)to->at % 8 || most) abort();
    }
    uint8_t *at = to->at + to->used;
    to->used += size_of(kind);
    to->records++;
    memset(at, 0xee, size_of(kind));
    memcpy(at, &kind, 4);
    return at;
}
#define PUT(type, offset, value) do { type v = (value); memcpy(at + (offset), &v, sizeof v); } while (0)

/* The data of a subscriber's callback for that call. */
static void call_back(uint32_t site, uint32_t call, uint32_t number) {
    struct data data;
    if (!called_back[call]) return;
    memset(&data, 0xee, sizeof data);
    data.site = site;
    data.name = calls[call];
    data.correlation = number;
    subscribed((void *)0x51, DRIVER_API, call, &data);
}
/* The driver has done this work. All work of one graph launch has the same number. */
static void done(const struct stub_work *w, int count) {
    pthread_mutex_lock(&lock);
    if (!step) step = getenv("STUB_CUPTI_STEP") ? (uint32_t)atoi(getenv("STUB_CUPTI_STEP")) : 1;
    uint32_t number = correlation += step, call = count && w->graph_node ? 5 : count && w->kind == KERNEL ? 2 : 4;
    uint8_t *at;
    call_back(0, call, number);
    call_back(1, call, number + 1000000);
    for (int i = 0; i < count; i++, w++) {
        if (!on[w->kind]) continue;
        at = record(&work, w->kind);
        uint64_t begin = now();
        if (i && w->graph_node && getenv("STUB_CUPTI_STALE")) begin -= 1000000000;
        int ids = w->kind == KERNEL ? 40 : 32;
        PUT(uint64_t, 16, begin);
        PUT(uint64_t, 24, begin + w->ns);
        PUT(uint32_t, ids, 0);
        PUT(uint32_t, ids + 4, 1);
        PUT(uint32_t, ids + 8, w->stream);
        if (w->kind == KERNEL) {
            memcpy(at + 52, w->grid, 12);
            memcpy(at + 64, w->block, 12);
            PUT(uint32_t, 76, 16);
            PUT(uint32_t, 80, w->shared);
            PUT(uint32_t, 92, number);
            PUT(const char *, 104, w->name);
            PUT(uint64_t, 144, w->graph_node);
        } else {
            PUT(uint8_t, 4, (uint8_t)w->direction);
            PUT(uint64_t, 8, w->bytes);
            PUT(uint32_t, 44, number);
            PUT(uint64_t, 64, w->graph_node);
        }
    }
    if (work.records > 40) flush();
    pthread_mutex_unlock(&lock);
}

int cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void)) {
    if (getenv("STUB_CUPTI_OLD")) return WRONG;
    user_clock = clock;
    return OK;
}
int cuptiActivityRegisterCallbacks(void (*request)(uint8_t **, size_t *, size_t *),
                                   void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t)) {
    want = request;
    hand_over = complete;
    return request && complete ? OK : WRONG;
}
int cuptiActivityEnable(uint32_t kind) {
    const char *refuse = getenv("STUB_CUPTI_REFUSE");
    if (refuse && (uint32_t)atoi(refuse) == kind) return REFUSED;
    if (kind >= KINDS) return WRONG;
    on[kind] = 1;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void (**told)(const struct stub_work *, int) = driver ? dlsym(driver, "stub_cuda_work") : NULL;
    if (!told) return WRONG;
    *told = done;
    return OK;
}
int cuptiSubscribe(void **handle, void (*function)(void *, uint32_t, uint32_t, const void *), void *data) {
    if (getenv("STUB_CUPTI_TAKEN") || subscriber) return TAKEN;
    subscribed = function;
    *handle = subscriber = &subscriber;
    (void)data;
    return function ? OK : WRONG;
}
int cuptiGetCallbackName(uint32_t domain, uint32_t call, const char **name) {
    if (domain != DRIVER_API || call >= CALLS || !calls[call]) return WRONG;
    *name = calls[call];
    return OK;
}
int cuptiEnableCallback(uint32_t enable, void *handle, uint32_t domain, uint32_t call) {
    if (!handle || handle != subscriber || domain != DRIVER_API || call >= CALLS || !calls[call]) return WRONG;
    called_back[call] = (int)enable;
    return OK;
}
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **at) {
    uint32_t kind;
    size_t next = 0;
    if (*at) {
        memcpy(&kind, *at, 4);
        next = (size_t)(*at - buffer) + size_of(kind);
    }
    if (next >= valid) return MAX_LIMIT_REACHED;
    *at = buffer + next;
    return OK;
}
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped) {
    static int told;
    const char *n = getenv("STUB_CUPTI_DROPPED");
    (void)context, (void)stream;
    *dropped = n && !told++ ? (size_t)atoi(n) : 0;
    return OK;
}
int cuptiActivityFlushAll(uint32_t flag) {
    (void)flag;
    pthread_mutex_lock(&lock);
    flush();
    pthread_mutex_unlock(&lock);
    return OK;
}
int cuptiGetResultString(int result, const char **out) {
    *out = result == REFUSED ? "CUPTI_ERROR_STUB_REFUSED" : result == TAKEN ? "CUPTI_ERROR_STUB_TAKEN" : "CUPTI_ERROR";
    return OK;
}
