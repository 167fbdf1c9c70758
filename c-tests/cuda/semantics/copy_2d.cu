// Rectangles: cudaMemcpy2D in every direction with different pitches, inside larger
// images, and pitches that are too small.
#include "../common.h"

__global__ void negate(int *image, size_t pitch, int width, int height)
{
    int x = threadIdx.x, y = threadIdx.y;
    if (x < width && y < height) {
        int *row = (int *)((char *)image + y * pitch);
        row[x] = -row[x];
    }
}

int main()
{
    const int w = 20, h = 8;
    int a[h][w], b[h + 4][w + 6] = {};
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            a[y][x] = 100 * y + x;
    int *d = nullptr, *e = nullptr;
    size_t dp = 0, ep = 0;
    NEED(cudaMallocPitch(&d, &dp, w * sizeof(int), h));
    NEED(cudaMallocPitch(&e, &ep, 3 * w * sizeof(int), 2 * h));
    CK(cudaMemcpy2D(d, dp, a, sizeof a[0], w * sizeof(int), h, cudaMemcpyHostToDevice));
    negate<<<1, dim3(32, 8)>>>(d, dp, w, h);
    LAUNCHED("negate");
    CK(cudaMemset2D(e, ep, 0xff, 3 * w * sizeof(int), 2 * h));
    // Into the middle of another image.
    int *middle = (int *)((char *)e + 5 * ep) + 7;
    CK(cudaMemcpy2D(middle, ep, d, dp, w * sizeof(int), h, cudaMemcpyDeviceToDevice));
    CK(cudaMemcpy2D(&b[2][3], sizeof b[0], middle, ep, w * sizeof(int), h, cudaMemcpyDeviceToHost));
    printf("%d %d %d %d\n", b[2][3], b[2][22], b[9][3], b[9][22]);
    printf("around %d %d %d\n", b[2][2], b[2][23], b[10][3]);
    CK(cudaMemcpy2D(b, sizeof b[0], (char *)e + 4 * ep, ep, 8 * sizeof(int), 2, cudaMemcpyDefault));
    printf("corner %d %d %d\n", b[0][7], b[1][6], b[1][7]);
    CK(cudaMemcpy2D(b, sizeof b[0], a, sizeof a[0], 4 * sizeof(int), 2, cudaMemcpyHostToHost));
    printf("host %d %d\n", b[0][3], b[1][0]);

    cudaStream_t s = nullptr;
    CK(cudaStreamCreate(&s));
    CK(cudaMemset2DAsync(d, dp, 1, 4, 2, s));
    CK(cudaMemcpy2DAsync(b, sizeof b[0], d, dp, 8, 3, cudaMemcpyDeviceToHost, s));
    CK(cudaStreamSynchronize(s));
    printf("async %d %d %d %d\n", b[0][0], b[0][1], b[1][0], b[2][0]);
    CK(cudaStreamDestroy(s));

    b[0][0] = 42;
    show("pitch below the width", cudaMemcpy2D(b, 8, d, dp, 16, 2, cudaMemcpyDeviceToHost));
    show("source pitch below the width", cudaMemcpy2D(b, sizeof b[0], d, 8, 16, 2, cudaMemcpyDeviceToHost));
    show("no such kind", cudaMemcpy2D(b, sizeof b[0], d, dp, 16, 2, (cudaMemcpyKind)9));
    show("set with a pitch below the width", cudaMemset2D(d, 8, 0, 16, 2));
    printf("untouched %d\n", b[0][0]);
    cudaGetLastError();
    CK(cudaMemcpy2D(b, sizeof b[0], d, dp, 0, 5, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy2D(b, sizeof b[0], d, dp, 8, 0, cudaMemcpyDeviceToHost));
    printf("untouched %d\n", b[0][0]);
    // A single row needs no valid pitch.
    show("a row, pitch 0", cudaMemcpy2D(b, 0, d, dp, 16, 1, cudaMemcpyDeviceToHost));
    show("a row, source pitch 0", cudaMemcpy2D(b, sizeof b[0], d, 0, 16, 1, cudaMemcpyDeviceToHost));
    show("a row, pitch below the width", cudaMemcpy2D(b, 8, d, dp, 16, 1, cudaMemcpyDeviceToHost));
    cudaGetLastError();
    cudaArray_t array = nullptr;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<int>();
    CK(cudaMallocArray(&array, &desc, 16, 4));
    show("a row into an array, pitch 0", cudaMemcpy2DToArray(array, 0, 0, a, 0, 16, 1, cudaMemcpyHostToDevice));
    show("two rows into an array, pitch 0", cudaMemcpy2DToArray(array, 0, 0, a, 0, 16, 2, cudaMemcpyHostToDevice));
    show("a row from an array, pitch 0", cudaMemcpy2DFromArray(b, 0, array, 0, 0, 16, 1, cudaMemcpyDeviceToHost));
    cudaGetLastError();
    printf("%d %d\n", b[0][0], b[0][3]);
    CK(cudaFreeArray(array));
    CK(cudaFree(d));
    CK(cudaFree(e));
    return finish();
}
