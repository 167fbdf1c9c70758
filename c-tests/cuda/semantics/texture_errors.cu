// The driver's errors for invalid descriptions of arrays, textures and surfaces, and the descriptions it returns for valid ones.
#include "../common.h"
#include <cuda.h>

static void say(const char *what, CUresult code) { printf("%s: %d\n", what, code); }

static CUresult array_of(size_t w, size_t h, size_t d, int format, int channels, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR form = {};
    form.Width = w, form.Height = h, form.Depth = d, form.Format = CUarray_format(format), form.NumChannels = channels, form.Flags = flags;
    CUarray array = nullptr;
    CUresult code = cuArray3DCreate(&array, &form);
    if (!code)
        cuArrayDestroy(array);
    return code;
}

static CUDA_RESOURCE_DESC resource;
static CUDA_TEXTURE_DESC how;
static CUDA_RESOURCE_VIEW_DESC view;
static CUtexObject object;

static void make(const char *what, bool viewed = false)
{
    CUresult code = cuTexObjectCreate(&object, &resource, &how, viewed ? &view : nullptr);
    say(what, code);
    if (!code)
        cuTexObjectDestroy(object);
    how = {};
    view = {};
}

static CUdeviceptr memory;

static void linear(const char *what, CUdeviceptr at, int format, int channels, size_t bytes)
{
    resource = {};
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = at;
    resource.res.linear.format = CUarray_format(format);
    resource.res.linear.numChannels = channels;
    resource.res.linear.sizeInBytes = bytes;
    make(what);
}

static void pitched(const char *what, CUdeviceptr at, size_t w, size_t h, size_t pitch)
{
    resource = {};
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = at;
    resource.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
    resource.res.pitch2D.numChannels = 1;
    resource.res.pitch2D.width = w;
    resource.res.pitch2D.height = h;
    resource.res.pitch2D.pitchInBytes = pitch;
    make(what);
}

static void viewed(const char *what, int format, size_t w, size_t h, size_t d, unsigned from, unsigned to, unsigned first, unsigned last)
{
    view.format = CUresourceViewFormat(format);
    view.width = w, view.height = h, view.depth = d;
    view.firstMipmapLevel = from, view.lastMipmapLevel = to, view.firstLayer = first, view.lastLayer = last;
    make(what, true);
}

