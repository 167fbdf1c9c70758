//! Handlers of launches in the forms since LLVM 15: target regions, and kernels of CUDA programs that are launched
//! through libomptarget. Must not know the older forms ([`super::older`]).

use cushim_abi::Class;
use cushim_abi::offload::layout::{FLAG_CUDA, FLAG_NOWAIT, KERNEL_ARGS, KernelArgs};
use cushim_abi::types::*;
use cushim_trace::layout::*;

use super::mapped::{self, Arrays, Mapped};
use super::why;
use crate::forward::stack;
use crate::record::{Entry, Observed};
use crate::registry::{self, Kernel};
use crate::site::Site;

/// A region, around `call`.
///
/// # Safety
/// The arguments of the call.
#[inline(always)]
pub(super) unsafe fn around(
    site: &'static Site,
    stack: usize,
    host: Func,
    mapped: impl FnOnce() -> Mapped,
    call: impl FnOnce() -> i32,
) -> i32 {
    match Observed::enter_quick(site, Class::region, stack) {
        Entry::Rare => {}
        Entry::Through => return call(),
        // SAFETY: as the caller promises.
        Entry::Unkept(observed, _leave) => return unsafe { unkept(&observed, host, mapped, call) },
        // SAFETY: as the caller promises.
        Entry::Kept(observed, _leave) => return unsafe { kept(&observed, host, mapped, call) },
    }
    // SAFETY: as the caller promises.
    unsafe { around_rarely(site, stack, host, mapped, call) }
}

/// The slow path of [`around`], which checks everything.
///
/// # Safety
/// As of [`around`].
#[inline(never)]
unsafe fn around_rarely(
    site: &'static Site,
    stack: usize,
    host: Func,
    mapped: impl FnOnce() -> Mapped,
    call: impl FnOnce() -> i32,
) -> i32 {
    match Observed::enter(site, stack) {
        None => call(),
        // SAFETY: as the caller promises.
        Some(observed) if observed.wanted => unsafe { kept(&observed, host, mapped, call) },
        // SAFETY: as the caller promises.
        Some(observed) => unsafe { unkept(&observed, host, mapped, call) },
    }
}

/// A region whose event is stored.
///
/// # Safety
/// As of [`around`].
#[inline(always)]
unsafe fn kept(
    observed: &Observed,
    host: Func,
    mapped: impl FnOnce() -> Mapped,
    call: impl FnOnce() -> i32,
) -> i32 {
    let kernel = registry::find_or_unknown(host.0);
    let mapped = named(observed, kernel, mapped());
    // SAFETY: as the caller promises.
    let stored = unsafe { mapped::begin(observed, EVENT_REGION, &mapped) };
    let device = mapped.body.device;
    let status = call();
    if status != 0 {
        mapped::fell_back(&stored, why::went_to_host(device, kernel));
    }
    observed.finish_kept(stored, status);
    status
}

/// A region whose event is stored only if it fails.
///
/// # Safety
/// As of [`around`].
#[inline(always)]
unsafe fn unkept(
    observed: &Observed,
    host: Func,
    mapped: impl FnOnce() -> Mapped,
    call: impl FnOnce() -> i32,
) -> i32 {
    let status = call();
    observed.finish_late(status, |begin| {
        let kernel = registry::find_or_unknown(host.0);
        let mut mapped = named(observed, kernel, mapped());
        mapped.body.fallback = why::went_to_host(mapped.body.device, kernel);
        // SAFETY: the arguments that were just forwarded.
        unsafe { mapped::store(observed, begin, EVENT_REGION, &mapped) }
    });
    status
}

/// Sets the kernel's number, and writes its record first if necessary.
#[inline(always)]
fn named(observed: &Observed, kernel: &'static Kernel, mut mapped: Mapped) -> Mapped {
    mapped.body.kernel = kernel.named(observed.global, observed.recorder);
    mapped
}

/// A number of teams or threads from the call's own argument: 0 and less leave it to the runtime.
pub(super) fn asked(number: i32) -> [u32; 3] {
    match u32::try_from(number) {
        Ok(number) if number > 0 => [number, 1, 1],
        _ => [0; 3],
    }
}

/// The shape in the structure, three `i32`: 0 and less mean that nothing was requested, or 1 after
/// a number. clang sets the first to -1 for a region without teams.
fn shape(own: [u32; 3], argument: i32) -> [u32; 3] {
    match asked(own[0] as i32) {
        [0, ..] => asked(argument),
        [x, ..] => [x, own[1].max(1), own[2].max(1)],
    }
}

