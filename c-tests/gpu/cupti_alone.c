/* CUPTI's own record of every kernel and nothing else, for any program: the driver loads this library if
   CUDA_INJECTION64_PATH names it, and calls InitializeInjection. Each record is read and discarded. */
#include <stdint.h>
#include <stdlib.h>
#include <cupti.h>

static volatile uint64_t seen;

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
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        seen += record->kind;
    free(buffer);
}

int InitializeInjection(void)
{
    return cuptiActivityRegisterCallbacks(give, take) == CUPTI_SUCCESS &&
           cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS;
}
