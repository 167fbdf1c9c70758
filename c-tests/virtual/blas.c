/*
 * Takes the place of cuBLAS: a handle with a stream and a pointer mode, and products that refuse, as on a GPU for which
 * there is no kernel.
 */
struct handle {
    void *stream;
    int mode;
};

int cublasGetStream_v2(struct handle *handle, void **stream)
{
    if (!handle)
        return 1;
    *stream = handle->stream;
    return 0;
}
int cublasGetPointerMode_v2(struct handle *handle, int *mode)
{
    *mode = handle->mode;
    return 0;
}
int cublasSgemm_v2() { return 15; }
int cublasZgemmStridedBatched() { return 15; }
int cublasDgemmBatched_64() { return 15; }
int cublasDgemv_v2() { return 15; }
int cublasZtrsm_v2_64() { return 15; }
int cublasGemmEx() { return 15; }
