// Textures of every geometry, format, filter and address mode, at many places: a hash of all results of each, and the
// first result. Before CUDA 12 also through texture references, which must give the same results as objects.
#include "../common.h"

const int N = 512;

struct Places
{
    float x[N], y[N], z[N];
    int layer[N];
};

__device__ Places places;
__device__ float4 results[N];

__global__ void in_1d(cudaTextureObject_t t) { results[threadIdx.x] = tex1D<float4>(t, places.x[threadIdx.x]); }
__global__ void in_2d(cudaTextureObject_t t)
{
    results[threadIdx.x] = tex2D<float4>(t, places.x[threadIdx.x], places.y[threadIdx.x]);
}
__global__ void in_3d(cudaTextureObject_t t)
{
    results[threadIdx.x] = tex3D<float4>(t, places.x[threadIdx.x], places.y[threadIdx.x], places.z[threadIdx.x]);
}
__global__ void in_1d_layers(cudaTextureObject_t t)
{
    results[threadIdx.x] = tex1DLayered<float4>(t, places.x[threadIdx.x], places.layer[threadIdx.x]);
}
__global__ void in_2d_layers(cudaTextureObject_t t)
{
    results[threadIdx.x] =
        tex2DLayered<float4>(t, places.x[threadIdx.x], places.y[threadIdx.x], places.layer[threadIdx.x]);
}
// The largest component of a direction is 1, whose reciprocal is exact.
__global__ void in_cube(cudaTextureObject_t t)
{
    float x = places.x[threadIdx.x], y = places.y[threadIdx.x], sign = places.layer[threadIdx.x] & 1 ? -1 : 1;
    switch (places.layer[threadIdx.x] % 3) {
    case 0: results[threadIdx.x] = texCubemap<float4>(t, sign, x, y); break;
    case 1: results[threadIdx.x] = texCubemap<float4>(t, x, sign, y); break;
    default: results[threadIdx.x] = texCubemap<float4>(t, x, y, sign);
    }
}
__global__ void in_levels(cudaTextureObject_t t)
{
    results[threadIdx.x] = tex2DLod<float4>(t, places.x[threadIdx.x], places.y[threadIdx.x], places.z[threadIdx.x]);
}
__global__ void gathered(cudaTextureObject_t t)
{
    results[threadIdx.x] = tex2Dgather<float4>(t, places.x[threadIdx.x], places.y[threadIdx.x], 1);
}
__global__ void integers(cudaTextureObject_t t)
{
    int4 v = tex2D<int4>(t, places.x[threadIdx.x], places.y[threadIdx.x]);
    results[threadIdx.x] =
        make_float4(__int_as_float(v.x), __int_as_float(v.y), __int_as_float(v.z), __int_as_float(v.w));
}

static unsigned state = 1;
static unsigned next()
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

// Places from before the first texel to after the last, in steps of 1/1024 of a texel, exact also when normalised.
static void scatter(int w, int h, int d, bool normalized, float from, float to)
{
    static Places p;
    auto one = [&](int size) {
        float at = (from + (to - from) * (next() % 65536) / 65536.0f) * size;
        at = float(int(at * 1024)) / 1024;
        return normalized ? at / size : at;
    };
    for (int i = 0; i < N; i++) {
        p.x[i] = one(w);
        p.y[i] = one(h);
        p.z[i] = one(d);
        p.layer[i] = next() % 7;
    }
    CK(cudaMemcpyToSymbol(places, &p, sizeof p));
}

static void tell(const char *what, int a, int b, int c)
{
    static unsigned h[N * 4];
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpyFromSymbol(h, results, sizeof h));
    unsigned sum = 2166136261u;
    for (unsigned v : h)
        sum = (sum ^ v) * 16777619u;
    float first;
    memcpy(&first, h, sizeof first);
    printf("%s %d %d %d: %08x, first %g\n", what, a, b, c, sum, first);
}

template <class T> static cudaArray_t filled(int w, int h, int d, unsigned flags)
{
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<T>();
    cudaArray_t array = nullptr;
    CK(cudaMalloc3DArray(&array, &desc, make_cudaExtent(w, h, d), flags));
    h = h ? h : 1, d = d ? d : 1;
    static unsigned char bytes[1 << 18];
    size_t size = sizeof(T) * w * h * d;
    for (size_t i = 0; i < size; i++)
        bytes[i] = next();
    if (desc.f == cudaChannelFormatKindFloat && desc.x == 32) // From 1 to 2, with either sign.
        for (size_t i = 0; i < size; i += 4)
            bytes[i + 3] = 0x3f | (bytes[i + 3] & 0x80), bytes[i + 2] |= 0x80;
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(bytes, sizeof(T) * w, w, h);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(w, h, d);
    copy.kind = cudaMemcpyHostToDevice;
    CK(cudaMemcpy3D(&copy));
    return array;
}

