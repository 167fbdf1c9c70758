// The parts of flags_runtime.cu about work: streams, events, graphs, launches.
#pragma once

static void streams()
{
    cudaFree(nullptr);
    sweep("cudaStreamCreateWithFlags, read", flags(5), [](Value v) {
        cudaStream_t s = nullptr;
        unsigned now = 77;
        cudaError_t e = cudaStreamCreateWithFlags(&s, (unsigned)v);
        std::string first = named(e);
        if (e)
            return first;
        first += "/" + with(cudaStreamGetFlags(s, &now), now);
        cudaStreamDestroy(s);
        return first;
    });
    sweep("cudaStreamCreateWithPriority flags", flags(5), [](Value v) {
        cudaStream_t s = nullptr;
        cudaError_t e = cudaStreamCreateWithPriority(&s, (unsigned)v, 0);
        if (!e)
            cudaStreamDestroy(s);
        return named(e);
    });
    sweep("cudaStreamCreateWithPriority priority, read", numbers(-12, 12), [](Value v) {
        cudaStream_t s = nullptr;
        int now = 77;
        cudaError_t e = cudaStreamCreateWithPriority(&s, 0, (int)v);
        std::string first = named(e);
        if (e)
            return first;
        first += "/" + with(cudaStreamGetPriority(s, &now), now);
        cudaStreamDestroy(s);
        return first;
    });
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    sweep("cudaEventCreateWithFlags", flags(6), [](Value v) {
        cudaEvent_t e = nullptr;
        cudaError_t error = cudaEventCreateWithFlags(&e, (unsigned)v);
        if (!error)
            cudaEventDestroy(e);
        return named(error);
    });
    cudaEvent_t event;
    cudaEventCreate(&event);
    sweep("cudaEventRecordWithFlags", flags(4), [=](Value v) { return named(cudaEventRecordWithFlags(event, stream, (unsigned)v)); });
    sweep("cudaStreamWaitEvent", flags(4), [=](Value v) { return named(cudaStreamWaitEvent(stream, event, (unsigned)v)); });
    sweep("cudaStreamAddCallback", flags(4), [=](Value v) {
        std::string first = named(cudaStreamAddCallback(stream, [](cudaStream_t, cudaError_t, void *) {}, nullptr, (unsigned)v));
        cudaStreamSynchronize(stream);
        return first;
    });
    sweep("cudaStreamGetAttribute", numbers(-1, 24), [=](Value v) {
        cudaStreamAttrValue value;
        memset(&value, 0, sizeof value);
        return named(cudaStreamGetAttribute(stream, (cudaStreamAttrID)v, &value));
    });
    sweep("cudaStreamSetAttribute of zeroes", numbers(-1, 24), [=](Value v) {
        cudaStreamAttrValue value;
        memset(&value, 0, sizeof value);
        return named(cudaStreamSetAttribute(stream, (cudaStreamAttrID)v, &value));
    });
    sweep("cudaStreamSetAttribute synchronization policy", numbers(-1, 6), [=](Value v) {
        cudaStreamAttrValue value;
        memset(&value, 0, sizeof value);
        value.syncPolicy = (cudaSynchronizationPolicy)v;
        return named(cudaStreamSetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value));
    });
    sweep("cudaStreamBeginCapture mode", numbers(-1, 5), [=](Value v) {
        cudaGraph_t graph = nullptr;
        cudaError_t e = cudaStreamBeginCapture(stream, (cudaStreamCaptureMode)v);
        if (!e && !cudaStreamEndCapture(stream, &graph))
            cudaGraphDestroy(graph);
        return named(e);
    });
    sweep("cudaThreadExchangeStreamCaptureMode, read", numbers(-1, 5), [=](Value v) {
        cudaStreamCaptureMode mode = (cudaStreamCaptureMode)v, now = cudaStreamCaptureModeGlobal;
        cudaError_t e = cudaThreadExchangeStreamCaptureMode(&mode);
        if (!e)
            cudaThreadExchangeStreamCaptureMode(&now);
        return with(e, mode) + "/" + shown(now);
    });
    sweep("cudaEventRecordWithFlags in a capture", flags(4), [=](Value v) {
        cudaGraph_t graph = nullptr;
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
        std::string first = named(cudaEventRecordWithFlags(event, stream, (unsigned)v));
        first += "/" + named(cudaStreamEndCapture(stream, &graph));
        if (graph)
            cudaGraphDestroy(graph);
        cudaEventRecord(event, nullptr);
        return first;
    });
    sweep("cudaStreamWaitEvent in a capture", flags(4), [=](Value v) {
        cudaGraph_t graph = nullptr;
        cudaEvent_t own;
        cudaEventCreate(&own);
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
        cudaEventRecord(own, stream);
        std::string first = named(cudaStreamWaitEvent(stream, own, (unsigned)v));
        first += "/" + named(cudaStreamEndCapture(stream, &graph));
        if (graph)
            cudaGraphDestroy(graph);
        cudaEventDestroy(own);
        return first;
    });
}

