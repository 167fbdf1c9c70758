/* The program's own ranges and marks. Prints the results of the calls:
     nvtx ranges    every kind of call, around launches
     nvtx window    between and across cudaProfilerStart and -Stop
     nvtx fork      a range that is open in parent and child */
#include <sys/wait.h>
#include <unistd.h>

#include "cuda.h"
#include "nvtx.h"

static nvtxEventAttributes_t attributes(void) {
    nvtxEventAttributes_t a;
    memset(&a, 0, sizeof a);
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    return a;
}

static void *ends(void *id) {
    nvtxRangeEnd(*(nvtxRangeId_t *)id);
    printf("thread %d\n", nvtxRangePop());
    return NULL;
}

static void ranges(void) {
    nvtxDomainHandle_t domain = nvtxDomainCreateA("physics");
    printf("one domain %d\n", domain == nvtxDomainCreateW(L"physics"));
    nvtxRangeId_t id = nvtxRangeStartA("any thread");
    printf("push %d", nvtxRangePushA("outer"));
    printf(" %d", nvtxRangePushW(L"gr\u00f6\u00dfe"));
    LAUNCH1(alpha(NULL, 1, 1));
    nvtxEventAttributes_t a = attributes();
    a.category = 3;
    a.colorType = NVTX_COLOR_ARGB;
    a.color = 0xff102030;
    a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    a.payload.dValue = 2.5;
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = nvtxDomainRegisterStringA(domain, "step");
    printf(" %d", nvtxDomainRangePushEx(domain, &a));
    LAUNCH1(alpha(NULL, 2, 1));
    LAUNCH1(alpha(NULL, 3, 1));
    printf(" pop %d", nvtxDomainRangePop(domain));
    printf(" %d", nvtxRangePop());
    printf(" %d", nvtxRangePop());
    printf(" %d\n", nvtxRangePop());
    nvtxMarkA("mark");
    nvtxMarkW(L"wide");
    a = attributes();
    a.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    a.payload.ullValue = ~0ull;
    a.payload.iValue = -7;
    a.messageType = NVTX_MESSAGE_TYPE_UNICODE;
    a.message.unicode = L"number";
    nvtxDomainMarkEx(domain, &a);
    a = attributes();
    nvtxMarkEx(&a);
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = "ex";
    nvtxDomainRangeEnd(domain, nvtxDomainRangeStartEx(domain, &a));
    nvtxNameCategoryA(3, "nobody keeps that");
    nvtxDomainDestroy(domain);
    pthread_t thread;
    pthread_create(&thread, NULL, ends, &id);
    pthread_join(thread, NULL);
}

static void window(void) {
    nvtxRangePushA("too early");
    nvtxRangeId_t early = nvtxRangeStartA("too early");
    cudaProfilerStart();
    nvtxRangePushA("inside");
    nvtxRangePop();
    nvtxRangePushA("across");
    nvtxRangeId_t across = nvtxRangeStartA("across");
    cudaProfilerStop();
    nvtxRangePushA("too late");
    nvtxMarkA("too late");
    nvtxRangePop();
    printf("pop %d", nvtxRangePop());
    printf(" %d\n", nvtxRangePop());
    nvtxRangeEnd(across);
    nvtxRangeEnd(early);
}

static int forks(void) {
    nvtxDomainHandle_t domain = nvtxDomainCreateA("family");
    nvtxEventAttributes_t a = attributes();
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = "both";
    nvtxDomainRangePushEx(domain, &a);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int level = nvtxDomainRangePop(domain);
        a.message.ascii = "child";
        nvtxDomainRangePushEx(domain, &a);
        nvtxDomainRangePop(domain);
        _exit(level);
    }
    int status;
    waitpid(child, &status, 0);
    printf("child %d parent %d\n", status, nvtxDomainRangePop(domain));
    return 0;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "ranges")) ranges();
    else if (!strcmp(what, "window")) window();
    else if (!strcmp(what, "fork")) return forks();
    else return 2;
    return 0;
}
