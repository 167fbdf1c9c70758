// The parts of flags_runtime.cu about memory: host memory, managed memory, pools, arrays; copies and advice.
#pragma once

static void host()
{
    cudaFree(nullptr);
    sweep("cudaHostAlloc, read", flags(6), [](Value v) {
        void *p = nullptr;
        unsigned now = 77;
        std::string first = named(cudaHostAlloc(&p, 64, (unsigned)v));
        if (!p)
            return first;
        first += "/" + with(cudaHostGetFlags(&now, p), now);
        cudaFreeHost(p);
        return first;
    });
    void *own = aligned_alloc(4096, 8192);
    sweep("cudaHostRegister, read", flags(6), [=](Value v) {
        unsigned now = 77;
        cudaError_t e = cudaHostRegister(own, 4096, (unsigned)v);
        std::string first = named(e);
        if (e)
            return first;
        first += "/" + with(cudaHostGetFlags(&now, own), now);
        return first + "/" + named(cudaHostUnregister(own));
    });
    sweep("cudaHostRegister size", {0, 1, 100, 4095, 4096, 4097, 8192}, [=](Value v) {
        cudaError_t e = cudaHostRegister(own, (size_t)v, 0);
        std::string first = named(e);
        if (!e)
            cudaHostUnregister(own);
        return first;
    });
    void *p = nullptr;
    cudaHostAlloc(&p, 64, cudaHostAllocMapped);
    sweep("cudaHostGetDevicePointer flags", flags(4), [=](Value v) {
        void *d;
        return named(cudaHostGetDevicePointer(&d, p, (unsigned)v));
    });
    sweep("cudaMallocManaged", flags(5), [](Value v) {
        void *p = nullptr;
        cudaError_t e = cudaMallocManaged(&p, 64, (unsigned)v);
        std::string first = named(e);
        if (!e)
            cudaFree(p);
        return first;
    });
    sweep("cudaMallocManaged size", {0, 1, (Value)1 << 50, -1}, [](Value v) {
        void *p = nullptr;
        cudaError_t e = cudaMallocManaged(&p, (size_t)v);
        std::string first = named(e);
        if (!e)
            cudaFree(p);
        return first;
    });
    sweep("cudaMalloc size", {0, 1, (Value)1 << 50, -1}, [](Value v) {
        void *p = nullptr;
        cudaError_t e = cudaMalloc(&p, (size_t)v);
        std::string first = named(e) + (p ? "" : ", null");
        cudaFree(p);
        return first;
    });
    sweep("cudaHostAlloc size", {0, 1, (Value)1 << 60, -1}, [](Value v) {
        void *p = nullptr;
        cudaError_t e = cudaHostAlloc(&p, (size_t)v, 0);
        std::string first = named(e) + (p ? "" : ", null");
        cudaFreeHost(p);
        return first;
    });
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    int *d = nullptr, h[16] = {};
    cudaMalloc(&d, 64);
    auto kind = [&](const char *name, void *to, const void *from) {
        sweep(std::string("cudaMemcpy ") + name, numbers(-1, 6), [=](Value v) { return named(cudaMemcpy(to, from, 16, (cudaMemcpyKind)v)); });
        sweep(std::string("cudaMemcpyAsync ") + name, numbers(-1, 6), [=](Value v) {
            std::string first = named(cudaMemcpyAsync(to, from, 16, (cudaMemcpyKind)v, stream));
            return first + "/" + named(cudaStreamSynchronize(stream));
        });
        sweep(std::string("cudaMemcpy of nothing ") + name, numbers(-1, 6), [=](Value v) { return named(cudaMemcpy(to, from, 0, (cudaMemcpyKind)v)); });
        sweep(std::string("cudaMemcpy2D ") + name, numbers(-1, 6), [=](Value v) { return named(cudaMemcpy2D(to, 4, from, 4, 4, 4, (cudaMemcpyKind)v)); });
    };
    kind("host to device", d, h);
    kind("device to host", h, d);
    kind("device to device", d, d + 8);
    kind("host to host", h, h + 8);
    sweep("cudaMemcpyToSymbol kind", numbers(-1, 6), [&](Value v) { return named(cudaMemcpyToSymbol(symbol, h, 16, 0, (cudaMemcpyKind)v)); });
    sweep("cudaMemcpyToSymbol from the device", numbers(-1, 6), [&](Value v) { return named(cudaMemcpyToSymbol(symbol, d, 16, 0, (cudaMemcpyKind)v)); });
    sweep("cudaMemcpyFromSymbol kind", numbers(-1, 6), [&](Value v) { return named(cudaMemcpyFromSymbol(h, symbol, 16, 0, (cudaMemcpyKind)v)); });
}