static cudaTextureObject_t texture_of(cudaArray_t array, int address, int filter, bool normalized, bool fractions = false)
{
    cudaResourceDesc from = {};
    from.resType = cudaResourceTypeArray;
    from.res.array.array = array;
    cudaTextureDesc how = {};
    for (auto &mode : how.addressMode)
        mode = cudaTextureAddressMode(address);
    how.filterMode = cudaTextureFilterMode(filter);
    how.normalizedCoords = normalized;
    how.readMode = fractions ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    how.borderColor[0] = 0.25f, how.borderColor[1] = -3, how.borderColor[2] = 7, how.borderColor[3] = 100;
    cudaTextureObject_t texture = 0;
    CK(cudaCreateTextureObject(&texture, &from, &how, nullptr));
    return texture;
}

static void run(const char *what, void (*kernel)(cudaTextureObject_t), cudaArray_t array, int w, int h, int d)
{
    // For a mean of eight texels the last bit may differ from the GPU's (docs/backends.md).
    int filters = d > 0 && kernel == in_3d ? 1 : 2;
    for (int address = 0; address < 4; address++)
        for (int filter = 0; filter < filters; filter++)
            for (int normalized = 0; normalized < 2; normalized++) {
                scatter(w, h, d, normalized, -1.5f, 2.5f);
                cudaTextureObject_t texture = texture_of(array, address, filter, normalized);
                kernel<<<1, N>>>(texture);
                LAUNCHED(what);
                tell(what, address, filter, normalized);
                CK(cudaDestroyTextureObject(texture));
            }
}

template <class T> static void fractions(const char *what, bool exact = true)
{
    cudaArray_t array = filled<T>(16, 16, 0, 0);
    for (int filter = 0; filter < 2; filter++) {
        scatter(16, 16, 1, false, 0, 1);
        cudaTextureObject_t texture = texture_of(array, cudaAddressModeClamp, filter, false, true);
        in_2d<<<1, N>>>(texture);
        LAUNCHED(what);
        // Some means of signed bytes differ by one unit from the GPU's (docs/backends.md).
        if (!filter || exact)
            tell(what, filter, 0, 0);
        CK(cudaDestroyTextureObject(texture));
    }
    CK(cudaFreeArray(array));
}

template <class T> static void whole(const char *what)
{
    cudaArray_t array = filled<T>(16, 16, 0, 0);
    scatter(16, 16, 1, false, -0.5f, 1.5f);
    cudaTextureObject_t texture = texture_of(array, cudaAddressModeBorder, cudaFilterModePoint, false);
    integers<<<1, N>>>(texture);
    LAUNCHED(what);
    tell(what, 0, 0, 0);
    CK(cudaDestroyTextureObject(texture));
    CK(cudaFreeArray(array));
}

static void levels_of()
{
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float4>();
    cudaMipmappedArray_t all = nullptr;
    CK(cudaMallocMipmappedArray(&all, &desc, make_cudaExtent(32, 16, 0), 6));
    static float bytes[32 * 16 * 4];
    for (int level = 0; level < 6; level++) {
        cudaArray_t array = nullptr;
        CK(cudaGetMipmappedArrayLevel(&array, all, level));
        int w = 32 >> level, h = 16 >> level ? 16 >> level : 1;
        for (float &v : bytes)
            v = level + (next() % 4096) / 8192.0f;
        CK(cudaMemcpy2DToArray(array, 0, 0, bytes, w * sizeof(float4), w * sizeof(float4), h, cudaMemcpyHostToDevice));
    }
    for (int filter = 0; filter < 2; filter++)
        for (int between = 0; between < 2; between++)
            for (int bias = 0; bias < 2; bias++) {
                cudaResourceDesc from = {};
                from.resType = cudaResourceTypeMipmappedArray;
                from.res.mipmap.mipmap = all;
                cudaTextureDesc how = {};
                how.normalizedCoords = 1;
                how.filterMode = cudaTextureFilterMode(filter);
                how.mipmapFilterMode = cudaTextureFilterMode(between);
                how.mipmapLevelBias = bias * 0.75f;
                how.minMipmapLevelClamp = bias * 0.5f;
                how.maxMipmapLevelClamp = bias ? 3.25f : 10;
                cudaTextureObject_t texture = 0;
                CK(cudaCreateTextureObject(&texture, &from, &how, nullptr));
                scatter(32, 16, 1, true, -0.5f, 1.5f);
                static Places p;
                CK(cudaMemcpyFromSymbol(&p, places, sizeof p));
                for (float &z : p.z)
                    z = int(next() % 8192) / 1024.0f - 1;
                CK(cudaMemcpyToSymbol(places, &p, sizeof p));
                in_levels<<<1, N>>>(texture);
                LAUNCHED("levels");
                tell("levels", filter, between, bias);
                CK(cudaDestroyTextureObject(texture));
            }
    CK(cudaFreeMipmappedArray(all));
}

