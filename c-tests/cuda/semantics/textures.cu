// Texture and surface objects over arrays, pitched and linear memory, mipmapped arrays; and texture
// references, which CUDA 12 removed.
#include "../common.h"

const int W = 8, H = 4;

__global__ void filtered(cudaTextureObject_t t, float *out)
{
    int i = threadIdx.x;
    out[i] = tex2D<float>(t, i + 1.0f, 1.5f);
}

__global__ void clamped(cudaTextureObject_t t, float *out)
{
    int i = threadIdx.x;
    out[i] = tex2D<float>(t, (i - 2) / 8.0f, 0.5f);
}

__global__ void scaled(cudaTextureObject_t t, float4 *out) { out[threadIdx.x] = tex2D<float4>(t, threadIdx.x + 0.5f, 0.5f); }
__global__ void fetched(cudaTextureObject_t t, int *out) { out[threadIdx.x] = tex1Dfetch<int>(t, 15 - threadIdx.x); }

__global__ void write_surface(cudaSurfaceObject_t s)
{
    surf2Dwrite(int(threadIdx.x * 10 + threadIdx.y), s, threadIdx.x * 4, threadIdx.y);
}

__global__ void twice_surface(cudaSurfaceObject_t s)
{
    int v;
    surf2Dread(&v, s, threadIdx.x * 4, threadIdx.y);
    surf2Dwrite(v * 2, s, threadIdx.x * 4, threadIdx.y);
}

__global__ void levels(cudaTextureObject_t t, float *out) { out[threadIdx.x] = tex2DLod<float>(t, 0.5f, 0.5f, threadIdx.x * 0.5f); }

#if CUDART_VERSION < 12000
texture<float, cudaTextureType2D, cudaReadModeElementType> reference;
__global__ void referred(float *out) { out[threadIdx.x] = tex2D(reference, threadIdx.x + 0.5f, 2.5f); }
#endif

static float *out;

static void print(const char *what, int count)
{
    float h[16] = {};
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(h, out, count * sizeof *h, cudaMemcpyDeviceToHost));
    printf("%s:", what);
    for (int i = 0; i < count; i++)
        printf(" %g", h[i]);
    printf("\n");
}