// Only defined flags: NVIDIA's driver crashes for some others.
static void attach()
{
    char *managed = nullptr;
    cudaMallocManaged(&managed, 1 << 20);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (size_t length : {(size_t)0, (size_t)1 << 20, (size_t)4096})
        sweep("cudaStreamAttachMemAsync " + std::to_string(length), {1, 2, 4}, [=](Value v) {
            std::string first = named(cudaStreamAttachMemAsync(stream, managed, length, (unsigned)v));
            cudaDeviceSynchronize();
            return first;
        });
}

static void pools()
{
    cudaFree(nullptr);
    auto create = [](const std::string &name, std::function<void(cudaMemPoolProps &, Value)> change, const std::vector<Value> &values) {
        sweep("cudaMemPoolCreate " + name, values, [=](Value v) {
            cudaMemPool_t pool = nullptr;
            cudaMemPoolProps props;
            memset(&props, 0, sizeof props);
            props.allocType = cudaMemAllocationTypePinned;
            props.location.type = cudaMemLocationTypeDevice;
            change(props, v);
            cudaError_t e = cudaMemPoolCreate(&pool, &props);
            if (!e)
                cudaMemPoolDestroy(pool);
            return named(e);
        });
    };
    create("type", [](cudaMemPoolProps &p, Value v) { p.allocType = (cudaMemAllocationType)v; }, {-1, 0, 1, 3, 4, 0x7fffffff});
    create("handles", [](cudaMemPoolProps &p, Value v) { p.handleTypes = (cudaMemAllocationHandleType)v; }, {0, 2, 3, 4, 5, 6, 7, 10, 16, 32, 0x7fffffff});
    create("location", [](cudaMemPoolProps &p, Value v) { p.location.type = (cudaMemLocationType)v; }, numbers(-1, 6));
    create("device", [](cudaMemPoolProps &p, Value v) { p.location.id = (int)v; }, devices);
#if CUDART_VERSION >= 12020
    create("host and an id", [](cudaMemPoolProps &p, Value v) { p.location.type = cudaMemLocationTypeHost, p.location.id = (int)v; }, devices);
    create("numa node", [](cudaMemPoolProps &p, Value v) { p.location.type = cudaMemLocationTypeHostNuma, p.location.id = (int)v; }, {-1, 0, 100000000});
    create("size", [](cudaMemPoolProps &p, Value v) { p.maxSize = (size_t)v; }, {0, 1, 1 << 20, -1});
#endif
#if CUDART_VERSION >= 12080
    create("usage", [](cudaMemPoolProps &p, Value v) { p.usage = (unsigned short)v; }, flags(3, 16));
#endif
    create("reserved byte", [](cudaMemPoolProps &p, Value v) { p.reserved[0] = (unsigned char)v; }, {0, 1});
    cudaMemPool_t pool, own;
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudaMemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    cudaMemPoolCreate(&own, &props);
    sweep("cudaMemPoolGetAttribute", numbers(-1, 16), [=](Value v) {
        unsigned long long value[4] = {};
        return with(cudaMemPoolGetAttribute(own, (cudaMemPoolAttr)v, value), value[0]);
    });
    for (Value to : {0, 1, 2})
        sweep("cudaMemPoolSetAttribute to " + shown(to) + ", read", numbers(-1, 16), [=](Value v) {
            unsigned long long value = (unsigned long long)to, now = 0;
            std::string first = named(cudaMemPoolSetAttribute(own, (cudaMemPoolAttr)v, &value));
            return first + "/" + with(cudaMemPoolGetAttribute(own, (cudaMemPoolAttr)v, &now), now);
        });
    auto access = [=](const std::string &name, const std::vector<Value> &values, std::function<void(cudaMemAccessDesc &, Value)> change) {
        sweep("cudaMemPoolSetAccess " + name, values, [=](Value v) {
            cudaMemAccessDesc desc;
            memset(&desc, 0, sizeof desc);
            desc.location.type = cudaMemLocationTypeDevice;
            desc.flags = cudaMemAccessFlagsProtReadWrite;
            change(desc, v);
            return named(cudaMemPoolSetAccess(own, &desc, 1));
        });
        sweep("cudaMemPoolGetAccess " + name, values, [=](Value v) {
            cudaMemAccessDesc desc;
            memset(&desc, 0, sizeof desc);
            desc.location.type = cudaMemLocationTypeDevice;
            change(desc, v);
            cudaMemAccessFlags now = (cudaMemAccessFlags)77;
            cudaError_t e = cudaMemPoolGetAccess(&now, own, &desc.location);
            return with(e, now);
        });
    };
    access("flags", flags(4), [](cudaMemAccessDesc &d, Value v) { d.flags = (cudaMemAccessFlags)v; });
    access("location", numbers(-1, 6), [](cudaMemAccessDesc &d, Value v) { d.location.type = (cudaMemLocationType)v; });
    access("device", devices, [](cudaMemAccessDesc &d, Value v) { d.location.id = (int)v; });
    sweep("cudaMemPoolSetAccess of so many", {0}, [=](Value v) { return named(cudaMemPoolSetAccess(own, nullptr, (size_t)v)); });
    sweep("cudaDeviceSetMemPool", devices, [=](Value v) { return named(cudaDeviceSetMemPool((int)v, own)); });
    cudaDeviceSetMemPool(0, pool);
    for (cudaMemPool_t of : {pool, own})
        sweep(std::string("cudaMemPoolExportToShareableHandle of ") + (of == pool ? "the default one" : "another"), flags(4), [=](Value v) {
            int fd[4] = {-1, -1, -1, -1};
            cudaError_t e = cudaMemPoolExportToShareableHandle(fd, of, (cudaMemAllocationHandleType)v, 0);
            if (!e && v == 1)
                close(fd[0]);
            return named(e);
        });
    sweep("cudaMallocAsync size", {0, 1, (Value)1 << 50, -1}, [](Value v) {
        void *p = nullptr;
        cudaError_t e = cudaMallocAsync(&p, (size_t)v, nullptr);
        std::string first = named(e) + (p ? "" : ", null");
        if (p)
            cudaFreeAsync(p, nullptr);
        return first;
    });
    sweep("cudaMemPoolTrimTo", {0, 1, -1}, [=](Value v) { return named(cudaMemPoolTrimTo(own, (size_t)v)); });
    sweep("cudaMemPoolDestroy of the default one", {0}, [=](Value) { return named(cudaMemPoolDestroy(pool)); });
#if CUDART_VERSION >= 13000
    for (Value kind : {0, 1, 3})
        for (Value place : {0, 1}) {
            sweep("cudaMemGetDefaultMemPool " + shown(place) + " type " + shown(kind), {-1, 0, 1, 100000000}, [=](Value v) {
                cudaMemLocation location = {(cudaMemLocationType)place, {(int)v}};
                cudaMemPool_t p = nullptr;
                return named(cudaMemGetDefaultMemPool(&p, &location, (cudaMemAllocationType)kind));
            });
        }
#endif
}

