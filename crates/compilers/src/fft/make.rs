//! Creates plans, and returns the sizes of their work areas.
//!
//! An estimated size is the size that the plan has.
//!
//! Owns: these functions and their arguments. Must not know: which arguments are valid (`crates/fft`).

use cushim_fft::kind::Kind;
use cushim_fft::made::Made;
use cushim_fft::plan::Plan;
use cushim_fft::status;

use super::handle::{self, Handle, answer, write};

type Planned = Result<Plan, i32>;

/// A plan of contiguous transforms, of a `cufftType`.
fn contiguous(lengths: &[i32], ty: i32, batch: i32) -> Planned {
    let kind = Kind::of(ty).ok_or(status::INVALID_TYPE)?;
    let lengths: Vec<i64> = lengths.iter().copied().map(i64::from).collect();
    Plan::new(kind, &lengths, i64::from(batch), None)
}

/// The layout of one side, as it is given.
struct Side<T> {
    embed: *const T,
    stride: T,
    distance: T,
}

/// A plan of as many dimensions as `rank` says.
///
/// # Safety
/// Pointers are null, or have so many numbers.
unsafe fn many<T: Copy + Into<i64>>(
    kind: Option<Kind>,
    rank: i32,
    lengths: *const T,
    [input, output]: [Side<T>; 2],
    batch: T,
) -> Planned {
    let kind = kind.ok_or(status::INVALID_TYPE)?;
    let rank = usize::try_from(rank).ok().filter(|rank| (1..=3).contains(rank));
    let rank = rank.ok_or(status::INVALID_VALUE)?;
    let numbers = |from: *const T| {
        // SAFETY: the caller's promise; it is not null.
        let read = |from: *const T| unsafe { std::slice::from_raw_parts(from, rank) };
        let read = (!from.is_null()).then(|| read(from));
        read.map(|numbers| numbers.iter().map(|n| (*n).into()).collect::<Vec<i64>>())
    };
    let lengths = numbers(lengths).ok_or(status::INVALID_VALUE)?;
    let given = |side: &Side<T>| (side.stride.into(), side.distance.into());
    let ((is, id), (os, od)) = (given(&input), given(&output));
    // Without storage dimensions, the other numbers of the layout are ignored.
    let (input, output) = (numbers(input.embed), numbers(output.embed));
    let advanced = match (&input, &output) {
        (Some(input), Some(output)) => Some([(&input[..], is, id), (&output[..], os, od)]),
        _ => None,
    };
    Plan::new(kind, &lengths, batch.into(), advanced)
}

/// Makes the plan of a handle, and writes its size.
///
/// # Safety
/// `size` is null or the program's variable.
unsafe fn make(
    handle: Handle,
    plan: impl FnOnce() -> Planned,
    size: *mut usize,
) -> Result<(), i32> {
    handle::is_unmade(handle)?;
    if size.is_null() {
        return Err(status::INVALID_VALUE);
    }
    let found = handle::set(handle, Made::new(plan()?)?)?;
    // SAFETY: the caller's promise.
    unsafe { write(size, found as usize) }
}

/// A new handle with a plan.
///
/// # Safety
/// `handle` is null or the program's variable.
unsafe fn create(handle: *mut Handle, plan: impl FnOnce() -> Planned) -> Result<(), i32> {
    if handle.is_null() {
        return Err(status::INVALID_VALUE);
    }
    let made = Made::new(plan()?)?;
    let new = handle::new();
    if let Err(status) = handle::set(new, made) {
        let _ = handle::remove(new);
        return Err(status);
    }
    // SAFETY: the caller's promise.
    unsafe { write(handle, new) }
}

/// Writes the size that a plan has.
///
/// # Safety
/// `size` is null or the program's variable.
unsafe fn estimate(plan: Planned, size: *mut usize) -> Result<(), i32> {
    // SAFETY: the caller's promise.
    plan.and_then(|plan| unsafe { write(size, plan.work_size() as usize) })
}

/// As [`estimate`], for a handle.
///
/// # Safety
/// `size` is null or the program's variable.
unsafe fn size_of(
    handle: Handle,
    plan: impl FnOnce() -> Planned,
    size: *mut usize,
) -> Result<(), i32> {
    handle::now(handle)?;
    // SAFETY: the caller's promise.
    unsafe { estimate(plan(), size) }
}

