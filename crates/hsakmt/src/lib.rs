//! libhsakmt.so.1: the functions that AMD's runtime looks for, under their version.
//!
//! Owns: symbols and signatures, from hsakmt.h of version 5.2.3. Must not know: what implements them (crate `kfd`).

// It runs in other people's processes: see `guarded`.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

use cushim_kfd::{Fields, Status, event, guarded, memory, names, queue, topology};

/// One line for each function: an exported symbol with its version jumps to a function that no panic leaves.
macro_rules! exports {
    ($(fn $name:ident($($arg:ident: $type:ty),*) $body:block)*) => {
        $(
            // The arguments are as hsakmt.h declares them.
            #[allow(non_snake_case)]
            mod $name {
                #[allow(unused_imports)]
                use super::*;

                unsafe extern "C" fn function($($arg: $type),*) -> Status {
                    guarded(|| $body)
                }

                std::arch::global_asm!(
                    concat!(".globl cushim_", stringify!($name)),
                    concat!(".type cushim_", stringify!($name), ",@function"),
                    concat!("cushim_", stringify!($name), ":"),
                    "jmp {function}",
                    concat!(".size cushim_", stringify!($name), ", .-cushim_", stringify!($name)),
                    concat!(".symver cushim_", stringify!($name), ",", stringify!($name), "@@HSAKMT_1,remove"),
                    function = sym function,
                );
            }
        )*
    };
}

type Out = *mut u8;

