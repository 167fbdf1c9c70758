//! The driver calls that a runtime copy makes, over a test driver.

use std::cell::RefCell;

use cushim_abi::index::Driver;
use cushim_abi::types::*;

use super::array::*;
use super::fill::*;
use super::linear::*;
use super::planes::*;
use crate::error::take_last;
use crate::forward::{address, address_mut};
use crate::layout::*;
use crate::testing::with_driver;

thread_local! {
    /// What reached the driver.
    static SEEN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn see(what: String) -> i32 {
    SEEN.with_borrow_mut(|seen| seen.push(what));
    0
}

fn seen() -> Vec<String> {
    SEEN.take()
}

/// A function of the driver that says its name and its words.
macro_rules! fake {
    ($($name:ident ($($arg:ident : $type:ty),*);)*) => {$(
        #[allow(non_snake_case)]
        unsafe extern "C" fn $name($($arg: $type),*) -> i32 {
            let words: &[String] = &[$(format!("{}", word(&$arg))),*];
            see(format!("{} {}", stringify!($name), words.join(" ")))
        }
    )*};
}

/// The first word of an argument.
fn word<T: cushim_abi::types::Arg + Copy>(value: &T) -> u64 {
    let mut word = [0];
    value.words(&mut word);
    word[0]
}

fake! {
    cuMemcpy (dst: Ptr, src: Ptr, count: usize);
    cuMemcpyHtoD_v2 (dst: Ptr, src: Ptr, count: usize);
    cuMemcpyDtoH_v2_ptds (dst: Ptr, src: Ptr, count: usize);
    cuMemcpyDtoDAsync_v2 (dst: Ptr, src: Ptr, count: usize, stream: Stream);
    cuMemsetD2D8_v2 (dst: Ptr, pitch: usize, value: i32, width: usize, height: usize);
}

unsafe extern "C" fn copy_2d(copy: Ptr) -> i32 {
    // SAFETY: the runtime's own structure.
    let copy = unsafe { read::<DriverMemcpy2D>(copy) }.unwrap_or_default();
    let side = |side: &Side2D| {
        let at = side.host + side.device + side.array;
        format!("{}:{at}+{},{}/{}", side.memory, side.x, side.y, side.pitch)
    };
    see(format!("{} -> {} {}x{}", side(&copy.src), side(&copy.dst), copy.width, copy.height))
}

unsafe extern "C" fn copy_3d(copy: Ptr) -> i32 {
    // SAFETY: the runtime's own structure.
    let copy = unsafe { read::<DriverMemcpy3D>(copy) }.unwrap_or_default();
    see(format!(
        "{}:{} x{} -> {}:{} x{} {}x{}x{}",
        copy.src.memory,
        copy.src.array + copy.src.host + copy.src.device,
        copy.src.x,
        copy.dst.memory,
        copy.dst.array + copy.dst.host + copy.dst.device,
        copy.dst.x,
        copy.width,
        copy.height,
        copy.depth
    ))
}

/// Arrays of the driver hold rows of ten float4.
unsafe extern "C" fn descriptor(to: Ptr, _: Ptr) -> i32 {
    let found =
        ArrayDescriptor { width: 10, height: 4, depth: 0, format: 0x20, channels: 4, flags: 0 };
    // SAFETY: the runtime's place for it.
    unsafe {
        std::ptr::with_exposed_provenance_mut::<ArrayDescriptor>(to.0).write_unaligned(found);
    }
    0
}

#[test]
fn a_direction_is_a_function_of_the_driver() {
    let _driver = with_driver(&[
        (Driver::cuMemcpy, cuMemcpy as *const ()),
        (Driver::cuMemcpyHtoD_v2, cuMemcpyHtoD_v2 as *const ()),
        (Driver::cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH_v2_ptds as *const ()),
        (Driver::cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2 as *const ()),
    ]);
    // SAFETY: nothing is dereferenced.
    unsafe {
        assert_eq!(cudaMemcpy::<12>(Ptr(1), Ptr(2), 3, CopyKind(4)), 0);
        assert_eq!(cudaMemcpy::<12>(Ptr(1), Ptr(2), 3, CopyKind(1)), 0);
        assert_eq!(cudaMemcpy_ptds::<12>(Ptr(1), Ptr(2), 3, CopyKind(2)), 0);
        assert_eq!(cudaMemcpyAsync_ptsz::<12>(Ptr(1), Ptr(2), 3, CopyKind(3), Stream(0)), 0);
        assert_eq!(cudaMemcpy::<12>(Ptr(1), Ptr(2), 3, CopyKind(5)), 21);
        assert_eq!(cudaMemcpy::<12>(Ptr(1), Ptr(2), 3, CopyKind(-1)), 21);
    }
    assert_eq!(take_last(), 21);
    let expected = [
        "cuMemcpy 1 2 3",
        "cuMemcpyHtoD_v2 1 2 3",
        "cuMemcpyDtoH_v2_ptds 1 2 3",
        "cuMemcpyDtoDAsync_v2 1 2 3 2",
    ];
    assert_eq!(seen(), expected);
}

#[test]
fn rows_are_a_2d_copy_with_kinds_of_memory() {
    let _driver = with_driver(&[(Driver::cuMemcpy2DUnaligned_v2, copy_2d as *const ())]);
    // SAFETY: nothing is dereferenced.
    unsafe {
        assert_eq!(cudaMemcpy2D::<13>(Ptr(50), 16, Ptr(60), 32, 12, 3, CopyKind(1)), 0);
        assert_eq!(cudaMemcpy2D::<13>(Ptr(50), 8, Ptr(60), 32, 12, 3, CopyKind(1)), 12);
        assert_eq!(cudaMemcpy2D::<13>(Ptr(50), 16, Ptr(60), 32, 0, 3, CopyKind(1)), 0);
    }
    assert_eq!(take_last(), 12);
    assert_eq!(seen(), ["1:60+0,0/32 -> 2:50+0,0/16 12x3"]);
}

#[test]
fn a_run_of_bytes_through_an_array_is_as_few_rectangles_as_can_be() {
    let _driver = with_driver(&[
        (Driver::cuMemcpy2DUnaligned_v2, copy_2d as *const ()),
        (Driver::cuArray3DGetDescriptor_v2, descriptor as *const ()),
    ]);
    // Rows of 160 bytes: 60 to the end of the first, one whole, and 30.
    // SAFETY: nothing is dereferenced.
    unsafe {
        assert_eq!(cudaMemcpyToArray::<11>(Ptr(7), 100, 1, Ptr(1000), 250, CopyKind(1)), 0);
        assert_eq!(cudaMemcpyFromArray::<11>(Ptr(1000), Ptr(7), 0, 0, 320, CopyKind(2)), 0);
        assert_eq!(cudaMemcpyToArray::<11>(Ptr(7), 161, 1, Ptr(1000), 250, CopyKind(1)), 1);
    }
    take_last();
    let expected = [
        "1:1000+0,0/60 -> 3:7+100,1/0 60x1",
        "1:1060+0,0/160 -> 3:7+0,2/0 160x1",
        "1:1220+0,0/30 -> 3:7+0,3/0 30x1",
        "3:7+0,0/0 -> 1:1000+0,0/160 160x2",
    ];
    assert_eq!(seen(), expected);
}

#[test]
fn elements_of_arrays_become_bytes_and_elements_again() {
    let _driver = with_driver(&[
        (Driver::cuMemcpy3D_v2, copy_3d as *const ()),
        (Driver::cuArray3DGetDescriptor_v2, descriptor as *const ()),
    ]);
    let mut parms = Memcpy3DParms {
        src_ptr: PitchedPtr { ptr: 4096, pitch: 64, xsize: 64, ysize: 4 },
        dst_array: 7,
        dst_pos: Pos { x: 2, y: 1, z: 0 },
        extent: Extent { width: 3, height: 2, depth: 1 },
        kind: 1,
        ..Memcpy3DParms::default()
    };
    // SAFETY: a structure of the test.
    assert_eq!(unsafe { cudaMemcpy3D::<12>(address(&parms)) }, 0);
    assert_eq!(seen(), ["1:4096 x0 -> 3:7 x32 48x2x1"]);
    assert_eq!(to_driver(&parms).and_then(|copy| from_driver(&copy)), Ok(parms));

    parms.dst_ptr.ptr = 1;
    // SAFETY: a structure of the test.
    assert_eq!(unsafe { cudaMemcpy3D::<12>(address_mut(&mut parms)) }, 1, "both array and address");
    // SAFETY: a null pointer, which is not followed.
    assert_eq!(unsafe { cudaMemcpy3D::<12>(Ptr(0)) }, 1);
    take_last();
}

#[test]
fn planes_without_gaps_are_filled_at_once() {
    let _driver = with_driver(&[(Driver::cuMemsetD2D8_v2, cuMemsetD2D8_v2 as *const ())]);
    let at = PitchedPtr { ptr: 1000, pitch: 10, xsize: 8, ysize: 3 };
    // SAFETY: nothing is dereferenced.
    unsafe {
        let extent = Extent { width: 8, height: 3, depth: 2 };
        assert_eq!(cudaMemset3D::<12>(at, 7, extent), 0);
        assert_eq!(cudaMemset3D::<12>(at, 7, Extent { height: 2, ..extent }), 0);
        assert_eq!(cudaMemset3D::<12>(at, 7, Extent { width: 0, ..extent }), 0);
        assert_eq!(cudaMemset3D::<12>(at, 7, Extent { height: 4, ..extent }), 1);
    }
    take_last();
    let expected = [
        "cuMemsetD2D8_v2 1000 10 7 8 6",
        "cuMemsetD2D8_v2 1000 10 7 8 2",
        "cuMemsetD2D8_v2 1030 10 7 8 2",
    ];
    assert_eq!(seen(), expected);
}
