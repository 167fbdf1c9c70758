//! What a call does on a GPU, as a column of the tables of hooks: kernels, a graph, or a copy or set with its size
//! and direction.
//!
//! Owns the rows of functions that copy, set or launch a graph, by the whole exported name; also of driver functions
//! that are not hooked but that hooked runtime functions call. Must not know: what is done with a call. Source:
//! CUDA Runtime API and Driver API reference manuals, 11.8 to 13.0; `hip_runtime_api.h` of ROCm 5.2.3.

use crate::{Class, DRIVER};

/// The GPU work of a function's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Nothing.
    Nothing,
    /// Kernels, or calls around a launch.
    Kernel,
    /// A whole graph.
    Graph,
    /// A copy or a set.
    Transfer(Transfer),
    /// A region or a mapping of OpenMP.
    Region,
}

/// The direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// Host to device.
    HostToDevice,
    /// Device to host.
    DeviceToHost,
    /// Within a device.
    DeviceToDevice,
    /// Between devices.
    Peer,
    /// Host to host.
    HostToHost,
    /// A value written to device memory.
    Set,
    /// Given by an argument, by the addresses, or by a structure that is not recorded.
    Unsaid,
}

impl Direction {
    /// The word for it, also in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Direction::HostToDevice => "host to device",
            Direction::DeviceToHost => "device to host",
            Direction::DeviceToDevice => "device to device",
            Direction::Peer => "peer to peer",
            Direction::HostToHost => "host to host",
            Direction::Set => "set",
            Direction::Unsaid => "by address",
        }
    }
}

/// How to tell what a function copies or sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The direction by its name.
    pub direction: Direction,
    /// It need not wait.
    pub is_async: bool,
    /// Bytes of one element.
    pub unit: u64,
    /// The arguments whose product is the number of elements; none where a structure holds it.
    pub size: &'static [&'static str],
}

/// The rows: direction, whether it waits, bytes of an element, arguments whose product is the size,
/// and the functions.
macro_rules! transfers {
    ($($direction:ident $waits:ident $unit:literal [$($size:ident)*] $($name:ident)+;)*) => {
        const TRANSFERS: &[(Transfer, &[&str])] = &[$((
            Transfer {
                direction: Direction::$direction,
                is_async: transfers!(@$waits),
                unit: $unit,
                size: &[$(stringify!($size)),*],
            },
            &[$(stringify!($name)),+],
        )),*];
    };
    (@sync) => { false };
    (@async) => { true };
}

