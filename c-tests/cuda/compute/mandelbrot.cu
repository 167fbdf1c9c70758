// The Mandelbrot set in 16.16 fixed point, so that every count is exact; a picture in
// letters, and divergent warps.
#include "../common.h"

__host__ __device__ int iterations(int cx, int cy)
{
    long long x = 0, y = 0;
    for (int i = 0; i < 60; i++) {
        long long xx = x * x >> 16, yy = y * y >> 16;
        if (xx + yy > (4 << 16))
            return i;
        y = (x * y >> 15) + cy;
        x = xx - yy + cx;
    }
    return 60;
}

__global__ void draw(unsigned char *image, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h)
        image[y * w + x] = iterations(-2 * 65536 - 16384 + x * 3 * 65536 / w, -65536 - 8192 + y * 147456 / h);
}

int main()
{
    const int w = 72, h = 40;
    static unsigned char image[h * w];
    unsigned char *d = nullptr;
    NEED(cudaMalloc(&d, sizeof image));
    draw<<<dim3(3, 5), dim3(32, 8)>>>(d, w, h);
    LAUNCHED("draw");
    CK(cudaMemcpy(image, d, sizeof image, cudaMemcpyDeviceToHost));
    bool right = true;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            right = right && image[y * w + x] ==
                                 iterations(-2 * 65536 - 16384 + x * 3 * 65536 / w, -65536 - 8192 + y * 147456 / h);
    expect(right, "every point");
    for (int y = 0; y < h; y += 4) {
        for (int x = 0; x < w; x += 2)
            putchar(" .:-=+*%@#"[image[y * w + x] == 60 ? 9 : image[y * w + x] / 4 > 8 ? 8 : image[y * w + x] / 4]);
        putchar('\n');
    }
    return finish();
}