static void advice()
{
    cudaFree(nullptr);
    char *managed = nullptr, *d = nullptr;
    cudaMallocManaged(&managed, 1 << 20);
    cudaMalloc(&d, 1 << 20);
    static char own[1 << 16];
#if CUDART_VERSION >= 13000
    for (Value kind : {-1, 0, 1, 2, 3, 4, 5, 6}) {
        for (Value advice : {0, 1, 2, 3, 4, 5, 6, 7, 8})
            sweep("cudaMemAdvise " + shown(advice) + " location " + shown(kind), devices, [=](Value v) {
                cudaMemLocation location = {(cudaMemLocationType)kind, {(int)v}};
                return named(cudaMemAdvise(managed, 1 << 20, (cudaMemoryAdvise)advice, location));
            });
        sweep("cudaMemPrefetchAsync location " + shown(kind), devices, [=](Value v) {
            cudaMemLocation location = {(cudaMemLocationType)kind, {(int)v}};
            std::string first = named(cudaMemPrefetchAsync(managed, 1 << 20, location, 0, nullptr));
            return first + "/" + named(cudaDeviceSynchronize());
        });
    }
    cudaMemLocation here = {cudaMemLocationTypeDevice, {0}};
    sweep("cudaMemPrefetchAsync flags", flags(3), [=](Value v) { return named(cudaMemPrefetchAsync(managed, 4096, here, (unsigned)v, nullptr)); });
    sweep("cudaMemPrefetchAsync size", {0, 1, 4096, 1 << 20, (1 << 20) + 1, 1 << 22}, [=](Value v) { return named(cudaMemPrefetchAsync(managed, (size_t)v, here, 0, nullptr)); });
    sweep("cudaMemPrefetchAsync of device memory", {0, 4096}, [=](Value v) { return named(cudaMemPrefetchAsync(d, (size_t)v, here, 0, nullptr)); });
    sweep("cudaMemPrefetchAsync of null", {0, 4096}, [=](Value v) { return named(cudaMemPrefetchAsync(nullptr, (size_t)v, here, 0, nullptr)); });
    sweep("cudaMemAdvise size", {0, 1, 4096, 1 << 20, (1 << 20) + 1, 1 << 22}, [=](Value v) { return named(cudaMemAdvise(managed, (size_t)v, cudaMemAdviseSetReadMostly, here)); });
    sweep("cudaMemAdvise of device memory", {1, 2, 3, 4, 5, 6}, [=](Value v) { return named(cudaMemAdvise(d, 4096, (cudaMemoryAdvise)v, here)); });
#endif
    for (size_t size : {(size_t)0, (size_t)1})
        sweep("cudaMemRangeGetAttribute size " + std::to_string(size), numbers(-1, 10), [=](Value v) {
            int value[4] = {77, 77, 77, 77};
            return with(cudaMemRangeGetAttribute(value, size, (cudaMemRangeAttribute)v, managed, 4096), value[0]);
        });
    cudaPointerAttributes attributes;
    sweep("cudaPointerGetAttributes type", {0, 1, 2, 3}, [&](Value v) {
        const void *p = v == 0 ? nullptr : v == 1 ? (const void *)own : v == 2 ? d : managed;
        attributes.type = (cudaMemoryType)77;
        cudaError_t e = cudaPointerGetAttributes(&attributes, p);
        return with(e, attributes.type) + " device " + std::to_string(attributes.device);
    });
}