transfers! {
    Set sync 1 [count] cudaMemset cudaMemset_ptds;
    Set async 1 [count] cudaMemsetAsync cudaMemsetAsync_ptsz;
    Set sync 1 [width height] cudaMemset2D cudaMemset2D_ptds;
    Set async 1 [width height] cudaMemset2DAsync cudaMemset2DAsync_ptsz;
    Set sync 1 [] cudaMemset3D cudaMemset3D_ptds;
    Set async 1 [] cudaMemset3DAsync cudaMemset3DAsync_ptsz;
    Unsaid sync 1 [count]
        cudaMemcpy cudaMemcpy_ptds cudaMemcpyToArray cudaMemcpyToArray_ptds cudaMemcpyFromArray
        cudaMemcpyFromArray_ptds cudaMemcpyArrayToArray cudaMemcpyArrayToArray_ptds cudaMemcpyToSymbol
        cudaMemcpyToSymbol_ptds cudaMemcpyFromSymbol cudaMemcpyFromSymbol_ptds;
    Unsaid async 1 [count]
        cudaMemcpyAsync cudaMemcpyAsync_ptsz cudaMemcpyToArrayAsync cudaMemcpyToArrayAsync_ptsz
        cudaMemcpyFromArrayAsync cudaMemcpyFromArrayAsync_ptsz cudaMemcpyToSymbolAsync cudaMemcpyToSymbolAsync_ptsz
        cudaMemcpyFromSymbolAsync cudaMemcpyFromSymbolAsync_ptsz;
    Peer sync 1 [count] cudaMemcpyPeer;
    Peer async 1 [count] cudaMemcpyPeerAsync;
    Unsaid sync 1 [width height]
        cudaMemcpy2D cudaMemcpy2D_ptds cudaMemcpy2DToArray cudaMemcpy2DToArray_ptds cudaMemcpy2DFromArray
        cudaMemcpy2DFromArray_ptds cudaMemcpy2DArrayToArray cudaMemcpy2DArrayToArray_ptds;
    Unsaid async 1 [width height]
        cudaMemcpy2DAsync cudaMemcpy2DAsync_ptsz cudaMemcpy2DToArrayAsync cudaMemcpy2DToArrayAsync_ptsz
        cudaMemcpy2DFromArrayAsync cudaMemcpy2DFromArrayAsync_ptsz;
    Unsaid sync 1 [] cudaMemcpy3D cudaMemcpy3D_ptds;
    Unsaid async 1 []
        cudaMemcpy3DAsync cudaMemcpy3DAsync_ptsz cudaMemcpyBatchAsync cudaMemcpyBatchAsync_ptsz cudaMemcpy3DBatchAsync
        cudaMemcpy3DBatchAsync_ptsz cudaMemcpy3DWithAttributesAsync cudaMemcpy3DWithAttributesAsync_ptsz;
    Unsaid async 1 [size] cudaMemcpyWithAttributesAsync cudaMemcpyWithAttributesAsync_ptsz;
    Peer sync 1 [] cudaMemcpy3DPeer cudaMemcpy3DPeer_ptds;
    Peer async 1 [] cudaMemcpy3DPeerAsync cudaMemcpy3DPeerAsync_ptsz;
    Set sync 1 [sizeBytes] hipMemset hipMemset_spt;
    Set async 1 [sizeBytes] hipMemsetAsync hipMemsetAsync_spt;
    Set sync 1 [count] hipMemsetD8;
    Set sync 2 [count] hipMemsetD16;
    Set sync 4 [count] hipMemsetD32;
    Set async 1 [count] hipMemsetD8Async;
    Set async 2 [count] hipMemsetD16Async;
    Set async 4 [count] hipMemsetD32Async;
    Set sync 1 [width height] hipMemset2D hipMemset2D_spt;
    Set async 1 [width height] hipMemset2DAsync hipMemset2DAsync_spt;
    Set sync 1 [] hipMemset3D;
    Set async 1 [] hipMemset3DAsync;
    Unsaid sync 1 [sizeBytes]
        hipMemcpy hipMemcpy_spt hipMemcpyWithStream hipMemcpyToSymbol hipMemcpyToSymbol_spt hipMemcpyFromSymbol
        hipMemcpyFromSymbol_spt;
    Unsaid async 1 [sizeBytes]
        hipMemcpyAsync hipMemcpyAsync_spt hipMemcpyToSymbolAsync hipMemcpyToSymbolAsync_spt hipMemcpyFromSymbolAsync
        hipMemcpyFromSymbolAsync_spt;
    HostToDevice sync 1 [sizeBytes] hipMemcpyHtoD;
    DeviceToHost sync 1 [sizeBytes] hipMemcpyDtoH;
    DeviceToDevice sync 1 [sizeBytes] hipMemcpyDtoD;
    HostToDevice async 1 [sizeBytes] hipMemcpyHtoDAsync;
    DeviceToHost async 1 [sizeBytes] hipMemcpyDtoHAsync;
    DeviceToDevice async 1 [sizeBytes] hipMemcpyDtoDAsync;
    Peer sync 1 [sizeBytes] hipMemcpyPeer;
    Peer async 1 [sizeBytes] hipMemcpyPeerAsync;
    Unsaid sync 1 [width height] hipMemcpy2D hipMemcpy2D_spt;
    Unsaid async 1 [width height] hipMemcpy2DAsync hipMemcpy2DAsync_spt;
    Unsaid sync 1 [] hipMemcpy3D hipMemcpy3D_spt hipMemcpyParam2D;
    Unsaid async 1 [] hipMemcpy3DAsync hipMemcpy3DAsync_spt hipMemcpyParam2DAsync;
    Set sync 1 [N] cuMemsetD8_v2 cuMemsetD8_v2_ptds;
    Set sync 2 [N] cuMemsetD16_v2 cuMemsetD16_v2_ptds;
    Set sync 4 [N] cuMemsetD32_v2 cuMemsetD32_v2_ptds;
    Set sync 1 [Width Height] cuMemsetD2D8_v2 cuMemsetD2D8_v2_ptds;
    Set sync 2 [Width Height] cuMemsetD2D16_v2 cuMemsetD2D16_v2_ptds;
    Set sync 4 [Width Height] cuMemsetD2D32_v2 cuMemsetD2D32_v2_ptds;
    Set async 1 [N] cuMemsetD8Async cuMemsetD8Async_ptsz;
    Set async 2 [N] cuMemsetD16Async cuMemsetD16Async_ptsz;
    Set async 4 [N] cuMemsetD32Async cuMemsetD32Async_ptsz;
    Set async 1 [Width Height] cuMemsetD2D8Async cuMemsetD2D8Async_ptsz;
    Set async 2 [Width Height] cuMemsetD2D16Async cuMemsetD2D16Async_ptsz;
    Set async 4 [Width Height] cuMemsetD2D32Async cuMemsetD2D32Async_ptsz;
    Unsaid sync 1 [ByteCount] cuMemcpy cuMemcpy_ptds cuMemcpyAtoA_v2 cuMemcpyAtoA_v2_ptds;
    Unsaid async 1 [ByteCount] cuMemcpyAsync cuMemcpyAsync_ptsz;
    HostToDevice sync 1 [ByteCount] cuMemcpyHtoD_v2 cuMemcpyHtoD_v2_ptds cuMemcpyHtoA_v2 cuMemcpyHtoA_v2_ptds;
    DeviceToHost sync 1 [ByteCount] cuMemcpyDtoH_v2 cuMemcpyDtoH_v2_ptds cuMemcpyAtoH_v2 cuMemcpyAtoH_v2_ptds;
    DeviceToDevice sync 1 [ByteCount]
        cuMemcpyDtoD_v2 cuMemcpyDtoD_v2_ptds cuMemcpyDtoA_v2 cuMemcpyDtoA_v2_ptds cuMemcpyAtoD_v2 cuMemcpyAtoD_v2_ptds;
    HostToDevice async 1 [ByteCount]
        cuMemcpyHtoDAsync_v2 cuMemcpyHtoDAsync_v2_ptsz cuMemcpyHtoAAsync_v2 cuMemcpyHtoAAsync_v2_ptsz;
    DeviceToHost async 1 [ByteCount]
        cuMemcpyDtoHAsync_v2 cuMemcpyDtoHAsync_v2_ptsz cuMemcpyAtoHAsync_v2 cuMemcpyAtoHAsync_v2_ptsz;
    DeviceToDevice async 1 [ByteCount] cuMemcpyDtoDAsync_v2 cuMemcpyDtoDAsync_v2_ptsz;
    Peer sync 1 [ByteCount] cuMemcpyPeer cuMemcpyPeer_ptds;
    Peer async 1 [ByteCount] cuMemcpyPeerAsync cuMemcpyPeerAsync_ptsz;
    Unsaid sync 1 []
        cuMemcpy2D_v2 cuMemcpy2D_v2_ptds cuMemcpy2DUnaligned_v2 cuMemcpy2DUnaligned_v2_ptds cuMemcpy3D_v2
        cuMemcpy3D_v2_ptds;
    Peer sync 1 [] cuMemcpy3DPeer cuMemcpy3DPeer_ptds;
    Unsaid async 1 []
        cuMemcpy2DAsync_v2 cuMemcpy2DAsync_v2_ptsz cuMemcpy3DAsync_v2 cuMemcpy3DAsync_v2_ptsz cuMemcpyBatchAsync
        cuMemcpyBatchAsync_ptsz cuMemcpyBatchAsync_v2 cuMemcpyBatchAsync_v2_ptsz cuMemcpy3DBatchAsync
        cuMemcpy3DBatchAsync_ptsz cuMemcpy3DBatchAsync_v2 cuMemcpy3DBatchAsync_v2_ptsz cuMemcpy3DWithAttributesAsync
        cuMemcpy3DWithAttributesAsync_ptsz;
    Unsaid async 1 [size] cuMemcpyWithAttributesAsync cuMemcpyWithAttributesAsync_ptsz;
    Peer async 1 [] cuMemcpy3DPeerAsync cuMemcpy3DPeerAsync_ptsz;
}

