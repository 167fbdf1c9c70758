/*
 * Replaces NVRTC and nvJitLink: functions of the same names that print their requests.
 *
 * With -DNVRTC or -DNVJITLINK. A program's log is the list of its compile options; its "machine code" is no image.
 */
#include <stdlib.h>
#include <string.h>

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";
static const char machine_code[] = "machine code";
struct work {
    char log[1000];
};

static int give(const char *text, size_t *size, char *to)
{
    if (size)
        *size = strlen(text) + 1;
    else
        strcpy(to, text);
    return 0;
}

static void remember(struct work *work, int count, const char *const *options)
{
    work->log[0] = 0;
    for (int i = 0; i < count; i++) {
        strcat(work->log, i ? " " : "");
        strcat(work->log, options[i]);
    }
}

#ifdef NVRTC
int nvrtcCreateProgram(struct work **work, const char *source, const char *name, int n, void *headers, void *names)
{
    *work = calloc(1, sizeof **work);
    return 0;
}
int nvrtcCompileProgram(struct work *work, int count, const char *const *options)
{
    remember(work, count, options);
    return 0;
}
int nvrtcDestroyProgram(struct work **work)
{
    free(*work);
    *work = NULL;
    return 0;
}
int nvrtcGetProgramLog(struct work *work, char *log) { return give(work->log, NULL, log); }
int nvrtcGetPTXSize(struct work *work, size_t *size) { return give(ptx, size, NULL); }
int nvrtcGetPTX(struct work *work, char *to) { return give(ptx, NULL, to); }
int nvrtcGetCUBINSize(struct work *work, size_t *size) { return give(machine_code, size, NULL); }
int nvrtcGetCUBIN(struct work *work, char *to) { return give(machine_code, NULL, to); }
#else
#define RELEASE(name) __nvJitLink##name##_12_4
int RELEASE(Create)(struct work **work, unsigned count, const char *const *options)
{
    *work = calloc(1, sizeof **work);
    remember(*work, (int)count, options);
    return 0;
}
int RELEASE(Destroy)(struct work **work)
{
    free(*work);
    *work = NULL;
    return 0;
}
int RELEASE(AddData)(struct work *work, int kind, const char *data, size_t size, const char *name)
{
    strcat(work->log, kind == 3 ? " LTO-IR" : " ?");
    return 0;
}
int RELEASE(Complete)(struct work *work) { return 0; }
int RELEASE(GetLinkedCubinSize)(struct work *work, size_t *size) { return give(machine_code, size, NULL); }
int RELEASE(GetLinkedCubin)(struct work *work, char *to) { return give(machine_code, NULL, to); }
int RELEASE(GetLinkedPtxSize)(struct work *work, size_t *size) { return give(ptx, size, NULL); }
int RELEASE(GetLinkedPtx)(struct work *work, char *to) { return give(ptx, NULL, to); }
int RELEASE(GetErrorLogSize)(struct work *work, size_t *size) { return give(work->log, size, NULL); }
int RELEASE(GetErrorLog)(struct work *work, char *to) { return give(work->log, NULL, to); }
#endif
