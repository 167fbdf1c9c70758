/* AMD's HSA runtime with one failing call, for CUSHIM_HSA. Every call passes to the library that HSA_FAILS_REAL names, except
   the call whose function and number HSA_FAILS gives (`hsa_queue_create 1 4104`), which returns that status and does
   nothing else. HSA_FAILS_COUNT names a file that gets a line for each function: its name, and its number of calls. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The functions that return a status, and the others. */
#define FAILING(F) \
    F(hsa_init) F(hsa_shut_down) F(hsa_status_string) F(hsa_system_get_info) F(hsa_iterate_agents) \
    F(hsa_agent_get_info) F(hsa_agent_iterate_isas) F(hsa_isa_get_info_alt) F(hsa_amd_agent_iterate_memory_pools) \
    F(hsa_amd_memory_pool_get_info) F(hsa_amd_agent_memory_pool_get_info) F(hsa_amd_memory_pool_allocate) \
    F(hsa_amd_memory_pool_free) F(hsa_amd_agents_allow_access) F(hsa_amd_memory_lock) F(hsa_amd_memory_unlock) \
    F(hsa_amd_memory_async_copy) F(hsa_amd_memory_async_copy_rect) F(hsa_memory_copy) F(hsa_amd_memory_fill) \
    F(hsa_amd_register_system_event_handler) F(hsa_amd_profiling_set_profiler_enabled) \
    F(hsa_amd_profiling_async_copy_enable) F(hsa_amd_profiling_get_dispatch_time) \
    F(hsa_amd_profiling_get_async_copy_time) F(hsa_signal_create) F(hsa_signal_destroy) F(hsa_queue_create) \
    F(hsa_queue_destroy) F(hsa_amd_queue_set_priority) F(hsa_code_object_reader_create_from_memory) \
    F(hsa_code_object_reader_destroy) F(hsa_executable_create_alt) F(hsa_executable_destroy) \
    F(hsa_executable_load_agent_code_object) F(hsa_executable_freeze) F(hsa_executable_iterate_agent_symbols) \
    F(hsa_executable_get_symbol_by_name) F(hsa_executable_symbol_get_info)
#define OTHERS(F) \
    F(hsa_signal_load_scacquire) F(hsa_signal_store_relaxed) F(hsa_signal_store_screlease) \
    F(hsa_signal_wait_scacquire) F(hsa_queue_load_read_index_scacquire) F(hsa_queue_load_write_index_relaxed) \
    F(hsa_queue_store_write_index_screlease)

enum {
#define NUMBER(name) N_##name,
    FAILING(NUMBER) OTHERS(NUMBER) COUNT
};
static const char *const names[] = {
#define NAME(name) #name,
    FAILING(NAME) OTHERS(NAME)
};
static void *real[COUNT];
static unsigned calls[COUNT], number;
static int failing = -1;
/* The result of the failing call. */
__attribute__((visibility("hidden"))) unsigned hsa_fails_status;

__attribute__((constructor)) static void begin(void) {
    const char *file = getenv("HSA_FAILS_REAL"), *what = getenv("HSA_FAILS");
    void *library = dlopen(file ? file : "libhsa-runtime64.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) fprintf(stderr, "hsa fails: %s\n", dlerror()), exit(99);
    for (int i = 0; i < COUNT; i++) real[i] = dlsym(library, names[i]);
    char name[64];
    if (what && sscanf(what, "%63s %u %u", name, &number, &hsa_fails_status) == 3)
        for (int i = 0; i < COUNT; i++)
            if (!strcmp(names[i], name)) failing = i;
}

__attribute__((destructor)) static void end(void) {
    FILE *to = getenv("HSA_FAILS_COUNT") ? fopen(getenv("HSA_FAILS_COUNT"), "w") : NULL;
    for (int i = 0; to && i < COUNT; i++)
        if (calls[i]) fprintf(to, "%s %u\n", names[i], calls[i]);
    if (to) fclose(to);
}

/* The real function to call; null for the failing call. */
__attribute__((visibility("hidden"), used)) void *hsa_fails_next(int which) {
    unsigned before = __atomic_fetch_add(&calls[which], 1, __ATOMIC_RELAXED);
    return which == failing && before + 1 == number ? NULL : real[which];
}

/* Passes all arguments to the real function unchanged: numbers and addresses, in registers and on the stack. */
#define PASS(name) \
    __attribute__((naked)) void name(void) { \
        __asm__("push %rdi; push %rsi; push %rdx; push %rcx; push %r8; push %r9; sub $8, %rsp"); \
        __asm__("mov %0, %%edi; call hsa_fails_next" : : "i"(N_##name)); \
        __asm__("add $8, %rsp; pop %r9; pop %r8; pop %rcx; pop %rdx; pop %rsi; pop %rdi"); \
        __asm__("test %rax, %rax; jz 1f; jmp *%rax; 1: mov hsa_fails_status(%rip), %eax; ret"); \
    }
FAILING(PASS)
OTHERS(PASS)