/// The arguments' structure at `at`, if its version is known.
///
/// # Safety
/// `at` is 0 or a `KernelArgsTy`.
#[inline(always)]
unsafe fn kernel_args(at: Ptr) -> Option<Result<KernelArgs, u32>> {
    if at.0 == 0 {
        return None;
    }
    // SAFETY: every version begins with its number.
    let version = unsafe { (at.0 as *const u32).read_unaligned() };
    let Some(size) = KernelArgs::size(version) else { return Some(Err(version)) };
    let size = size.min(KERNEL_ARGS);
    // SAFETY: a structure of this version has this many bytes.
    let bytes = unsafe { std::slice::from_raw_parts(at.0 as *const u8, size) };
    Some(KernelArgs::read(bytes).ok_or(version))
}

/// The arguments of `__tgt_target_kernel`.
///
/// # Safety
/// The arguments of such a call.
#[inline(always)]
unsafe fn of_kernel(
    location: Ptr,
    device: Device64,
    teams: i32,
    threads: i32,
    args: Ptr,
    bits: u16,
) -> Mapped {
    let mut body = MappedBody {
        device: device.0,
        teams: asked(teams),
        threads: asked(threads),
        bits,
        ..MappedBody::default()
    };
    let mut given = Arrays::default();
    // SAFETY: as the caller promises.
    match unsafe { kernel_args(args) } {
        Some(Ok(args)) => {
            body.version = args.version as u16;
            body.trip_count = args.trip_count;
            body.flags = args.flags;
            body.teams = shape(args.teams, teams);
            body.threads = shape(args.threads, threads);
            body.shared = args.shared;
            if args.flags & FLAG_NOWAIT != 0 {
                body.bits |= MAPPED_NOWAIT;
            }
            // A CUDA kernel has one block of values there, and no mappings.
            if args.flags & FLAG_CUDA == 0 {
                given = Arrays {
                    count: args.count,
                    pointers: args.pointers,
                    sizes: args.sizes,
                    types: args.types,
                    names: args.names,
                };
            }
        }
        Some(Err(version)) => {
            body.version = version.min(u16::MAX.into()) as u16;
            body.bits |= MAPPED_UNKNOWN;
        }
        None => body.bits |= MAPPED_UNKNOWN,
    }
    Mapped { body, location: location.0 as u64, arrays: given }
}

/// `llvmLaunchKernel`: a launch as CUDA has it.
pub unsafe fn launch_kernel(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Func, Dim3, Dim3, Ptr, usize, Stream) -> i32,
    func: Func,
    grid: Dim3,
    block: Dim3,
    args: Ptr,
    shared: usize,
    stream: Stream,
) -> i32 {
    let mapped = || {
        let body = MappedBody {
            device: -1,
            flags: FLAG_CUDA,
            teams: [grid.x, grid.y, grid.z],
            threads: [block.x, block.y, block.z],
            shared: shared.min(u32::MAX as usize) as u32,
            ..MappedBody::default()
        };
        Mapped { body, ..Mapped::default() }
    };
    // SAFETY: forwarded as it came.
    let call = || unsafe { real(func, grid, block, args, shared, stream) };
    // SAFETY: none of its arguments is read.
    unsafe { around(site, stack!(), func, mapped, call) }
}

/// `__tgt_target_kernel`: what clang and rustc call since LLVM 15.
pub unsafe fn kernel(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, Device64, i32, i32, Func, Ptr) -> i32,
    loc: Ptr,
    device_id: Device64,
    num_teams: i32,
    thread_limit: i32,
    host_ptr: Func,
    args: Ptr,
) -> i32 {
    // SAFETY: the program's arguments.
    let mapped = || unsafe { of_kernel(loc, device_id, num_teams, thread_limit, args, 0) };
    // SAFETY: forwarded as it came.
    let call = || unsafe { real(loc, device_id, num_teams, thread_limit, host_ptr, args) };
    // SAFETY: the program's arguments.
    unsafe { around(site, stack!(), host_ptr, mapped, call) }
}

/// `__tgt_target_kernel_nowait`.
pub unsafe fn kernel_nowait(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(
        Ptr,
        Device64,
        i32,
        i32,
        Func,
        Ptr,
        i32,
        Ptr,
        i32,
        Ptr,
    ) -> i32,
    loc: Ptr,
    device_id: Device64,
    num_teams: i32,
    thread_limit: i32,
    host_ptr: Func,
    args: Ptr,
    dep_num: i32,
    dep_list: Ptr,
    no_alias_dep_num: i32,
    no_alias_dep_list: Ptr,
) -> i32 {
    // SAFETY: the program's arguments.
    let mapped =
        || unsafe { of_kernel(loc, device_id, num_teams, thread_limit, args, MAPPED_NOWAIT) };
    // SAFETY: forwarded as it came.
    let call = || unsafe {
        real(
            loc,
            device_id,
            num_teams,
            thread_limit,
            host_ptr,
            args,
            dep_num,
            dep_list,
            no_alias_dep_num,
            no_alias_dep_list,
        )
    };
    // SAFETY: the program's arguments.
    unsafe { around(site, stack!(), host_ptr, mapped, call) }
}
