// Properties that hold for every device, and errors for invalid device
// numbers.
#include "../common.h"

__global__ void nothing() {}

int main()
{
    int count = 0, device = -1, driver = 0, runtime = 0;
    NEED(cudaGetDeviceCount(&count));
    expect(count >= 1, "a device");
    CK(cudaGetDevice(&device));
    printf("current device %d\n", device);
    CK(cudaDriverGetVersion(&driver));
    CK(cudaRuntimeGetVersion(&runtime));
    expect(runtime / 1000 == CUDART_VERSION / 1000, "runtime version");
    expect(driver / 1000 >= runtime / 1000, "driver version");

    cudaDeviceProp p = {};
    NEED(cudaGetDeviceProperties(&p, 0));
    expect(p.name[0] != 0 && strlen(p.name) < sizeof p.name, "name");
    expect(p.major >= 5, "compute capability");
    expect(p.warpSize == 32, "warp size");
    expect(p.maxThreadsPerBlock == 1024, "threads a block");
    expect(p.maxThreadsDim[0] == 1024 && p.maxThreadsDim[1] == 1024 && p.maxThreadsDim[2] == 64, "block limits");
    expect(p.maxGridSize[0] == 2147483647 && p.maxGridSize[1] == 65535 && p.maxGridSize[2] == 65535, "grid limits");
    expect(p.totalConstMem == 65536, "constant memory");
    expect(p.sharedMemPerBlock == 49152, "shared memory a block");
    expect(p.sharedMemPerBlockOptin >= p.sharedMemPerBlock, "shared memory by choice");
    expect(p.sharedMemPerMultiprocessor > p.reservedSharedMemPerBlock, "shared memory a multiprocessor");
    expect(p.multiProcessorCount >= 1 && p.maxThreadsPerMultiProcessor >= p.maxThreadsPerBlock, "multiprocessors");
    expect(p.regsPerBlock >= 32768 && p.regsPerMultiprocessor >= p.regsPerBlock, "registers");
    expect(p.unifiedAddressing == 1 && p.canMapHostMemory == 1, "one address space");
    expect(p.totalGlobalMem > (64u << 20), "memory");

    struct {
        const char *name;
        cudaDeviceAttr attribute;
        long long property;
    } pairs[] = {
        {"warp size", cudaDevAttrWarpSize, p.warpSize},
        {"major", cudaDevAttrComputeCapabilityMajor, p.major},
        {"minor", cudaDevAttrComputeCapabilityMinor, p.minor},
        {"threads", cudaDevAttrMaxThreadsPerBlock, p.maxThreadsPerBlock},
        {"block z", cudaDevAttrMaxBlockDimZ, p.maxThreadsDim[2]},
        {"grid y", cudaDevAttrMaxGridDimY, p.maxGridSize[1]},
        {"shared", cudaDevAttrMaxSharedMemoryPerBlock, (long long)p.sharedMemPerBlock},
        {"shared by choice", cudaDevAttrMaxSharedMemoryPerBlockOptin, (long long)p.sharedMemPerBlockOptin},
        {"multiprocessors", cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
        {"managed", cudaDevAttrManagedMemory, p.managedMemory},
        {"cooperative", cudaDevAttrCooperativeLaunch, p.cooperativeLaunch},
        {"copy engines", cudaDevAttrAsyncEngineCount, p.asyncEngineCount},
        {"pitch", cudaDevAttrMaxPitch, (long long)p.memPitch},
        {"texture alignment", cudaDevAttrTextureAlignment, (long long)p.textureAlignment},
    };
    for (auto &pair : pairs) {
        int value = -1;
        CK(cudaDeviceGetAttribute(&value, pair.attribute, 0));
        printf("%s %s\n", pair.name, value == pair.property ? "agrees" : "differs");
    }

    char bus[32] = {};
    int same = -1;
    CK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    CK(cudaDeviceGetByPCIBusId(&same, bus));
    printf("device by bus %d\n", same);
    cudaDeviceProp any = {};
    int chosen = -1;
    CK(cudaChooseDevice(&chosen, &any));
    expect(chosen >= 0 && chosen < count, "chosen device");

    int untouched = 77;
    show("property of no device", cudaGetDeviceProperties(&p, count));
    show("attribute of no device", cudaDeviceGetAttribute(&untouched, cudaDevAttrWarpSize, count));
    show("no attribute", cudaDeviceGetAttribute(&untouched, (cudaDeviceAttr)9999, 0));
    show("attribute to nowhere", cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0));
    show("set no device", cudaSetDevice(count));
    show("set device -1", cudaSetDevice(-1));
    show("count to nowhere", cudaGetDeviceCount(nullptr));
    show("bus of no device", cudaDeviceGetPCIBusId(bus, sizeof bus, count));
    show("device by no bus", cudaDeviceGetByPCIBusId(&untouched, "ffff:ff:1f.7"));
    printf("untouched %d\n", untouched);
    cudaGetLastError();
    CK(cudaGetDevice(&device));
    printf("still device %d\n", device);
    nothing<<<1, 1>>>();
    LAUNCHED("nothing");
    CK(cudaDeviceSynchronize());
    return finish();
}