static void graphs()
{
    cudaFree(nullptr);
    sweep("cudaGraphCreate", flags(4), [](Value v) {
        cudaGraph_t graph = nullptr;
        cudaError_t e = cudaGraphCreate(&graph, (unsigned)v);
        if (!e)
            cudaGraphDestroy(graph);
        return named(e);
    });
    cudaGraph_t graph;
    cudaGraphCreate(&graph, 0);
    cudaGraphNode_t a, b, c;
    cudaGraphAddEmptyNode(&a, graph, nullptr, 0);
    cudaGraphAddEmptyNode(&b, graph, nullptr, 0);
    sweep("cudaGraphInstantiateWithFlags, read", flags(6, 64), [=](Value v) {
        if (v > 0 && v & cudaGraphInstantiateFlagDeviceLaunch)
            return std::string("-");
        cudaGraphExec_t exec = nullptr;
        cudaError_t e = cudaGraphInstantiateWithFlags(&exec, graph, (unsigned long long)v);
        std::string first = named(e);
#if CUDART_VERSION >= 12000
        unsigned long long now = 77;
        if (!e)
            first += "/" + with(cudaGraphExecGetFlags(exec, &now), now);
#endif
        if (!e)
            cudaGraphExecDestroy(exec);
        return first;
    });
    sweep("cudaGraphDebugDotPrint", flags(5), [=](Value v) { return named(cudaGraphDebugDotPrint(graph, "/dev/null", (unsigned)v)); });
#if CUDART_VERSION >= 13000
    // Dependencies with one field of the edge data set.
    auto edge = [=](unsigned char cudaGraphEdgeData::*part) {
        return [=](Value v) {
            cudaGraphEdgeData data;
            memset(&data, 0, sizeof data);
            data.*part = (unsigned char)v;
            cudaError_t e = cudaGraphAddDependencies(graph, &a, &b, &data, 1);
            if (!e)
                cudaGraphRemoveDependencies(graph, &a, &b, &data, 1);
            return named(e);
        };
    };
    sweep("cudaGraphAddDependencies type", {0, 2, 3, 255, 256}, edge(&cudaGraphEdgeData::type));
    sweep("cudaGraphAddDependencies from port", {0, 3, 4, 255, 256}, edge(&cudaGraphEdgeData::from_port));
    sweep("cudaGraphAddDependencies to port", {0, 1, 2, 255, 256}, edge(&cudaGraphEdgeData::to_port));
#endif
    cudaUserObject_t object;
    sweep("cudaUserObjectCreate flags", flags(4), [&](Value v) {
        cudaError_t e = cudaUserObjectCreate(&object, nullptr, [](void *) {}, 1, (unsigned)v);
        if (!e)
            cudaUserObjectRelease(object, 1);
        return named(e);
    });
    sweep("cudaUserObjectCreate references", {0, 1, 2, 0x7fffffff, 0x80000000ll, 0xffffffffll}, [&](Value v) {
        cudaError_t e = cudaUserObjectCreate(&object, nullptr, [](void *) {}, (unsigned)v, cudaUserObjectNoDestructorSync);
        if (!e)
            cudaUserObjectRelease(object, (unsigned)v);
        return named(e);
    });
    cudaUserObjectCreate(&object, nullptr, [](void *) {}, 1000, cudaUserObjectNoDestructorSync);
    sweep("cudaGraphRetainUserObject flags", flags(4), [&](Value v) {
        return named(cudaGraphRetainUserObject(graph, object, 1, (unsigned)v));
    });
    sweep("cudaDeviceGetGraphMemAttribute", numbers(-1, 6), [](Value v) {
        unsigned long long value = 0;
        return named(cudaDeviceGetGraphMemAttribute(0, (cudaGraphMemAttributeType)v, &value));
    });
    sweep("cudaDeviceSetGraphMemAttribute to 0", numbers(-1, 6), [](Value v) {
        unsigned long long value = 0;
        return named(cudaDeviceSetGraphMemAttribute(0, (cudaGraphMemAttributeType)v, &value));
    });
    sweep("cudaDeviceSetGraphMemAttribute to 1", numbers(-1, 6), [](Value v) {
        unsigned long long value = 1;
        return named(cudaDeviceSetGraphMemAttribute(0, (cudaGraphMemAttributeType)v, &value));
    });
    auto node = [&](const char *name, std::function<void(cudaMemAllocNodeParams &, Value)> change, const std::vector<Value> &values) {
        sweep(std::string("cudaGraphAddMemAllocNode ") + name, values, [&](Value v) {
            cudaGraph_t own;
            cudaGraphCreate(&own, 0);
            cudaMemAllocNodeParams params;
            memset(&params, 0, sizeof params);
            params.poolProps.allocType = cudaMemAllocationTypePinned;
            params.poolProps.location.type = cudaMemLocationTypeDevice;
            params.bytesize = 64;
            change(params, v);
            cudaError_t e = cudaGraphAddMemAllocNode(&c, own, nullptr, 0, &params);
            cudaGraphDestroy(own);
            return named(e);
        });
    };
    node("size", [](cudaMemAllocNodeParams &p, Value v) { p.bytesize = (size_t)v; }, {0, 1, 64, -1});
    node("type", [](cudaMemAllocNodeParams &p, Value v) { p.poolProps.allocType = (cudaMemAllocationType)v; }, {-1, 0, 1, 3, 4, 0x7fffffff});
    node("handles", [](cudaMemAllocNodeParams &p, Value v) { p.poolProps.handleTypes = (cudaMemAllocationHandleType)v; }, flags(4));
    node("location", [](cudaMemAllocNodeParams &p, Value v) { p.poolProps.location.type = (cudaMemLocationType)v; }, numbers(-1, 6));
    node("device", [](cudaMemAllocNodeParams &p, Value v) { p.poolProps.location.id = (int)v; }, devices);
}