int main()
{
    NEED(cudaMalloc(&out, 16 * sizeof(float4)));
    float h[H][W];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            h[y][x] = float(10 * y + x);
    cudaChannelFormatDesc one = cudaCreateChannelDesc<float>();
    cudaArray_t array = nullptr;
    NEED(cudaMallocArray(&array, &one, W, H));
    CK(cudaMemcpy2DToArray(array, 0, 0, h, sizeof h[0], sizeof h[0], H, cudaMemcpyHostToDevice));

    cudaResourceDesc from = {};
    cudaTextureDesc how = {};
    cudaTextureObject_t texture = 0;
    from.resType = cudaResourceTypeArray;
    from.res.array.array = array;
    how.filterMode = cudaFilterModeLinear;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    CK(cudaCreateTextureObject(&texture, &from, &how, nullptr));
    filtered<<<1, 7>>>(texture, out);
    LAUNCHED("filtered");
    print("filtered", 7);
    cudaResourceDesc was = {};
    cudaTextureDesc how_was = {};
    CK(cudaGetTextureObjectResourceDesc(&was, texture));
    CK(cudaGetTextureObjectTextureDesc(&how_was, texture));
    expect(was.resType == cudaResourceTypeArray && was.res.array.array == array && how_was.filterMode == cudaFilterModeLinear,
           "descriptions");
    CK(cudaDestroyTextureObject(texture));

    how.filterMode = cudaFilterModePoint;
    how.normalizedCoords = 1;
    how.addressMode[0] = cudaAddressModeWrap;
    CK(cudaCreateTextureObject(&texture, &from, &how, nullptr));
    clamped<<<1, 12>>>(texture, out);
    LAUNCHED("clamped");
    print("wrapped", 12);
    CK(cudaDestroyTextureObject(texture));

    uchar4 colours[W], *pitched = nullptr;
    for (int x = 0; x < W; x++)
        colours[x] = make_uchar4(x * 51 % 256, 255, 0, 51);
    size_t pitch = 0;
    CK(cudaMallocPitch(&pitched, &pitch, sizeof colours, 1));
    CK(cudaMemcpy2D(pitched, pitch, colours, sizeof colours, sizeof colours, 1, cudaMemcpyHostToDevice));
    from = {};
    from.resType = cudaResourceTypePitch2D;
    from.res.pitch2D.devPtr = pitched;
    from.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
    from.res.pitch2D.width = W;
    from.res.pitch2D.height = 1;
    from.res.pitch2D.pitchInBytes = pitch;
    how = {};
    how.readMode = cudaReadModeNormalizedFloat;
    CK(cudaCreateTextureObject(&texture, &from, &how, nullptr));
    scaled<<<1, 4>>>(texture, (float4 *)out);
    LAUNCHED("scaled");
    print("scaled", 16);
    CK(cudaDestroyTextureObject(texture));

    int numbers[16], *linear = nullptr;
    for (int i = 0; i < 16; i++)
        numbers[i] = i * i;
    CK(cudaMalloc(&linear, sizeof numbers));
    CK(cudaMemcpy(linear, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    from = {};
    from.resType = cudaResourceTypeLinear;
    from.res.linear.devPtr = linear;
    from.res.linear.desc = cudaCreateChannelDesc<int>();
    from.res.linear.sizeInBytes = sizeof numbers;
    how = {};
    CK(cudaCreateTextureObject(&texture, &from, &how, nullptr));
    fetched<<<1, 16>>>(texture, (int *)out);
    LAUNCHED("fetched");
    CK(cudaMemcpy(numbers, out, sizeof numbers, cudaMemcpyDeviceToHost));
    printf("fetched: %d %d %d\n", numbers[0], numbers[1], numbers[15]);
    CK(cudaDestroyTextureObject(texture));

    cudaArray_t store = nullptr;
    cudaChannelFormatDesc whole = cudaCreateChannelDesc<int>();
    cudaSurfaceObject_t surface = 0;
    CK(cudaMallocArray(&store, &whole, W, H, cudaArraySurfaceLoadStore));
    from = {};
    from.resType = cudaResourceTypeArray;
    from.res.array.array = store;
    CK(cudaCreateSurfaceObject(&surface, &from));
    write_surface<<<1, dim3(W, H)>>>(surface);
    twice_surface<<<1, dim3(W, H)>>>(surface);
    LAUNCHED("surface");
    int back[H][W] = {};
    CK(cudaMemcpy2DFromArray(back, sizeof back[0], store, 0, 0, sizeof back[0], H, cudaMemcpyDeviceToHost));
    printf("surface: %d %d %d\n", back[0][1], back[1][0], back[3][7]);
    CK(cudaDestroySurfaceObject(surface));

    cudaMipmappedArray_t mipmaps = nullptr;
    CK(cudaMallocMipmappedArray(&mipmaps, &one, make_cudaExtent(4, 4, 0), 3));
    for (unsigned level = 0; level < 3; level++) {
        cudaArray_t at = nullptr;
        float flat[16];
        for (float &v : flat)
            v = 100.0f * level;
        unsigned side = 4 >> level;
        CK(cudaGetMipmappedArrayLevel(&at, mipmaps, level));
        CK(cudaMemcpy2DToArray(at, 0, 0, flat, side * sizeof *flat, side * sizeof *flat, side, cudaMemcpyHostToDevice));
    }
    from = {};
    from.resType = cudaResourceTypeMipmappedArray;
    from.res.mipmap.mipmap = mipmaps;
    how = {};
    how.filterMode = how.mipmapFilterMode = cudaFilterModeLinear;
    how.normalizedCoords = 1;
    how.maxMipmapLevelClamp = 2;
    CK(cudaCreateTextureObject(&texture, &from, &how, nullptr));
    levels<<<1, 5>>>(texture, out);
    LAUNCHED("levels");
    print("levels", 5);
    CK(cudaDestroyTextureObject(texture));

#if CUDART_VERSION < 12000
    reference.filterMode = cudaFilterModePoint;
    CK(cudaBindTextureToArray(reference, array));
    referred<<<1, 8>>>(out);
    LAUNCHED("referred");
    print("referred", 8);
    CK(cudaUnbindTexture(reference));
#else
    for (int x = 0; x < W; x++)
        h[0][x] = 20.0f + x;
    CK(cudaMemcpy(out, h[0], sizeof h[0], cudaMemcpyHostToDevice));
    print("referred", 8);
#endif
    show("no resource", cudaCreateTextureObject(&texture, nullptr, &how, nullptr));
    CK(cudaFreeMipmappedArray(mipmaps));
    CK(cudaFreeArray(store));
    CK(cudaFreeArray(array));
    return finish();
}