int main()
{
    NEED(cudaFree(nullptr));
    say("plain", array_of(16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0));
    say("three channels", array_of(16, 16, 0, CU_AD_FORMAT_FLOAT, 3, 0));
    say("no format", array_of(16, 16, 0, 4, 1, 0));
    say("no width", array_of(0, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0));
    say("planes without rows", array_of(16, 0, 5, CU_AD_FORMAT_FLOAT, 1, 0));
    say("layers of rows", array_of(16, 0, 5, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED));
    say("no layers", array_of(16, 16, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED));
    say("too many layers", array_of(16, 16, 2049, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED));
    say("cube", array_of(16, 16, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP));
    say("cube of seven", array_of(16, 16, 7, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP));
    say("no square", array_of(16, 8, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP));
    say("layers of cubes", array_of(16, 16, 12, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED));
    say("gather from a row", array_of(16, 0, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_TEXTURE_GATHER));
    say("gather from layers", array_of(16, 16, 4, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_LAYERED));
    say("depths", array_of(16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0x10));
    say("too wide", array_of(131073, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0));
    say("too wide a surface", array_of(32769, 0, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST));
    say("too wide to gather", array_of(32769, 1, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_TEXTURE_GATHER));
    say("too deep", array_of(1, 1, 32769, CU_AD_FORMAT_FLOAT, 1, 0));

    CUDA_ARRAY3D_DESCRIPTOR form = {}, told = {};
    form.Width = 16, form.Height = 16, form.Format = CU_AD_FORMAT_FLOAT, form.NumChannels = 1;
    CUarray array = nullptr, layers = nullptr, level = nullptr;
    say("array", cuArray3DCreate(&array, &form));
    form.Depth = 7, form.Flags = CUDA_ARRAY3D_LAYERED;
    say("layers", cuArray3DCreate(&layers, &form));
    form.Depth = 0, form.Flags = 0;
    CUmipmappedArray levels = nullptr;
    say("levels", cuMipmappedArrayCreate(&levels, &form, 100));
    for (unsigned n = 0; n < 6; n++) {
        CUresult code = cuMipmappedArrayGetLevel(&level, levels, n);
        told = {};
        if (!code)
            cuArray3DGetDescriptor(&told, level);
        printf("level %u: %d, %d by %d\n", n, code, int(told.Width), int(told.Height));
    }
    CUDA_MEMCPY3D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    say("memory", cuMemAlloc(&memory, 1 << 16));
    copy.srcDevice = memory, copy.srcPitch = 1024, copy.srcHeight = 32;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY, copy.dstArray = array;
    copy.WidthInBytes = 64, copy.Height = 16, copy.Depth = 1;
    say("copy", cuMemcpy3D(&copy));
    copy.dstXInBytes = 4;
    say("copy beyond a row", cuMemcpy3D(&copy));
    copy.dstXInBytes = 0, copy.dstLOD = 1;
    say("copy to a level", cuMemcpy3D(&copy));

    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    make("no array");
    resource.resType = CUresourcetype(9);
    make("no kind");
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    make("texture");
    resource.flags = 1;
    make("flags of the resource");
    resource.flags = 0;
    how.addressMode[1] = CUaddress_mode(4);
    make("address mode");
    how.addressMode[2] = CUaddress_mode(4);
    make("address mode of no axis");
    how.filterMode = CUfilter_mode(2);
    make("filter");
    how.mipmapFilterMode = CUfilter_mode(2);
    make("filter between levels");
    how.flags = 0x40;
    make("seams of no cube");
    how.flags = 0x80;
    make("flags");
    how.maxAnisotropy = 100;
    make("anisotropy");
    how.reserved[3] = 5;
    make("reserved");
    viewed("view", CU_RES_VIEW_FORMAT_FLOAT_1X32, 16, 16, 0, 0, 0, 0, 0);
    viewed("view of another format", CU_RES_VIEW_FORMAT_UINT_4X8, 16, 16, 0, 0, 0, 0, 0);
    viewed("view of another size", CU_RES_VIEW_FORMAT_UINT_4X16, 16, 16, 0, 0, 0, 0, 0);
    viewed("view without a format", 0, 16, 16, 0, 0, 0, 0, 0);
    viewed("narrow view", CU_RES_VIEW_FORMAT_FLOAT_1X32, 8, 16, 0, 0, 0, 0, 0);
    viewed("view of a level", CU_RES_VIEW_FORMAT_FLOAT_1X32, 16, 16, 0, 1, 1, 0, 0);
    viewed("view of a layer", CU_RES_VIEW_FORMAT_FLOAT_1X32, 16, 16, 0, 0, 0, 1, 1);
    resource.res.array.hArray = layers;
    viewed("view of layers", CU_RES_VIEW_FORMAT_FLOAT_1X32, 16, 16, 7, 0, 0, 2, 4);
    viewed("view of three layers", CU_RES_VIEW_FORMAT_FLOAT_1X32, 16, 16, 3, 0, 0, 2, 4);
    resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    resource.res.mipmap.hMipmappedArray = levels;
    viewed("view of levels", CU_RES_VIEW_FORMAT_FLOAT_1X32, 16, 16, 0, 1, 3, 0, 0);
    viewed("view of no levels", CU_RES_VIEW_FORMAT_FLOAT_1X32, 16, 16, 0, 2, 1, 0, 0);
    CUsurfObject surface = 0;
    say("surface of levels", cuSurfObjectCreate(&surface, &resource));
    resource = {};
    resource.res.array.hArray = array;
    say("surface without the flag", cuSurfObjectCreate(&surface, &resource));

    linear("linear", memory, CU_AD_FORMAT_FLOAT, 1, 1000);
    linear("linear, misaligned", memory + 256, CU_AD_FORMAT_FLOAT, 1, 1000);
    linear("linear, three channels", memory, CU_AD_FORMAT_FLOAT, 3, 1000);
    linear("linear, no format", memory, 0xc2, 4, 1000);
    linear("linear, nothing", memory, CU_AD_FORMAT_FLOAT, 1, 0);
    linear("linear, nowhere", 0, CU_AD_FORMAT_FLOAT, 1, 1000);
    linear("linear, too long", memory, CU_AD_FORMAT_FLOAT, 1, size_t(1) << 40);
    pitched("pitched", memory, 16, 4, 64);
    pitched("pitched, narrow", memory, 16, 4, 32);
    pitched("pitched, odd", memory, 16, 4, 80);
    pitched("pitched, misaligned", memory + 32, 16, 4, 64);
    pitched("pitched, too wide", memory, 131073, 4, 1 << 20);
    pitched("pitched, too high", memory, 16, 65001, 64);

    resource = {};
    resource.res.array.hArray = array;
    how.filterMode = CU_TR_FILTER_MODE_LINEAR, how.flags = CU_TRSF_NORMALIZED_COORDINATES, how.mipmapLevelBias = 1.5f;
    say("last", cuTexObjectCreate(&object, &resource, &how, nullptr));
    CUDA_RESOURCE_DESC was = {};
    CUDA_TEXTURE_DESC how_was = {};
    say("resource", cuTexObjectGetResourceDesc(&was, object));
    say("texture", cuTexObjectGetTextureDesc(&how_was, object));
    printf("%d %d, filter %d, flags %x, bias %g\n", was.resType, was.res.array.hArray == array, how_was.filterMode, how_was.flags,
           how_was.mipmapLevelBias);
    say("view of none", cuTexObjectGetResourceViewDesc(&view, object));
    say("texture as surface", cuSurfObjectGetResourceDesc(&was, object));
    say("null", cuTexObjectGetResourceDesc(nullptr, object));
    say("no texture", cuTexObjectGetResourceDesc(&was, 12345));
    say("destroy", cuTexObjectDestroy(object));
    say("destroy again", cuTexObjectDestroy(object));
    say("destroy surface", cuSurfObjectDestroy(surface));
    return finish();
}