static void launches()
{
    cudaFree(nullptr);
    sweep("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", flags(4), [](Value v) {
        int n = 0;
        return named(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&n, kernel, 32, 0, (unsigned)v));
    });
    const std::vector<Value> some = {-2, -1, 0, 1, 2, 50, 100, 101, 1024, 49151, 49152, 49153, 65536, 1 << 30};
    for (int attribute : {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 15, 16, 17})
        sweep("cudaFuncSetAttribute " + std::to_string(attribute), some, [=](Value v) {
            return named(cudaFuncSetAttribute(kernel, (cudaFuncAttribute)attribute, (int)v));
        });
    sweep("cudaFuncSetCacheConfig", numbers(-1, 6), [](Value v) { return named(cudaFuncSetCacheConfig(kernel, (cudaFuncCache)v)); });
    sweep("cudaFuncSetSharedMemConfig", numbers(-1, 6), [](Value v) { return named(cudaFuncSetSharedMemConfig(kernel, (cudaSharedMemConfig)v)); });
    sweep("cudaLaunchKernelExC attribute of zeroes", {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 100, 0x7fffffff}, [](Value v) {
        cudaLaunchAttribute attribute;
        memset(&attribute, 0, sizeof attribute);
        attribute.id = (cudaLaunchAttributeID)v;
        cudaLaunchConfig_t config;
        memset(&config, 0, sizeof config);
        config.gridDim = config.blockDim = dim3(1);
        config.attrs = &attribute;
        config.numAttrs = 1;
        void *none[1] = {};
        std::string first = named(cudaLaunchKernelExC(&config, (const void *)idle, none));
        return first + "/" + named(cudaDeviceSynchronize());
    });
    sweep("cudaLaunchKernelExC cooperative", numbers(-1, 3), [](Value v) {
        cudaLaunchAttribute attribute;
        memset(&attribute, 0, sizeof attribute);
        attribute.id = cudaLaunchAttributeCooperative;
        attribute.val.cooperative = (int)v;
        cudaLaunchConfig_t config;
        memset(&config, 0, sizeof config);
        config.gridDim = config.blockDim = dim3(1);
        config.attrs = &attribute;
        config.numAttrs = 1;
        void *none[1] = {};
        return named(cudaLaunchKernelExC(&config, (const void *)idle, none));
    });
#if CUDART_VERSION >= 12050
    sweep("cudaGetDriverEntryPointByVersion flags", flags(4, 64), [](Value v) {
        void *p = nullptr;
        cudaDriverEntryPointQueryResult found = (cudaDriverEntryPointQueryResult)77;
        cudaError_t e = cudaGetDriverEntryPointByVersion("cuMemAlloc", &p, 12000, (unsigned long long)v, &found);
        return with(e, found) + (p ? "" : ", null");
    });
    sweep("cudaGetDriverEntryPointByVersion version", {0, 1, 1000, 2000, 3000, 3010, 3020, 4000, 10000, 11000, 12000, 12090, 13000}, [](Value v) {
        void *p = nullptr;
        cudaDriverEntryPointQueryResult found = (cudaDriverEntryPointQueryResult)77;
        cudaError_t e = cudaGetDriverEntryPointByVersion("cuMemAlloc", &p, (unsigned)v, 0, &found);
        return with(e, found) + (p ? "" : ", null");
    });
#endif
}
