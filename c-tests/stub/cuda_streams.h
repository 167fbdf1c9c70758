/* Streams and events of a GPU whose kernels take the time that they state. Part of cuda.c.

   Handles 0 to 99 are streams of the current context that need no creation. A stream's own clock is the end of its last
   work; later work begins when it is submitted, or right after an event at that clock. */
struct stream { const int *context; unsigned long long at; int after_event, after_kernel, captured; };
static struct stream streams[128];
static atomic_int stream_count = 100;
static pthread_mutex_t gpu = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static struct stream *stream_at(const void *handle) {
    size_t at = (size_t)handle < 100 ? (size_t)handle : (size_t)((const struct stream *)handle - streams);
    if (at >= 128) at = 99; /* handles of programs that create no streams */
    return &streams[at];
}
int cuStreamCreate(void **out, unsigned flags) {
    LOG("flags=%u", flags);
    if (!out || stream_count == 128) return 1;
    struct stream *s = &streams[stream_count++];
    s->context = current;
    *out = s;
    return 0;
}
int cuStreamDestroy_v2(void *stream) { LOG("stream=%d", !!stream); return stream ? 0 : 400; }
int cuStreamGetCtx(void *stream, void **out) {
    struct stream *s = stream_at(stream);
    *out = (void *)(s->context ? s->context : current);
    return 0;
}
static atomic_int captures;
int cuStreamIsCapturing(void *stream, int *out) {
    struct stream *s = stream_at(stream);
    if (!stream && captures && !s->captured) return 906;
    *out = s->captured;
    return 0;
}
int cuThreadExchangeStreamCaptureMode(int *mode) {
    static __thread int own;
    int before = own;
    own = *mode;
    *mode = before;
    return 0;
}
int cuStreamBeginCapture_v2(void *stream, int mode) {
    LOG("stream=%#lx mode=%d", (unsigned long)stream_at(stream)->at, mode);
    stream_at(stream)->captured = 1;
    captures++;
    return 0;
}
int cuStreamEndCapture(void *stream, void **graph) {
    LOG("graph=%d", !!graph);
    int was = stream_at(stream)->captured;
    stream_at(stream)->captured = 0;
    captures--;
    if (graph) *graph = &streams[0];
    return was == 1 ? 0 : 901; /* other work came in between */
}
/* A kernel that takes this many nanoseconds. */
static void work_on(void *stream, unsigned long ns) {
    struct stream *s = stream_at(stream);
    pthread_mutex_lock(&gpu);
    if (!s->captured) {
        unsigned long long now = now_ns();
        if (!s->after_event && s->at < now) s->at = now;
        s->at += ns;
        s->after_event = 0;
        s->after_kernel = 1;
    }
    pthread_mutex_unlock(&gpu);
}

#define MOST_EVENTS 65536
static struct event { const int *context; unsigned long long at; } events[MOST_EVENTS];
static atomic_int event_count;
static struct event *event_at(void *event) {
    struct event *e = event;
    if (e < events || e >= events + MOST_EVENTS) return NULL;
    if (e->context && !is_context(e->context)) abort(); /* like memory that was freed */
    return e;
}
int cuEventCreate(void **out, unsigned flags) {
    LOG("flags=%u", flags);
    if (!out || event_count >= MOST_EVENTS) return 1;
    struct event *e = &events[event_count++];
    e->context = current;
    *out = e;
    return 0;
}
int cuEventRecord(void *event, void *stream) {
    LOG("event=%d stream=%#lx", !!event, (size_t)stream < 100 ? (unsigned long)stream : 100);
    struct event *e = event_at(event);
    struct stream *s = stream_at(stream);
    errno = 77;
    if (!e || e->context != (s->context ? s->context : current)) return 400;
    pthread_mutex_lock(&gpu);
    if (s->captured) {
        s->captured = 2;
    } else {
        unsigned long long now = now_ns();
        if (!s->after_kernel && s->at < now) s->at = now;
        e->at = s->at;
        s->after_event = 1;
        s->after_kernel = 0;
    }
    pthread_mutex_unlock(&gpu);
    return 0;
}
int cuEventQuery(void *event) {
    struct event *e = event_at(event);
    if (!e || !e->at) return 400;
    return e->at <= now_ns() ? 0 : 600;
}
int cuEventElapsedTime(float *out, void *begin, void *end) {
    struct event *b = event_at(begin), *e = event_at(end);
    if (!out || !b || !e || b->context != e->context) return 400;
    if (!b->at || !e->at) return 400;
    if (b->at > now_ns() || e->at > now_ns()) return 600;
    *out = (float)((double)(long long)(e->at - b->at) / 1e6);
    return 0;
}

int cuCtxSynchronize(void) {
    CHECK_STATUS("failing");
    LOG("-");
    for (int i = 0; i < 128; i++)
        while (streams[i].at > now_ns()) usleep(10);
    return 0;
}
int cuStreamSynchronize(void *stream) { LOG("stream=%#lx", (unsigned long)stream); return 0; }
