//! The bodies of the fuzz targets for virtual CUDA, one function for each target.
//!
//! A function panics only if the code under test breaks a promise.

use std::sync::OnceLock;

use cushim_abi::types::*;
use vcuda::accelerator::ImageKind;
use vcuda::api;
use vcuda::code::{Source, Target, choose};
use vcuda::driver::{function_api, launch};

const PAGE: usize = 4096;

/// A copy of some bytes at the very end of a mapping: a read beyond them faults.
struct Edge {
    base: *mut u8,
    mapped: usize,
    start: usize,
}

impl Edge {
    fn of(data: &[u8]) -> Option<Edge> {
        let mapped = data.len().next_multiple_of(PAGE).max(PAGE);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping; the page after it is unmapped.
        unsafe {
            let base = libc::mmap(std::ptr::null_mut(), mapped + PAGE, access, flags, -1, 0);
            if base == libc::MAP_FAILED {
                return None;
            }
            let base = base.cast::<u8>();
            libc::munmap(base.add(mapped).cast(), PAGE);
            let start = mapped - data.len();
            base.add(start).copy_from_nonoverlapping(data.as_ptr(), data.len());
            Some(Edge { base, mapped, start })
        }
    }

    fn address(&self) -> usize {
        self.base.expose_provenance() + self.start
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours.
        unsafe { libc::munmap(self.base.cast(), self.mapped) };
    }
}

/// Any bytes as a device image in memory: nothing after them is read, and an image is chosen or refused.
pub fn image(data: &[u8]) {
    // The driver trusts a wrapper's pointers: random ones would fault.
    if data.starts_with(&0x4662_43b1u32.to_le_bytes()) {
        return;
    }
    let Some(edge) = Edge::of(data) else { return };
    // SAFETY: memory that stays valid during the call.
    let Ok(source) = (unsafe { Source::at(edge.address()) }) else { return };
    assert!(source.whole.len() <= data.len());
    let cpu = Target { capability: (8, 0), cubin: false, ptx: true, later: true, isas: &[] };
    for target in [cpu, Target::nvidia(9, 0)] {
        match choose(&source, &target) {
            Ok(chosen) => assert!(target.cubin || chosen.kind != ImageKind::Cubin),
            Err(error) => assert!(!error.to_string().is_empty() && error.status() != 0),
        }
    }
}

const PTX: &std::ffi::CStr = c".version 7.0\n.target sm_80\n.address_size 64\n\
    .visible .entry k (.param .u32 a, .param .align 8 .b8 b[20], .param .u8 c) { ret; }\n";
/// Bytes of the kernel's parameters.
const PARAMS: usize = 29;

fn kernel() -> Func {
    static KERNEL: OnceLock<usize> = OnceLock::new();
    Func(*KERNEL.get_or_init(|| {
        let (mut context, mut module, mut kernel) = (Context(0), Module(0), Func(0));
        // SAFETY: places for the results, and text that stays valid; no other thread runs yet.
        unsafe {
            std::env::set_var("CUSHIM_BACKEND", "cpu");
            assert_eq!(api::cuInit(Flags(0)), 0);
            assert_eq!(api::cuDevicePrimaryCtxRetain(Out(&raw mut context), Device(0)), 0);
            assert_eq!(api::cuCtxSetCurrent(context), 0);
            let image = Ptr(PTX.as_ptr().expose_provenance());
            assert_eq!(api::cuModuleLoadData(Out(&raw mut module), image), 0);
            let name = Str(c"k".as_ptr().expose_provenance());
            assert_eq!(api::cuModuleGetFunction(Out(&raw mut kernel), module, name), 0);
        }
        kernel.0
    }))
}

/// Any shape, argument buffer and attribute for a kernel of cushim's driver: a status, never a fault.
pub fn launch(data: &[u8]) {
    let word = |n: usize| {
        let bytes = data.get(n * 4..n * 4 + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    };
    // Small and large values are equally likely.
    let side = |n: usize| word(n) >> (word(7 + n / 4) >> (n % 4 * 8) & 31);
    let handle = kernel();
    let Ok(found) = function_api::of(handle) else { panic!("the kernel is not found any more") };
    let buffer = data.get(36..).unwrap_or_default();
    let Some(edge) = Edge::of(buffer) else { return };
    let size = buffer.len();
    let extra = [1, edge.address(), 2, (&raw const size).expose_provenance(), 0];
    let asked = launch::LaunchCall {
        function: handle,
        grid: [side(0), side(1), side(2)],
        block: [side(3), side(4), side(5)],
        shared: side(6),
        cluster: None,
        cooperative: word(8) >> 31 != 0,
        params: Ptr(0),
        extra: Ptr(extra.as_ptr().expose_provenance()),
    };
    // SAFETY: a list in CUDA's format. The launch is only checked.
    match unsafe { launch::prepare(&found, &asked) } {
        Ok(work) => {
            assert_eq!(size, PARAMS);
            assert_eq!(work.arguments.get(..PARAMS), Some(buffer));
        }
        // 912: an attribute that was set before gives the kernel clusters.
        Err(code) => assert!([1, 701, 720, 912].contains(&code), "{code}"),
    }
    let (number, value) = (word(0) as i32 % 20, side(1) as i32);
    let (mut got, mut grid) = (0, 0);
    // SAFETY: places for the results.
    unsafe {
        let set = api::cuFuncSetAttribute(handle, number, value);
        let get = api::cuFuncGetAttribute(Out(&raw mut got), number, handle);
        assert!(set == 1 || (get == 0 && got == value), "attribute {number} = {value}");
        let (blocks, grid, bytes) = (Out(&raw mut got), Out(&raw mut grid), side(2) as usize);
        api::cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, handle, value, bytes);
        api::cuOccupancyMaxPotentialBlockSize(grid, blocks, handle, Ptr(0), bytes, value % 2048);
    }
}
