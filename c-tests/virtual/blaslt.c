/*
 * Takes the place of cuBLASLt: descriptors, which need no device, and products that refuse, as on a GPU for which there is no
 * kernel. Handles cannot be made, as where its runtime finds no driver.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 40 };
struct descriptor {
    int64_t fields[FIELDS];
};

static int create(struct descriptor **to)
{
    *to = calloc(1, sizeof **to);
    return *to ? 0 : 3;
}

static int get(const struct descriptor *from, unsigned field, void *to, size_t size, size_t *written)
{
    if (!from || field >= FIELDS || !to)
        return 7;
    memcpy(to, &from->fields[field], size);
    *written = size;
    return 0;
}

static int set(struct descriptor *to, unsigned field, const void *from, size_t size)
{
    if (!to || field >= FIELDS)
        return 7;
    to->fields[field] = 0;
    memcpy(&to->fields[field], from, size);
    return 0;
}

int cublasLtMatmulDescCreate(struct descriptor **to, int compute, int scale)
{
    int status = create(to);
    if (!status) {
        (*to)->fields[0] = compute;
        (*to)->fields[1] = scale;
        (*to)->fields[6] = 2;
        (*to)->fields[7] = 1;
        (*to)->fields[22] = (*to)->fields[26] = -1;
    }
    return status;
}
int cublasLtMatrixLayoutCreate(struct descriptor **to, int type, uint64_t rows, uint64_t columns, int64_t leading)
{
    int status = create(to);
    if (!status) {
        (*to)->fields[0] = type;
        (*to)->fields[2] = (int64_t)rows;
        (*to)->fields[3] = (int64_t)columns;
        (*to)->fields[4] = leading;
        (*to)->fields[5] = 1;
    }
    return status;
}
int cublasLtMatmulPreferenceCreate(struct descriptor **to) { return create(to); }
int cublasLtMatmulDescGetAttribute(struct descriptor *from, unsigned field, void *to, size_t size, size_t *written)
{
    return get(from, field, to, size, written);
}
int cublasLtMatrixLayoutGetAttribute(struct descriptor *from, unsigned field, void *to, size_t size, size_t *written)
{
    return get(from, field, to, size, written);
}
int cublasLtMatmulDescSetAttribute(struct descriptor *to, unsigned field, const void *from, size_t size)
{
    return set(to, field, from, size);
}
int cublasLtMatrixLayoutSetAttribute(struct descriptor *to, unsigned field, const void *from, size_t size)
{
    return set(to, field, from, size);
}
int cublasLtCreate() { return 1; }
int cublasLtDestroy() { return 1; }
int cublasLtMatmul() { return 15; }
int cublasLtMatmulAlgoGetHeuristic() { return 15; }
int cublasLtMatmulAlgoCheck() { return 15; }
int cublasLtMatmulAlgoGetIds() { return 15; }
int cublasLtMatmulAlgoInit() { return 15; }
int cublasLtMatmulAlgoCapGetAttribute() { return 15; }