// AMD's runtime passes pointers as hsakmt.h declares them; each SAFETY line says what that is.
exports! {
    fn hsaKmtOpenKFD() { Status::Success }
    fn hsaKmtCloseKFD() { Status::Success }
    fn hsaKmtRuntimeEnable(debug: u64, _traps: bool) {
        // Only the names for messages are taken from it: no debugger is supported.
        names::remember(debug);
        Status::NotSupported
    }
    fn hsaKmtRuntimeDisable() { Status::NotSupported }
    fn hsaKmtGetVersion(to: Out) {
        // SAFETY: an HsaVersionInfo.
        unsafe { Fields::<8>::new().u32(0, 1).u32(4, 11).write(to) }
    }
    fn hsaKmtAcquireSystemProperties(to: Out) {
        // SAFETY: an HsaSystemProperties, as hsakmt.h says.
        unsafe { topology::system(to) }
    }
    fn hsaKmtReleaseSystemProperties() { Status::Success }
    fn hsaKmtGetNodeProperties(node: u32, to: Out) {
        // SAFETY: an HsaNodeProperties, as hsakmt.h says.
        unsafe { topology::node(node, to) }
    }
    fn hsaKmtGetNodeMemoryProperties(node: u32, count: u32, to: Out) {
        // SAFETY: `count` HsaMemoryProperties, as hsakmt.h says.
        unsafe { topology::memory(node, count, to) }
    }
    fn hsaKmtGetNodeCacheProperties(node: u32, _processor: u32, count: u32, to: Out) {
        // SAFETY: `count` HsaCacheProperties, as hsakmt.h says.
        unsafe { topology::cache(node, count, to) }
    }
    fn hsaKmtGetNodeIoLinkProperties(node: u32, count: u32, to: Out) {
        // SAFETY: `count` HsaIoLinkProperties, as hsakmt.h says.
        unsafe { topology::links(node, count, to) }
    }
    fn hsaKmtGetTileConfig(node: u32, to: Out) {
        // SAFETY: an HsaGpuTileConfig, as hsakmt.h says.
        unsafe { topology::tiles(node, to) }
    }
    fn hsaKmtGetClockCounters(node: u32, to: Out) {
        // SAFETY: an HsaClockCounters, as hsakmt.h says.
        unsafe { topology::clocks(node, to) }
    }
    fn hsaKmtGetXNACKMode(to: *mut i32) {
        // SAFETY: a place for the mode, as hsakmt.h says.
        unsafe { Fields::<4>::new().write(to.cast()) }
    }
    fn hsaKmtSetXNACKMode(enable: i32) { if enable == 0 { Status::Success } else { Status::NotSupported } }
    fn hsaKmtCreateEvent(descriptor: *const u32, manual: bool, raised: bool, to: *mut Out) {
        if descriptor.is_null() {
            return Status::InvalidParameter;
        }
        // SAFETY: an HsaEventDescriptor, whose first field is the type.
        let kind = unsafe { descriptor.read_unaligned() };
        // SAFETY: a place for an HsaEvent pointer, as hsakmt.h says.
        unsafe { event::create(kind, manual, raised, memory::mailboxes(), to) }
    }
    fn hsaKmtDestroyEvent(event: Out) {
        // SAFETY: an event of hsaKmtCreateEvent, as hsakmt.h says.
        unsafe { event::destroy(event) }
    }
    fn hsaKmtSetEvent(event: Out) {
        // SAFETY: an event of hsaKmtCreateEvent, as hsakmt.h says.
        unsafe { event::set(event) }
    }
    fn hsaKmtWaitOnEvent(event: Out, milliseconds: u32) {
        // SAFETY: an event of hsaKmtCreateEvent, as hsakmt.h says.
        unsafe { event::wait(&event, 1, false, milliseconds) }
    }
    fn hsaKmtWaitOnMultipleEvents(events: *const Out, count: u32, all: bool, milliseconds: u32) {
        // SAFETY: `count` events of hsaKmtCreateEvent, as hsakmt.h says.
        unsafe { event::wait(events, count, all, milliseconds) }
    }
    fn hsaKmtAllocMemory(node: u32, bytes: u64, flags: u32, to: *mut u64) {
        // SAFETY: a place for an address, as hsakmt.h says.
        unsafe { memory::allocate(node, bytes, flags, to) }
    }
    fn hsaKmtFreeMemory(at: u64, _bytes: u64) { memory::free(at) }
    fn hsaKmtRegisterMemoryWithFlags(at: u64, bytes: u64, flags: u32) { memory::register(at, bytes, flags) }
    fn hsaKmtDeregisterMemory(at: u64) { memory::deregister(at) }
    fn hsaKmtMapMemoryToGPU(at: u64, bytes: u64, alternate: *mut u64) { mapped(at, bytes, alternate, memory::ALL) }
    fn hsaKmtMapMemoryToGPUNodes(at: u64, bytes: u64, alternate: *mut u64, _flags: u32, count: u64, nodes: *const u32) {
        // SAFETY: an array of `count` node numbers, as hsakmt.h says.
        mapped(at, bytes, alternate, unsafe { mask(count, nodes) })
    }
    fn hsaKmtUnmapMemoryToGPU(at: u64) { memory::unmap(at) }
    fn hsaKmtQueryPointerInfo(address: u64, to: Out) {
        // SAFETY: an HsaPointerInfo, as hsakmt.h says.
        unsafe { memory::query(address, to) }
    }
    fn hsaKmtSetMemoryUserData(address: u64, user: u64) { memory::set_user(address, user) }
    fn hsaKmtSetMemoryPolicy(_node: u32, _default: u32, _alternate: u32, _at: Out, _bytes: u64) { Status::Success }
    fn hsaKmtCreateQueue(node: u32, kind: u32, _percentage: u32, _priority: i32, ring: u64, bytes: u64, _event: Out, to: Out) {
        // SAFETY: an HsaQueueResource, as hsakmt.h says.
        unsafe { queue::create(node, kind, ring, bytes, to) }
    }
    fn hsaKmtUpdateQueue(id: u64, _percentage: u32, _priority: i32, _ring: u64, _bytes: u64, _event: Out) { queue::update(id) }
    fn hsaKmtDestroyQueue(id: u64) { queue::destroy(id) }
    fn hsaKmtSetQueueCUMask(id: u64, _count: u32, _mask: *const u32) { queue::update(id) }
    fn hsaKmtSetTrapHandler(_node: u32, _at: Out, _bytes: u64, _buffer: Out, _buffer_bytes: u64) { Status::Success }
    fn hsaKmtAllocQueueGWS(_id: u64, _count: u32, _first: *mut u32) { Status::NotSupported }
    fn hsaKmtRegisterGraphicsHandleToNodes(_handle: u64, _info: Out, _count: u64, _nodes: *const u32) { Status::NotSupported }
    fn hsaKmtShareMemory(_at: Out, _bytes: u64, _handle: Out) { Status::NotSupported }
    fn hsaKmtRegisterSharedHandle(_handle: Out, _at: Out, _bytes: Out) { Status::NotSupported }
    fn hsaKmtRegisterSharedHandleToNodes(_handle: Out, _at: Out, _bytes: Out, _count: u64, _nodes: *const u32) { Status::NotSupported }
    fn hsaKmtSVMSetAttr(_at: Out, _bytes: u64, _count: u32, _attributes: Out) { Status::NotSupported }
    fn hsaKmtSVMGetAttr(_at: Out, _bytes: u64, _count: u32, _attributes: Out) { Status::NotSupported }
}

/// A list of nodes as a mask; without one, all.
///
/// # Safety
///
/// `nodes` is null or holds `count` numbers.
unsafe fn mask(count: u64, nodes: *const u32) -> u32 {
    if nodes.is_null() || count == 0 {
        return memory::ALL;
    }
    // SAFETY: the caller's promise.
    (0..count as usize)
        .fold(0, |sum, i| sum | memory::bit(unsafe { nodes.add(i).read_unaligned() }))
}

/// Maps, and returns the same address for the GPU.
fn mapped(at: u64, bytes: u64, alternate: *mut u64, nodes: u32) -> Status {
    let status = memory::map(at, bytes, nodes);
    if status == Status::Success && !alternate.is_null() {
        // SAFETY: a place for an address, as hsakmt.h says.
        unsafe { alternate.write_unaligned(at) };
    }
    status
}
