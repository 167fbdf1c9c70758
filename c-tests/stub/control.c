/* Log, counters and programmed results; part of each test-only library. */
#include "inside.h"

static const char *fail_function;
static int fail_status;
static atomic_int fail_times;
static void (*callback)(void *);
static void *callback_data;
static int errno_value = -1;
static atomic_ulong launches;
int stub_driver_wanted;

void stub_fail(const char *function, int status, int times) {
    fail_function = function;
    fail_status = status;
    fail_times = times;
}

void stub_in_launch(void (*run)(void *), void *data) {
    callback_data = data;
    callback = run;
}

void stub_set_errno(int value) { errno_value = value; }
unsigned long stub_launches(void) { return launches; }
void stub_use_driver(int on) { stub_driver_wanted = on; }

int stub_status(const char *function) {
    if (!fail_times || !fail_function || strcmp(function, fail_function) != 0) return 0;
    if (fail_times > 0) fail_times--;
    return fail_status;
}

void stub_launched(void) {
    launches++;
    if (errno_value >= 0) errno = errno_value;
    void (*run)(void *) = callback;
    if (run) {
        callback = NULL;
        run(callback_data);
    }
}

/* The file is opened for each line: programs close descriptors of others,
   fork and exec, and no line may be lost by that. */
static const char *log_path(void) {
    static const char *path;
    static atomic_int known;
    if (!known) {
        path = getenv("STUB_LOG");
        known = 1;
    }
    return path;
}

int stub_quiet(void) {
    static int quiet = -1;
    if (quiet < 0) quiet = getenv("STUB_QUIET") != NULL;
    return quiet;
}

int stub_memory(void) {
    static int memory = -1;
    if (memory < 0) memory = getenv("STUB_MEMORY") != NULL;
    return memory;
}

int stub_logging(void) { return log_path() != NULL; }

void stub_log(const char *library, const char *function, const char *format, ...) {
    const char *path = log_path();
    if (!path) return;
    int saved = errno;
    char line[4096];
    int n = snprintf(line, sizeof line, "%d %s %s ", (int)getpid(), library, function);
    va_list arguments;
    va_start(arguments, format);
    n += vsnprintf(line + n, sizeof line - n, format, arguments);
    va_end(arguments);
    if (n > (int)sizeof line - 2) n = sizeof line - 2;
    line[n++] = '\n';
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, n) != n) {
        static const char what[] = "stub: cannot write STUB_LOG\n";
        if (write(2, what, sizeof what - 1) < 0) abort();
        abort();
    }
    close(fd);
    errno = saved;
}