/// The functions that launch a graph.
const GRAPH_LAUNCHES: &[&str] = &[
    "cudaGraphLaunch",
    "cudaGraphLaunch_ptsz",
    "cuGraphLaunch",
    "cuGraphLaunch_ptsz",
    "hipGraphLaunch",
    "hipGraphLaunch_spt",
];

impl Work {
    /// The work of the function with this class and exported name.
    pub const fn of(class: Class, name: &str) -> Work {
        match class {
            Class::launch => Work::Kernel,
            Class::region | Class::map => Work::Region,
            Class::graph if stands(GRAPH_LAUNCHES, name) => Work::Graph,
            Class::copy | Class::memory => match transfer(name) {
                Some(transfer) => Work::Transfer(transfer),
                None => Work::Nothing,
            },
            _ => Work::Nothing,
        }
    }

    /// The work of the driver's function with this exported name, hooked or not.
    pub fn of_driver(name: &str) -> Work {
        match DRIVER.iter().find(|function| function.name == name) {
            Some(function) => function.work,
            None => transfer(name).map_or(Work::Nothing, Work::Transfer),
        }
    }

    /// Whether calls put anything on a GPU.
    pub const fn is_some(self) -> bool {
        !matches!(self, Work::Nothing)
    }
}

/// The transfer of the function with this exported name, if it has one.
pub const fn transfer(name: &str) -> Option<Transfer> {
    let mut rows = TRANSFERS;
    while let [(transfer, names), rest @ ..] = rows {
        if stands(names, name) {
            return Some(*transfer);
        }
        rows = rest;
    }
    None
}

