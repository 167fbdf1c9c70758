/*
 * Replaces cuBLAS: a handle with a stream and a pointer mode, and products that fail, as on a GPU for which the library
 * has no kernel. With no driver its runtime creates no handles.
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
int cublasCreate_v2() { return 3; }
int cublasDestroy_v2() { return 1; }
int cublasSetStream_v2() { return 1; }
int cublasSetPointerMode_v2() { return 1; }
int cublasSgemm_v2() { return 15; }
int cublasZgemmStridedBatched() { return 15; }
int cublasDgemmBatched_64() { return 15; }
int cublasDgemv_v2() { return 15; }
int cublasZtrsm_v2_64() { return 15; }
int cublasGemmEx() { return 15; }
int cublasZdotc_v2() { return 14; }
int cublasIsamin_v2_64() { return 14; }
int cublasDnrm2_v2() { return 14; }
int cublasCscal_v2() { return 14; }
int cublasDgeam_64() { return 14; }
int cublasDtrsv_v2() { return 14; }
int cublasSsyrk_v2() { return 13; }
int cublasDsyr2k_v2() { return 13; }
