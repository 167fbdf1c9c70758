// Copies between devices, which may be the same device, and peer access.
#include "../common.h"

__global__ void fill(int *v, int with) { v[threadIdx.x] = with + threadIdx.x; }

int main()
{
    int count = 0, *a = nullptr, *b = nullptr, h[32] = {}, can = 9;
    NEED(cudaGetDeviceCount(&count));
    int other = count > 1 ? 1 : 0;
    NEED(cudaMalloc(&a, sizeof h));
    CK(cudaSetDevice(other));
    NEED(cudaMalloc(&b, sizeof h));
    CK(cudaSetDevice(0));
    fill<<<1, 32>>>(a, 50);
    LAUNCHED("fill");
    CK(cudaMemcpyPeer(b, other, a, 0, sizeof h));
    CK(cudaMemcpy(h, b, sizeof h, cudaMemcpyDefault));
    printf("peer %d %d\n", h[0], h[31]);
    fill<<<1, 32>>>(a, 70);
    CK(cudaMemcpyPeerAsync(b, other, a, 0, 64, nullptr));
    CK(cudaMemcpy(h, b, sizeof h, cudaMemcpyDefault));
    printf("peer, a half %d %d\n", h[0], h[31]);

    CK(cudaDeviceCanAccessPeer(&can, 0, 0));
    printf("access to itself %d\n", can);
    show("enable access to itself", cudaDeviceEnablePeerAccess(0, 0));
    show("disable what was not enabled", cudaDeviceDisablePeerAccess(0));
    show("access to no device", cudaDeviceCanAccessPeer(&can, 0, count));
    show("enable access to no device", cudaDeviceEnablePeerAccess(count, 0));
    show("copy to no device", cudaMemcpyPeer(b, count, a, 0, 4));
    show("access to nowhere", cudaDeviceCanAccessPeer(nullptr, 0, 0));
    cudaGetLastError();
    CK(cudaFree(a));
    CK(cudaFree(b));
    return finish();
}
