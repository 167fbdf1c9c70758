//! The launches that the driver receives, and the runtime's errors for its refusals.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering};

use cushim_abi::index::Driver;
use cushim_abi::structs::{DriverLaunchConfig, LaunchConfig};
use cushim_abi::types::*;

use super::*;
use crate::error::{self, code};
use crate::forward::address;
use crate::registry;
use crate::testing::with_driver;
use cushim_accel::locks::lock;

/// What reached the driver: kernel, grid, block, shared memory, stream, arguments.
type Seen = (usize, [u32; 3], [u32; 3], u32, usize, usize);

static SEEN: Mutex<Vec<Seen>> = Mutex::new(Vec::new());
static ANSWER: AtomicI32 = AtomicI32::new(0);

unsafe extern "C" fn launch(
    f: Func,
    gx: u32,
    gy: u32,
    gz: u32,
    bx: u32,
    by: u32,
    bz: u32,
    shared: u32,
    stream: Stream,
    args: Ptr,
    _: Ptr,
) -> i32 {
    lock(&SEEN).push((f.0, [gx, gy, gz], [bx, by, bz], shared, stream.0, args.0));
    ANSWER.load(Ordering::Relaxed)
}

unsafe extern "C" fn launch_ex(config: Ptr, f: Func, args: Ptr, _: Ptr) -> i32 {
    // SAFETY: a configuration of the caller.
    let c = unsafe { std::ptr::with_exposed_provenance::<DriverLaunchConfig>(config.0).read() };
    let sides = |d: Dim3| [d.x, d.y, d.z];
    lock(&SEEN).push((f.0, sides(c.grid), sides(c.block), c.shared, c.stream, args.0));
    ANSWER.load(Ordering::Relaxed)
}

fn dim(x: u32, y: u32, z: u32) -> Dim3 {
    Dim3 { x, y, z }
}

const KERNEL: usize = 0x5150;
const ONE: Dim3 = Dim3 { x: 1, y: 1, z: 1 };

#[test]
fn launches_reach_the_driver_as_they_are() {
    let _driver = with_driver(&[
        (Driver::cuLaunchKernel, launch as *const ()),
        (Driver::cuLaunchKernelEx, launch_ex as *const ()),
    ]);
    registry::know_handle(KERNEL);
    ANSWER.store(0, Ordering::Relaxed);
    lock(&SEEN).clear();
    let (kernel, args) = (Func(KERNEL), Ptr(0x77));
    let config = LaunchConfig {
        grid: dim(7, 8, 9),
        block: dim(4, 1, 1),
        shared: 16,
        stream: 0,
        attributes: 0,
        attribute_count: 0,
    };
    // SAFETY: nothing follows the arguments here.
    unsafe {
        let grid = dim(2, 3, 4);
        assert_eq!(cudaLaunchKernel::<12>(kernel, grid, dim(5, 6, 1), args, 99, Stream(0)), 0);
        assert_eq!(__cudaLaunchKernel_ptsz::<13>(kernel, grid, ONE, args, 0, Stream(0)), 0);
        assert_eq!(cudaLaunchKernel_ptsz::<12>(kernel, grid, ONE, args, 0, Stream(0x900)), 0);
        let config = address(&config);
        assert_eq!(cudaLaunchKernelExC::<12>(config, kernel, args), 0);
        assert_eq!(cudaLaunchKernelExC_ptsz::<12>(config, kernel, args), 0);
        assert_eq!(cudaLaunchKernelExC::<12>(Ptr(0), kernel, args), code::INVALID_VALUE);
    }
    assert_eq!(
        *lock(&SEEN),
        [
            (KERNEL, [2, 3, 4], [5, 6, 1], 99, 0, 0x77),
            (KERNEL, [2, 3, 4], [1, 1, 1], 0, 2, 0x77),
            (KERNEL, [2, 3, 4], [1, 1, 1], 0, 0x900, 0x77),
            (KERNEL, [7, 8, 9], [4, 1, 1], 16, 0, 0x77),
            (KERNEL, [7, 8, 9], [4, 1, 1], 16, 2, 0x77),
        ]
    );
    assert_eq!(error::take_last(), code::INVALID_VALUE);
}

#[test]
fn a_wrong_shape_is_refused_by_the_runtime_until_12() {
    let _driver = with_driver(&[(Driver::cuLaunchKernel, launch as *const ())]);
    registry::know_handle(KERNEL);
    // SAFETY: nothing follows the arguments here.
    let launch = |grid, block| unsafe {
        cudaLaunchKernel::<12>(Func(KERNEL), grid, block, Ptr(0), 0, Stream(0))
    };
    ANSWER.store(0, Ordering::Relaxed);
    lock(&SEEN).clear();
    for (grid, block) in [
        (dim(0, 1, 1), ONE),
        (ONE, dim(1, 1, 0)),
        (ONE, dim(1025, 1, 1)),
        (ONE, dim(1024, 2, 1)),
        (ONE, dim(1, 1, 65)),
        (dim(1, 65_536, 1), ONE),
        (dim(1 << 31, 1, 1), ONE),
    ] {
        let status = launch(grid, block);
        assert_eq!(status, code::INVALID_CONFIGURATION, "{grid:?} {block:?}");
        assert_eq!(error::take_last(), code::INVALID_CONFIGURATION);
    }
    assert_eq!(lock(&SEEN).len(), 0);
    assert_eq!(launch(dim(i32::MAX as u32, 65_535, 65_535), dim(16, 1, 64)), 0);
    assert_eq!(lock(&SEEN).len(), 1);
    ANSWER.store(1, Ordering::Relaxed);
    // SAFETY: no arguments, and nothing follows them here.
    let later =
        unsafe { cudaLaunchKernel::<13>(Func(KERNEL), dim(0, 1, 1), ONE, Ptr(0), 0, Stream(0)) };
    assert_eq!((later, lock(&SEEN).len()), (code::INVALID_VALUE, 2));
    // SAFETY: no arguments, and nothing follows them here.
    let unknown = unsafe { cudaLaunchKernel::<12>(Func(0), ONE, ONE, Ptr(0), 0, Stream(0)) };
    assert_eq!(unknown, code::INVALID_DEVICE_FUNCTION);
    error::take_last();
}

#[test]
fn configurations_come_back_in_turn() {
    let (mut grid, mut block, mut shared, mut stream) = (ONE, ONE, 0_usize, Stream(0));
    let at = |of: usize| Ptr(of);
    // SAFETY: places for what is popped.
    unsafe {
        assert_eq!(__cudaPushCallConfiguration::<12>(dim(1, 2, 3), dim(4, 5, 6), 7, Stream(8)), 0);
        assert_eq!(__cudaPushCallConfiguration::<12>(dim(9, 9, 9), ONE, 0, Stream(0)), 0);
        let nowhere = at(0);
        assert_eq!(__cudaPopCallConfiguration::<12>(nowhere, nowhere, nowhere, nowhere), 0);
        let popped = __cudaPopCallConfiguration::<12>(
            at((&raw mut grid).expose_provenance()),
            at((&raw mut block).expose_provenance()),
            at((&raw mut shared).expose_provenance()),
            at((&raw mut stream).expose_provenance()),
        );
        assert_eq!(popped, 0);
        assert_eq!((grid, block, shared, stream), (dim(1, 2, 3), dim(4, 5, 6), 7, Stream(8)));
        let none = __cudaPopCallConfiguration::<12>(nowhere, nowhere, nowhere, nowhere);
        assert_eq!(none, code::MISSING_CONFIGURATION);
    }
    error::take_last();
}
