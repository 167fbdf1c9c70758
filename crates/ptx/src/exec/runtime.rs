//! Calls of CUDA's device runtime: launches by kernels, their streams and events, copies, queries.
//!
//! Owns the list of them and their names in both generations: `cudaLaunchDeviceV2` (up to CUDA 11) and
//! `__cudaCDP2LaunchDeviceV2` (from 12 on), each with a form for per-thread default streams, which is the same on a
//! device. The host defines their effects ([`super::Host::runtime`]). Source: cuda_device_runtime_api.h.

macro_rules! calls {
    ($($(#[$meta:meta])* $name:ident $text:literal),* $(,)?) => {
        /// A call of the device runtime. Arguments follow one another in words of 64 bits; a structure passed by value takes
        /// as many as it needs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum RuntimeCall { $($(#[$meta])* $name),* }

        const NAMES: &[(&str, RuntimeCall)] = &[$(($text, RuntimeCall::$name)),*];
    };
}

calls! {
    /// Alignment, bytes: a buffer for arguments, or 0.
    ParameterBuffer "GetParameterBuffer",
    /// Kernel, grid (two words), block (two words), shared memory: a buffer, or 0.
    ParameterBufferV2 "GetParameterBufferV2",
    /// Kernel, buffer, grid (two words), block (two words), shared memory, stream.
    Launch "LaunchDevice",
    /// Buffer, stream.
    LaunchV2 "LaunchDeviceV2",
    /// Waits for what the block has launched.
    Synchronize "DeviceSynchronize",
    /// The last error of the thread, which is forgotten.
    LastError "GetLastError",
    /// The last error of the thread.
    PeekError "PeekAtLastError",
    /// Error: where its text lies.
    ErrorString "GetErrorString",
    /// Error: where its name lies.
    ErrorName "GetErrorName",
    /// Place for the number.
    DeviceCount "GetDeviceCount",
    /// Place for the device.
    Device "GetDevice",
    /// Place, attribute, device.
    Attribute "DeviceGetAttribute",
    /// Place, limit.
    Limit "DeviceGetLimit",
    /// Place.
    CacheConfig "DeviceGetCacheConfig",
    /// Place.
    Version "RuntimeGetVersion",
    /// Place, kernel.
    FunctionAttributes "FuncGetAttributes",
    /// Place, kernel, threads, dynamic shared memory.
    Occupancy "OccupancyMaxActiveBlocksPerMultiprocessor",
    /// The same, and flags.
    OccupancyWithFlags "OccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    /// Place, flags.
    StreamCreate "StreamCreateWithFlags",
    /// Stream.
    StreamDestroy "StreamDestroy",
    /// Stream, event, flags.
    StreamWait "StreamWaitEvent",
    /// Place, flags.
    EventCreate "EventCreateWithFlags",
    /// Event, stream.
    EventRecord "EventRecord",
    /// Event, stream, flags.
    EventRecordWithFlags "EventRecordWithFlags",
    /// Event.
    EventDestroy "EventDestroy",
    /// Place, bytes.
    Malloc "Malloc",
    /// Address.
    Free "Free",
    /// To, from, bytes, kind, stream.
    Copy "MemcpyAsync",
    /// To, pitch, from, pitch, width, height, kind, stream.
    Copy2D "Memcpy2DAsync",
    /// To, value, bytes, stream.
    Set "MemsetAsync",
    /// To, pitch, value, width, height, stream.
    Set2D "Memset2DAsync",
    /// Where a `cudaMemcpy3DParms` lies, stream.
    Copy3D "Memcpy3DAsync",
    /// A `cudaPitchedPtr` (four words), value, a `cudaExtent` (three words), stream.
    Set3D "Memset3DAsync",
    /// Instance of a graph, stream.
    GraphLaunch "GraphLaunch",
    /// Node, offset, where the value lies, bytes.
    NodeParameter "GraphKernelNodeSetParam",
    /// Node, whether it is to run.
    NodeEnabled "GraphKernelNodeSetEnabled",
    /// Node, grid (two words).
    NodeGrid "GraphKernelNodeSetGridDim",
    /// Where `cudaGraphKernelNodeUpdate`s lie, how many.
    NodeUpdates "GraphKernelNodeUpdatesApply",
}

impl RuntimeCall {
    /// The one that a text declares by this name.
    pub fn from_name(name: &str) -> Option<RuntimeCall> {
        if name == "__cudaDeviceSynchronizeDeprecationAvoidance" {
            return Some(RuntimeCall::Synchronize);
        }
        let name = name.strip_suffix("_ptsz").unwrap_or(name);
        let name = name.strip_prefix("__cudaCDP2").or_else(|| name.strip_prefix("cuda"))?;
        NAMES.iter().find(|(text, _)| *text == name).map(|(_, call)| *call)
    }

    /// Whether it may submit work that runs after the kernel.
    pub fn launches(self) -> bool {
        use RuntimeCall::*;
        matches!(self, Launch | LaunchV2 | Copy | Copy2D | Copy3D | Set | Set2D | Set3D)
    }

    /// Whether it is about graphs.
    pub fn is_about_graphs(self) -> bool {
        use RuntimeCall::*;
        matches!(self, GraphLaunch | NodeParameter | NodeEnabled | NodeGrid | NodeUpdates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_generations_name_the_same_calls() {
        let found = RuntimeCall::from_name;
        assert_eq!(found("cudaLaunchDeviceV2"), Some(RuntimeCall::LaunchV2));
        assert_eq!(found("__cudaCDP2LaunchDeviceV2_ptsz"), Some(RuntimeCall::LaunchV2));
        assert_eq!(found("cudaLaunchDevice"), Some(RuntimeCall::Launch));
        assert_eq!(
            found("__cudaDeviceSynchronizeDeprecationAvoidance"),
            found("cudaDeviceSynchronize")
        );
        assert_eq!((found("LaunchDevice"), found("cudaGraphSetConditional")), (None, None));
    }
}
