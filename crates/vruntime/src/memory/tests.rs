//! What the runtime adds to the driver's allocations, over a test driver.

use std::cell::Cell;

use cushim_abi::index::Driver;
use cushim_abi::types::*;

use super::device::*;
use super::peer::*;
use crate::error::take_last;
use crate::forward::address_mut;
use crate::layout::{PointerAttributes, PointerAttributesTail};
use crate::testing::{PRIMARY, with_driver};

thread_local! {
    static SEEN: Cell<usize> = const { Cell::new(0) };
}

unsafe extern "C" fn allocate(at: Out<Ptr>, bytes: usize) -> i32 {
    if bytes > 1 << 20 {
        return 2;
    }
    // SAFETY: the caller's place for it.
    unsafe { at.0.write(Ptr(0x7000)) };
    0
}

unsafe extern "C" fn allocate_rows(
    at: Out<Ptr>,
    pitch: Out<usize>,
    width: usize,
    rows: usize,
    _: u32,
) -> i32 {
    SEEN.set(rows);
    // SAFETY: the caller's places for them.
    unsafe {
        at.0.write(Ptr(0x8000));
        pitch.0.write(width.next_multiple_of(512));
    }
    0
}

unsafe extern "C" fn free_async(_: Ptr, stream: Stream) -> i32 {
    SEEN.set(stream.0);
    0
}

unsafe extern "C" fn enable_peer(peer: Context, _: Flags) -> i32 {
    SEEN.set(peer.0);
    0
}

unsafe extern "C" fn attributes(_: u32, _: Ptr, _: Ptr, _: Ptr) -> i32 {
    0
}

unsafe extern "C" fn free(at: Ptr) -> i32 {
    i32::from(at.0 != 0)
}

#[test]
fn no_bytes_are_allocated_as_null_and_failures_leave_the_output() {
    let _driver = with_driver(&[
        (Driver::cuMemAlloc_v2, allocate as *const ()),
        (Driver::cuMemFree_v2, free as *const ()),
    ]);
    let mut at = Ptr(1);
    // SAFETY: places of the test; null where that is asked for.
    unsafe {
        assert_eq!((cudaMalloc::<13>(Out(&mut at), 0), at), (0, Ptr(0)));
        assert_eq!((cudaMalloc::<13>(Out(&mut at), 64), at), (0, Ptr(0x7000)));
        assert_eq!((cudaMalloc::<13>(Out(&mut at), 1 << 30), at), (2, Ptr(0x7000)));
        assert_eq!(take_last(), 2);
        assert_eq!(cudaMalloc::<11>(Out(std::ptr::null_mut()), 0), 1);
        assert_eq!(take_last(), 1);
        assert_eq!((cudaFree::<12>(Ptr(0)), take_last()), (0, 0));
    }
}

#[test]
fn planes_are_rows_of_one_allocation() {
    let _driver = with_driver(&[(Driver::cuMemAllocPitch_v2, allocate_rows as *const ())]);
    let mut made = PitchedPtr::default();
    let extent = Extent { width: 100, height: 3, depth: 5 };
    // SAFETY: a cudaPitchedPtr, as the function is declared in C.
    let status = unsafe { cudaMalloc3D::<12>(Out((&raw mut made).cast()), extent) };
    let expected = PitchedPtr { ptr: 0x8000, pitch: 512, xsize: 100, ysize: 3 };
    assert_eq!((status, made, SEEN.get()), (0, expected, 15));
}

#[test]
fn the_per_thread_form_replaces_only_the_default_stream() {
    let _driver = with_driver(&[(Driver::cuMemFreeAsync, free_async as *const ())]);
    for (stream, plain, mapped) in [(0, 0, 2), (1, 1, 1), (77, 77, 77)] {
        // SAFETY: nothing is dereferenced.
        unsafe {
            assert_eq!(cudaFreeAsync::<12>(Ptr(1), Stream(stream)), 0);
            assert_eq!(SEEN.get(), plain);
            assert_eq!(cudaFreeAsync_ptsz::<12>(Ptr(1), Stream(stream)), 0);
            assert_eq!(SEEN.get(), mapped);
        }
    }
}

#[test]
fn a_peer_is_its_primary_context() {
    let _driver = with_driver(&[(Driver::cuCtxEnablePeerAccess, enable_peer as *const ())]);
    // SAFETY: no pointers.
    unsafe {
        assert_eq!(
            (cudaDeviceEnablePeerAccess::<12>(Device(1), Flags(0)), SEEN.get()),
            (0, PRIMARY + 1)
        );
        assert_eq!(cudaDeviceEnablePeerAccess::<12>(Device(2), Flags(0)), 101);
        assert_eq!(cudaDeviceEnablePeerAccess::<12>(Device(1), Flags(1)), 1);
    }
}

#[test]
fn attributes_end_where_the_major_ends_them() {
    let _driver = with_driver(&[(Driver::cuPointerGetAttributes, attributes as *const ())]);
    #[repr(C)]
    struct Long {
        known: PointerAttributes,
        tail: PointerAttributesTail,
    }
    for (major, untouched) in [(12, true), (13, false)] {
        let mut got = Long {
            known: PointerAttributes::default(),
            tail: PointerAttributesTail { locality_domain: 5, reserved: [5; 7] },
        };
        let at = address_mut(&mut got);
        // SAFETY: room for the longest form.
        let status = unsafe {
            if major == 12 {
                cudaPointerGetAttributes::<12>(at, Ptr(0x99))
            } else {
                cudaPointerGetAttributes::<13>(at, Ptr(0x99))
            }
        };
        let host = PointerAttributes { kind: 0, device: -2, device_pointer: 0, host_pointer: 0x99 };
        assert_eq!((status, got.known), (0, host));
        assert_eq!(got.tail.locality_domain == 5, untouched);
        assert_eq!(got.tail.reserved == [5; 7], untouched);
    }
}
