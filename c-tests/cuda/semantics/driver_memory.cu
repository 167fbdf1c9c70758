// Memory through the driver API: ranges, pointer attributes, memsets of every width,
// copies of rectangles and boxes described by structures.
#include "driver.h"

int main()
{
    CUdevice device;
    CUcontext context = nullptr;
    NEED(cuInit(0));
    NEED(cuDeviceGet(&device, 0));
    NEED(cuDevicePrimaryCtxRetain(&context, device));
    NEED(cuCtxSetCurrent(context));

    CUdeviceptr p = 0, base = 0;
    size_t size = 0, pitch = 0;
    NEED(cuMemAlloc(&p, 1000));
    CK(cuMemGetAddressRange(&base, &size, p + 500));
    printf("range: base %s, size %zu\n", base == p ? "right" : "wrong", size);
    CUmemorytype type = (CUmemorytype)0;
    int ordinal = -1, managed = 9;
    CK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    CK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
    CK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p));
    printf("type %d, device %d, managed %d\n", (int)type, ordinal, managed);
    CUdeviceptr start = 0;
    CK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p + 7));
    CK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, p + 7));
    printf("range by attribute: %s, %zu\n", start == p ? "right" : "wrong", size);
    int on_stack = 0;
    show("attribute of the stack",
         cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&on_stack));

    unsigned char h[64] = {};
    CK(cuMemsetD8(p, 0x11, 64));
    CK(cuMemsetD16(p + 2, 0x2233, 3));
    CK(cuMemsetD32(p + 8, 0x44556677, 2));
    CK(cuMemcpyDtoH(h, p, 24));
    for (int i = 0; i < 24; i++)
        printf("%02x", h[i]);
    printf("\n");
    show("16 bits at an odd place", cuMemsetD16(p + 1, 0, 1));
    show("32 bits at an odd place", cuMemsetD32(p + 2, 0, 1));

    CUdeviceptr image = 0;
    CK(cuMemAllocPitch(&image, &pitch, 20, 6, 4));
    CK(cuMemsetD2D8(image, pitch, 1, 20, 6));
    CK(cuMemsetD2D16(image + pitch, pitch, 0x0202, 4, 2));
    CK(cuMemsetD2D32(image + 3 * pitch + 4, pitch, 0x03030303, 2, 1));
    unsigned char out[6][20] = {};
    CUDA_MEMCPY2D c = {};
    c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = image;
    c.srcPitch = pitch;
    c.dstMemoryType = CU_MEMORYTYPE_HOST;
    c.dstHost = out;
    c.dstPitch = 20;
    c.WidthInBytes = 20;
    c.Height = 6;
    CK(cuMemcpy2D(&c));
    int sum = 0;
    for (auto &row : out)
        for (unsigned char v : row)
            sum += v;
    printf("sum %d, %d %d %d %d\n", sum, out[1][7], out[1][8], out[3][4], out[3][12]);
    c.srcXInBytes = 3;
    c.srcY = 3;
    c.dstXInBytes = 15;
    c.dstY = 4;
    c.WidthInBytes = 4;
    c.Height = 1;
    CK(cuMemcpy2DUnaligned(&c));
    printf("moved %d %d %d\n", out[4][15], out[4][16], out[4][19]);
    c.srcPitch = 2;
    show("pitch below the width", cuMemcpy2D(&c));

    CUDA_MEMCPY3D b = {};
    static unsigned char box[2][3][4], back[2][3][4];
    for (int i = 0; i < 24; i++)
        (&box[0][0][0])[i] = i;
    b.srcMemoryType = CU_MEMORYTYPE_HOST;
    b.srcHost = box;
    b.srcPitch = 4;
    b.srcHeight = 3;
    b.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    b.dstDevice = p;
    b.dstPitch = 16;
    b.dstHeight = 4;
    b.WidthInBytes = 4;
    b.Height = 3;
    b.Depth = 2;
    CK(cuMemcpy3D(&b));
    CK(cuMemcpyDtoH(h, p + 64, 36));
    printf("box %d %d %d\n", h[0], h[17], h[35]);
    // Without a height a plane has the rows of the copy.
    CUDA_MEMCPY3D close = b;
    close.srcHeight = close.dstHeight = 0;
    close.dstDevice = p + 512;
    CK(cuMemcpy3D(&close));
    CK(cuMemcpyDtoH(h, close.dstDevice + 48, 36));
    printf("box without heights %d %d %d\n", h[0], h[17], h[35]);
    close.srcHeight = 2;
    show("height below the rows", cuMemcpy3D(&close));
    b = {};
    b.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    b.srcDevice = p;
    b.srcPitch = 16;
    b.srcHeight = 4;
    b.dstMemoryType = CU_MEMORYTYPE_HOST;
    b.dstHost = back;
    b.dstPitch = 4;
    b.dstHeight = 3;
    b.WidthInBytes = 4;
    b.Height = 3;
    b.Depth = 2;
    CK(cuMemcpy3D(&b));
    printf("back %s\n", memcmp(box, back, sizeof box) ? "differs" : "equal");

    CUdeviceptr q = 0;
    CK(cuMemAlloc(&q, 64));
    CK(cuMemcpyDtoD(q, p, 32));
    CK(cuMemcpy(q + 32, p, 16));
    CK(cuMemcpyDtoH(h, q, 48));
    printf("copied %d %d %d\n", h[1], h[16], h[33]);
    void *pinned = nullptr;
    CUdeviceptr mapped = 0;
    CK(cuMemHostAlloc(&pinned, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    CK(cuMemHostGetDevicePointer(&mapped, pinned, 0));
    CK(cuMemsetD8(mapped, 9, 64));
    CK(cuCtxSynchronize());
    printf("pinned %d\n", ((char *)pinned)[63]);
    CK(cuMemFreeHost(pinned));

    show("allocate nothing", cuMemAlloc(&q, 0));
    show("allocate to nowhere", cuMemAlloc(nullptr, 16));
    show("free nothing", cuMemFree(0));
    CK(cuMemFree(p));
    show("free twice", cuMemFree(p));
    show("copy from freed memory", cuMemcpyDtoH(h, p, 16));
    show("range of freed memory", cuMemGetAddressRange(&base, &size, p));
    CK(cuMemFree(image));
    CK(cuDevicePrimaryCtxRelease(device));
    return finish();
}