/// Whether the function with this exported name launches a graph.
pub fn launches_graph(name: &str) -> bool {
    stands(GRAPH_LAUNCHES, name)
}

/// Whether a stream of 0 means the calling thread's own default stream (CUDA Runtime API, "Stream
/// synchronization behavior"): forms with a stream argument end in `_ptsz`. Those without one end
/// in `_ptds`. HIP's end in `_spt`, with one or not.
pub const fn has_own_stream(name: &str) -> bool {
    let name = name.as_bytes();
    let cuda = matches!(name.split_last_chunk::<5>(), Some((_, end)) if same(end, b"_ptsz"));
    cuda || matches!(name.split_last_chunk::<4>(), Some((_, end)) if same(end, b"_spt"))
}

/// The function's name in the manual, shared by all its forms: `cudaMemcpy` for `cudaMemcpy_ptds`.
/// The endings choose the default stream ([`has_own_stream`]); `__cudaLaunchKernel` is what
/// `<<<>>>` calls from CUDA 13 on.
pub const fn manual_name(name: &'static str) -> &'static str {
    let rest = match name.as_bytes().split_last_chunk::<5>() {
        Some((rest, end)) if same(end, b"_ptsz") || same(end, b"_ptds") => rest,
        _ => match name.as_bytes().split_last_chunk::<4>() {
            Some((rest, end)) if same(end, b"_spt") => rest,
            _ => name.as_bytes(),
        },
    };
    if same(rest, b"__cudaLaunchKernel") {
        return "cudaLaunchKernel";
    }
    match std::str::from_utf8(rest) {
        Ok(name) => name,
        Err(_) => name,
    }
}

const fn stands(names: &[&str], name: &str) -> bool {
    let mut names = names;
    while let [first, rest @ ..] = names {
        if same(first.as_bytes(), name.as_bytes()) {
            return true;
        }
        names = rest;
    }
    false
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let (mut a, mut b) = (a, b);
    while let ([x, a_rest @ ..], [y, b_rest @ ..]) = (a, b) {
        if *x != *y {
            return false;
        }
        (a, b) = (a_rest, b_rest);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Function, HIP, RUNTIME, all_driver};

    fn all() -> impl Iterator<Item = &'static Function> {
        RUNTIME.iter().chain(&DRIVER).chain(&HIP)
    }

    #[test]
    fn rows_and_tables_name_the_same_functions() {
        let named = TRANSFERS.iter().flat_map(|(_, names)| *names).chain(GRAPH_LAUNCHES);
        for name in named {
            let hooked = all().any(|f| f.name == *name && f.work.is_some());
            let known = all_driver().any(|f| f.name == *name) && all().all(|f| f.name != *name);
            assert!(hooked || known, "{name} is not hooked and no function of the driver's");
        }
        for f in all() {
            let sets = f.class == Class::memory && f.name.contains("emset");
            let transfers = f.class == Class::copy || sets;
            assert_eq!(matches!(f.work, Work::Transfer(_)), transfers, "{}", f.name);
            let launches = f.class == Class::graph && f.name.contains("GraphLaunch");
            assert_eq!(f.work == Work::Graph, launches, "{}", f.name);
        }
    }

    /// The rows must match CUDA's naming of its functions.
    #[test]
    fn rows_are_as_names_and_arguments_say() {
        for f in all() {
            let Work::Transfer(transfer) = f.work else { continue };
            let name = f.name;
            assert_eq!(transfer.is_async, name.contains("Async"), "{name}");
            assert_eq!(transfer.direction == Direction::Set, name.contains("emset"), "{name}");
            assert_eq!(transfer.direction == Direction::Peer, name.contains("Peer"), "{name}");
            for (word, direction) in [
                ("HtoD", Direction::HostToDevice),
                ("HtoA", Direction::HostToDevice),
                ("DtoH", Direction::DeviceToHost),
                ("AtoH", Direction::DeviceToHost),
                ("DtoD", Direction::DeviceToDevice),
            ] {
                assert!(!name.contains(word) || transfer.direction == direction, "{name}");
            }
            let unit = if name.contains("D32") { 4 } else { 1 + u64::from(name.contains("D16")) };
            assert_eq!(transfer.unit, unit, "{name}");
            for size in transfer.size {
                let found = f.args.iter().find(|arg| arg.name == *size);
                assert!(found.is_some_and(|arg| arg.words == 1), "{name} has no {size}");
            }
        }
    }

    /// CUPTI 12.9 and 13.0's names for driver functions with work are exported names; the forms with 32-bit addresses
    /// are left out, as no runtime calls them.
    #[test]
    fn driver_functions_with_work_are_known_hooked_or_not() {
        let begins = ["cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset"];
        for name in all_driver().map(|f| f.name) {
            let named = begins.iter().any(|begin| name.starts_with(begin));
            let old = all_driver().any(|f| f.name.strip_suffix("_v2") == Some(name));
            let host = name.starts_with("cuLaunchHostFunc");
            let work = Work::of_driver(name);
            assert!(!work.is_some() || named && !host, "{name} does {work:?}");
            assert!(work.is_some() || !named || old || host, "{name} has no row");
        }
        for name in ["cuMemcpy3DBatchAsync", "cuMemcpy3DBatchAsync_v2_ptsz"] {
            assert!(Work::of_driver(name).is_some(), "{name}");
        }
        assert_eq!(Work::of_driver("cuLaunchKernel_ptsz"), Work::Kernel);
        assert_eq!(Work::of_driver("cuLaunchHostFunc"), Work::Nothing);
    }

    #[test]
    fn forms_share_the_manuals_name() {
        for (name, manual) in [
            ("__cudaLaunchKernel", "cudaLaunchKernel"),
            ("__cudaLaunchKernel_ptsz", "cudaLaunchKernel"),
            ("cudaLaunchKernelExC_ptsz", "cudaLaunchKernelExC"),
            ("cudaMemcpy_ptds", "cudaMemcpy"),
            ("cuLaunchKernel", "cuLaunchKernel"),
            ("cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD_v2"),
            ("hipMemcpy_spt", "hipMemcpy"),
        ] {
            assert_eq!(manual_name(name), manual);
        }
        for f in all() {
            assert_eq!(manual_name(f.manual), f.manual, "{}", f.name);
        }
    }

    #[test]
    fn forms_for_the_threads_own_stream() {
        assert!(has_own_stream("cudaLaunchKernel_ptsz") && has_own_stream("cuGraphLaunch_ptsz"));
        assert!(!has_own_stream("cudaMemcpy_ptds") && !has_own_stream("ptsz"));
        assert!(!has_own_stream("cudaLaunchKernel"));
        for f in all().filter(|f| f.own_stream) {
            let form = ["_ptsz", "_spt"].iter().find_map(|end| f.name.strip_suffix(end));
            let other = form.unwrap();
            assert!(all().any(|f| f.name == other), "{other}");
        }
    }
}