static void arrays()
{
    cudaFree(nullptr);
    cudaChannelFormatDesc one = cudaCreateChannelDesc<float>();
    const std::vector<Value> some = {0, 1, 2, 3, 16, 32, 512, 1024, 1 << 20, 1 << 30};
    for (int height : {0, 16})
        sweep("cudaMallocArray 16x" + std::to_string(height) + ", read", some, [&](Value v) {
            cudaArray_t array = nullptr;
            cudaError_t e = cudaMallocArray(&array, &one, 16, height, (unsigned)v);
            cudaChannelFormatDesc desc;
            cudaExtent extent;
            unsigned now = 77;
            std::string first = named(e);
            if (e)
                return first;
            first += "/" + with(cudaArrayGetInfo(&desc, &extent, &now, array), now);
            cudaFreeArray(array);
            return first;
        });
    for (cudaExtent extent : {make_cudaExtent(16, 0, 0), make_cudaExtent(16, 16, 0), make_cudaExtent(16, 16, 6), make_cudaExtent(16, 0, 4)})
        sweep("cudaMalloc3DArray " + std::to_string(extent.width) + "x" + std::to_string(extent.height) + "x" + std::to_string(extent.depth), some, [&](Value v) {
            cudaArray_t array = nullptr;
            cudaError_t e = cudaMalloc3DArray(&array, &one, extent, (unsigned)v);
            if (!e)
                cudaFreeArray(array);
            return named(e);
        });
    sweep("cudaMallocArray bits of a channel", numbers(-1, 65), [](Value v) {
        cudaArray_t array = nullptr;
        cudaChannelFormatDesc desc = {(int)v, 0, 0, 0, cudaChannelFormatKindUnsigned};
        cudaError_t e = cudaMallocArray(&array, &desc, 16, 16);
        if (!e)
            cudaFreeArray(array);
        return named(e);
    });
    sweep("cudaMallocArray kind", numbers(-1, 36), [](Value v) {
        cudaArray_t array = nullptr;
        cudaChannelFormatDesc desc = {32, 0, 0, 0, (cudaChannelFormatKind)v};
        cudaError_t e = cudaMallocArray(&array, &desc, 16, 16);
        if (!e)
            cudaFreeArray(array);
        return named(e);
    });
}
