// Boxes: cudaMemcpy3D between pitched volumes with offsets, and 3D memsets.
#include "../common.h"

__global__ void number(cudaPitchedPtr v, int w, int h, int d)
{
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    if (x < w && y < h && z < d)
        ((int *)((char *)v.ptr + (z * v.ysize + y) * v.pitch))[x] = 10000 * z + 100 * y + x;
}

int main()
{
    const int w = 10, h = 6, d = 4;
    static int out[d][h][w];
    cudaPitchedPtr v = {}, u = {};
    NEED(cudaMalloc3D(&v, make_cudaExtent(w * sizeof(int), h, d)));
    NEED(cudaMalloc3D(&u, make_cudaExtent(w * sizeof(int), h, d)));
    number<<<1, dim3(16, 8, 4)>>>(v, w, h, d);
    LAUNCHED("number");

    cudaMemcpy3DParms p = {};
    p.srcPtr = v;
    p.dstPtr = make_cudaPitchedPtr(out, w * sizeof(int), w, h);
    p.extent = make_cudaExtent(w * sizeof(int), h, d);
    p.kind = cudaMemcpyDeviceToHost;
    CK(cudaMemcpy3D(&p));
    printf("whole %d %d %d\n", out[0][0][1], out[3][5][9], out[2][0][7]);

    CK(cudaMemset3D(u, 0, make_cudaExtent(w * sizeof(int), h, d)));
    cudaMemcpy3DParms q = {};
    q.srcPtr = v;
    q.srcPos = make_cudaPos(2 * sizeof(int), 1, 1);
    q.dstPtr = u;
    q.dstPos = make_cudaPos(5 * sizeof(int), 3, 0);
    q.extent = make_cudaExtent(3 * sizeof(int), 2, 3);
    q.kind = cudaMemcpyDeviceToDevice;
    CK(cudaMemcpy3DAsync(&q, nullptr));
    p.srcPtr = u;
    CK(cudaMemcpy3D(&p));
    printf("box %d %d %d, beside %d %d %d\n", out[0][3][5], out[2][4][7], out[1][3][6], out[0][3][4], out[3][3][5],
           out[0][5][5]);

    CK(cudaMemset3D(u, 2, make_cudaExtent(4, 2, 2)));
    CK(cudaMemcpy3D(&p));
    printf("set %d %d %d %d\n", out[0][0][0], out[1][1][0], out[1][1][1], out[2][0][0]);

    // Back to the host, at another offset.
    out[0][0][0] = 4711;
    cudaMemcpy3DParms r = {};
    r.srcPtr = p.dstPtr;
    r.dstPtr = v;
    r.dstPos = make_cudaPos(9 * sizeof(int), 5, 3);
    r.extent = make_cudaExtent(sizeof(int), 1, 1);
    r.kind = cudaMemcpyDefault;
    CK(cudaMemcpy3D(&r));
    p.srcPtr = v;
    CK(cudaMemcpy3D(&p));
    printf("one %d %d\n", out[3][5][9], out[3][5][8]);

    r.dstArray = nullptr;
    r.dstPtr.ptr = nullptr;
    show("to nowhere", cudaMemcpy3D(&r));
    show("parameters from nowhere", cudaMemcpy3D(nullptr));
    r.dstPtr = v;
    r.extent.depth = 0;
    show("nothing", cudaMemcpy3D(&r));
    cudaGetLastError();
    CK(cudaFree(v.ptr));
    CK(cudaFree(u.ptr));
    return finish();
}
