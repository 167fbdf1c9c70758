// CUDA arrays as memory: created, described, filled, copied from array to array, read
// back. (No textures here.)
#include "../common.h"

__global__ void twice(float *v) { v[threadIdx.x] *= 2; }

int main()
{
    const int w = 16, h = 8;
    float a[h][w], b[h][w] = {};
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            a[y][x] = y * 100 + x;
    cudaChannelFormatDesc form = cudaCreateChannelDesc<float>(), said = {};
    printf("channels %d %d %d %d, kind %d\n", form.x, form.y, form.z, form.w, (int)form.f);
    cudaArray_t first = nullptr, second = nullptr, volume = nullptr;
    NEED(cudaMallocArray(&first, &form, w, h));
    NEED(cudaMallocArray(&second, &form, w, h));
    cudaExtent extent = {};
    unsigned flags = 99;
    CK(cudaArrayGetInfo(&said, &extent, &flags, first));
    printf("array %zu %zu %zu, flags %u, bits %d\n", extent.width, extent.height, extent.depth, flags, said.x);

    CK(cudaMemcpy2DToArray(first, 0, 0, a, sizeof a[0], sizeof a[0], h, cudaMemcpyHostToDevice));
    CK(cudaMemcpy2DArrayToArray(second, 4 * sizeof(float), 2, first, 0, 0, 8 * sizeof(float), 4,
                                cudaMemcpyDeviceToDevice));
    CK(cudaMemcpy2DFromArray(b, sizeof b[0], second, 4 * sizeof(float), 2, 8 * sizeof(float), 4,
                             cudaMemcpyDeviceToHost));
    printf("through two arrays %g %g %g\n", b[0][0], b[3][7], b[2][1]);

    float *d = nullptr;
    CK(cudaMalloc(&d, w * sizeof(float)));
    CK(cudaMemcpy2DFromArray(d, w * sizeof(float), first, 0, 5, w * sizeof(float), 1, cudaMemcpyDeviceToDevice));
    twice<<<1, w>>>(d);
    LAUNCHED("twice");
    CK(cudaMemcpy2DToArray(first, 0, 7, d, w * sizeof(float), w * sizeof(float), 1, cudaMemcpyDeviceToDevice));
    CK(cudaMemcpy2DFromArray(b, sizeof b[0], first, 0, 6, sizeof b[0], 2, cudaMemcpyDefault));
    printf("row %g %g %g\n", b[0][3], b[1][0], b[1][15]);

    cudaChannelFormatDesc four = cudaCreateChannelDesc<uchar4>();
    NEED(cudaMalloc3DArray(&volume, &four, make_cudaExtent(5, 4, 3)));
    static uchar4 box[3][4][5], back[3][4][5];
    for (int i = 0; i < 60; i++)
        (&box[0][0][0])[i] = make_uchar4(i, i + 1, i + 2, i + 3);
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(box, 5 * sizeof(uchar4), 5, 4);
    p.dstArray = volume;
    p.extent = make_cudaExtent(5, 4, 3);
    p.kind = cudaMemcpyHostToDevice;
    CK(cudaMemcpy3D(&p));
    cudaMemcpy3DParms q = {};
    q.srcArray = volume;
    q.srcPos = make_cudaPos(1, 2, 1);
    q.dstPtr = make_cudaPitchedPtr(back, 5 * sizeof(uchar4), 5, 4);
    q.extent = make_cudaExtent(3, 2, 2);
    q.kind = cudaMemcpyDeviceToHost;
    CK(cudaMemcpy3D(&q));
    printf("volume %d %d %d\n", back[0][0][0].x, back[1][1][2].w, back[1][0][0].y);

    show("no width", cudaMallocArray(&first, &form, 0, 4));
    show("outside", cudaMemcpy2DToArray(second, 0, 6, a, sizeof a[0], sizeof a[0], 4, cudaMemcpyHostToDevice));
    show("information of nothing", cudaArrayGetInfo(&said, nullptr, nullptr, nullptr));
    cudaGetLastError();
    CK(cudaFreeArray(second));
    CK(cudaFreeArray(volume));
    CK(cudaFreeArray(nullptr));
    CK(cudaFree(d));
    return finish();
}