/// The four functions of one way to describe transforms: a plan in a new handle, one in a handle, a size by a handle, a size.
macro_rules! described {
    ($plan_name:literal $plan:ident, $make_name:literal $make:ident, $get_name:literal $get:ident, $estimate_name:literal $estimate:ident:
     ($($argument:ident: $ty:ty),*) $planned:expr) => {
        described!(@handle $make_name $make make, $get_name $get size_of: ($($argument: $ty),*) $planned);

        #[doc = concat!("`", $plan_name, "`.")]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $plan<const K: usize>(handle: *mut Handle, $($argument: $ty),*) -> i32 {
            // SAFETY: the program's arguments.
            answer(unsafe { create(handle, || $planned) })
        }

        #[doc = concat!("`", $estimate_name, "`.")]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $estimate<const K: usize>($($argument: $ty,)* size: *mut usize) -> i32 {
            // SAFETY: the program's arguments.
            answer(unsafe { estimate($planned, size) })
        }
    };
    (@handle $($name:literal $function:ident $does:ident),+: $arguments:tt $planned:expr) => {$(
        described!(@one $name $function $does: $arguments $planned);
    )+};
    (@one $name:literal $function:ident $does:ident: ($($argument:ident: $ty:ty),*) $planned:expr) => {
        #[doc = concat!("`", $name, "`.")]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $function<const K: usize>(handle: Handle, $($argument: $ty,)* size: *mut usize) -> i32 {
            // SAFETY: the program's arguments.
            answer(unsafe { $does(handle, || $planned, size) })
        }
    };
}

described! {
    "cufftPlan1d" plan_1d, "cufftMakePlan1d" make_1d, "cufftGetSize1d" get_size_1d, "cufftEstimate1d" estimate_1d:
    (nx: i32, ty: i32, batch: i32) contiguous(&[nx], ty, batch)
}

described! {
    "cufftPlan2d" plan_2d, "cufftMakePlan2d" make_2d, "cufftGetSize2d" get_size_2d, "cufftEstimate2d" estimate_2d:
    (nx: i32, ny: i32, ty: i32) contiguous(&[nx, ny], ty, 1)
}

described! {
    "cufftPlan3d" plan_3d, "cufftMakePlan3d" make_3d, "cufftGetSize3d" get_size_3d, "cufftEstimate3d" estimate_3d:
    (nx: i32, ny: i32, nz: i32, ty: i32) contiguous(&[nx, ny, nz], ty, 1)
}

described! {
    "cufftPlanMany" plan_many, "cufftMakePlanMany" make_many, "cufftGetSizeMany" get_size_many, "cufftEstimateMany" estimate_many:
    (rank: i32, n: *const i32, inembed: *const i32, istride: i32, idist: i32, onembed: *const i32, ostride: i32, odist: i32,
     ty: i32, batch: i32)
    many(
        Kind::of(ty),
        rank,
        n,
        [
            Side { embed: inembed, stride: istride, distance: idist },
            Side { embed: onembed, stride: ostride, distance: odist },
        ],
        batch,
    )
}

described! {
    @handle "cufftMakePlanMany64" make_many_64 make, "cufftGetSizeMany64" get_size_many_64 size_of:
    (rank: i32, n: *const i64, inembed: *const i64, istride: i64, idist: i64, onembed: *const i64, ostride: i64, odist: i64,
     ty: i32, batch: i64)
    many(
        Kind::of(ty),
        rank,
        n,
        [
            Side { embed: inembed, stride: istride, distance: idist },
            Side { embed: onembed, stride: ostride, distance: odist },
        ],
        batch,
    )
}

/// `cufftXtMakePlanMany`, whose size precedes the type of execution.
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn xt_make_many<const K: usize>(
    handle: Handle,
    rank: i32,
    n: *const i64,
    inembed: *const i64,
    istride: i64,
    idist: i64,
    input: i32,
    onembed: *const i64,
    ostride: i64,
    odist: i64,
    output: i32,
    batch: i64,
    size: *mut usize,
    execution: i32,
) -> i32 {
    let sides = [
        Side { embed: inembed, stride: istride, distance: idist },
        Side { embed: onembed, stride: ostride, distance: odist },
    ];
    let kind = Kind::of_data(input, output, execution);
    // SAFETY: the program's arguments.
    let plan = || unsafe { many(kind, rank, n, sides, batch) };
    // SAFETY: the program's arguments.
    answer(unsafe { make(handle, plan, size) })
}

/// `cufftXtGetSizeMany`.
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn xt_get_size_many<const K: usize>(
    handle: Handle,
    rank: i32,
    n: *const i64,
    inembed: *const i64,
    istride: i64,
    idist: i64,
    input: i32,
    onembed: *const i64,
    ostride: i64,
    odist: i64,
    output: i32,
    batch: i64,
    size: *mut usize,
    execution: i32,
) -> i32 {
    let sides = [
        Side { embed: inembed, stride: istride, distance: idist },
        Side { embed: onembed, stride: ostride, distance: odist },
    ];
    let kind = Kind::of_data(input, output, execution);
    // SAFETY: the program's arguments.
    let plan = || unsafe { many(kind, rank, n, sides, batch) };
    // SAFETY: the program's arguments.
    answer(unsafe { size_of(handle, plan, size) })
}