#if CUDART_VERSION < 12000
texture<float4, cudaTextureType2D, cudaReadModeElementType> reference;
surface<void, cudaSurfaceType2D> stored;
__global__ void by_reference()
{
    results[threadIdx.x] = tex2D(reference, places.x[threadIdx.x], places.y[threadIdx.x]);
}
__global__ void into_surface() { surf2Dwrite(int(threadIdx.x * 3), stored, (threadIdx.x % 16) * 4, threadIdx.x / 16); }

static bool references(cudaArray_t array)
{
    static float4 object[N], refer[N];
    bool same = true;
    for (int filter = 0; filter < 2; filter++) {
        scatter(24, 20, 1, false, -0.5f, 1.5f);
        cudaTextureObject_t texture = texture_of(array, cudaAddressModeClamp, filter, false);
        in_2d<<<1, N>>>(texture);
        LAUNCHED("object");
        CK(cudaMemcpyFromSymbol(object, results, sizeof object));
        CK(cudaDestroyTextureObject(texture));
        reference.filterMode = cudaTextureFilterMode(filter);
        CK(cudaBindTextureToArray(reference, array));
        by_reference<<<1, N>>>();
        LAUNCHED("reference");
        CK(cudaMemcpyFromSymbol(refer, results, sizeof refer));
        same = same && !memcmp(object, refer, sizeof object);
        CK(cudaUnbindTexture(reference));
    }
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<int>();
    cudaArray_t ints = nullptr;
    CK(cudaMallocArray(&ints, &desc, 16, 4, cudaArraySurfaceLoadStore));
    CK(cudaBindSurfaceToArray(stored, ints));
    into_surface<<<1, 64>>>();
    LAUNCHED("surface");
    int back[64] = {};
    CK(cudaMemcpy2DFromArray(back, 64, ints, 0, 0, 64, 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        same = same && back[i] == i * 3;
    CK(cudaFreeArray(ints));
    return same;
}
#else
static bool references(cudaArray_t) { return true; }
#endif

int main()
{
    NEED(cudaFree(nullptr));
    run("1d", in_1d, filled<float4>(37, 0, 0, 0), 37, 1, 1);
    run("2d", in_2d, filled<float4>(16, 11, 0, 0), 16, 11, 1);
    run("3d", in_3d, filled<float4>(8, 7, 5, 0), 8, 7, 5);
    run("layers of rows", in_1d_layers, filled<float4>(16, 0, 5, cudaArrayLayered), 16, 1, 1);
    run("layers", in_2d_layers, filled<float4>(16, 12, 5, cudaArrayLayered), 16, 12, 1);
    cudaArray_t cube = filled<float4>(16, 16, 6, cudaArrayCubemap);
    for (int filter = 0; filter < 2; filter++) {
        scatter(1, 1, 1, false, -1, 1);
        cudaTextureObject_t texture = texture_of(cube, cudaAddressModeClamp, filter, true);
        in_cube<<<1, N>>>(texture);
        LAUNCHED("cube");
        tell("cube", filter, 0, 0);
        CK(cudaDestroyTextureObject(texture));
    }
    run("gathered", gathered, filled<float4>(16, 16, 0, cudaArrayTextureGather), 16, 16, 1);
    fractions<uchar4>("bytes as fractions");
    fractions<char2>("signed bytes as fractions", false);
    fractions<ushort1>("words as fractions");
    fractions<short4>("signed words as fractions");
    whole<uchar2>("bytes");
    whole<char4>("signed bytes");
    whole<ushort4>("words");
    whole<short1>("signed words");
    whole<int4>("integers");
    whole<uint2>("unsigned integers");
    levels_of();
    expect(references(filled<float4>(24, 20, 0, 0)), "references");
    return finish();
}
