//! Properties of a kernel: attributes, names, parameters, occupancy; kernels by handle.
//!
//! Owns the lookup of the driver's function in the current context for a host stub. Numbers of attributes are the
//! driver's. Must not know: launches.

use cushim_abi::types::*;

use super::error::code;
use super::forward::{address, done, functions, give, put};
use super::launch::driver_config;
use super::{context, registry};
use cushim_vbase::api;

/// The driver's function of a kernel in the current context.
///
/// # Errors
/// cudaErrorInvalidDeviceFunction for an unknown kernel; those of loading.
pub fn function<const MAJOR: usize>(func: Func) -> Result<Func, Status> {
    context::ready()?;
    let kernel = registry::kernel::<MAJOR>(func)?;
    if registry::is_function(func) {
        return Ok(kernel);
    }
    let mut function = Func(0);
    let to = Out(&raw mut function);
    // SAFETY: a place for a handle, a kernel of the driver.
    context::attempt(|| unsafe { api::cuKernelGetFunction(to, kernel) })?;
    Ok(function)
}

/// `CU_FUNC_ATTRIBUTE_*` that can be set: the runtime itself refuses any other number, as NVIDIA's
/// driver may crash with it (measured).
const SETTABLE: std::ops::Range<i32> = 8..16;

/// Calls that only take host stubs return the errors that all calls returned until 12 (measured).
const LEGACY: usize = 12;

/// `cudaFuncAttributes` as 11 has it; later ones append [`Tail`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Attributes {
    shared: usize,
    constant: usize,
    local: usize,
    max_threads: i32,
    registers: i32,
    ptx_version: i32,
    binary_version: i32,
    cache_mode_ca: i32,
    max_dynamic_shared: i32,
    carveout: i32,
}

/// The part that 12 and 13 append: clusters, then reserved words, some of which later releases
/// name.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Tail {
    cluster_must_be_set: i32,
    cluster: [i32; 3],
    policy: i32,
    non_portable: i32,
    reserved: [i32; 16],
}

const HEAD: usize = std::mem::offset_of!(Attributes, carveout) + size_of::<i32>();
const _: () = assert!(size_of::<Attributes>() == 56 && HEAD == 52 && size_of::<Tail>() == 88);

/// One attribute; 0 for one that the driver does not know.
fn attribute(function: Func, number: i32) -> Result<i32, Status> {
    let mut value = 0;
    let to = Out(&raw mut value);
    // SAFETY: a place for an int, a function of the driver.
    match context::attempt(|| unsafe { api::cuFuncGetAttribute(to, number, function) }) {
        Ok(()) => Ok(value),
        Err(code::INVALID_VALUE) if number >= FIRST_OF_CLUSTERS => Ok(0),
        Err(error) => Err(error),
    }
}

/// `CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET`: from CUDA 11.8 on.
const FIRST_OF_CLUSTERS: i32 = 10;

fn attributes<const MAJOR: usize>(func: Func) -> Result<(Attributes, Tail), Status> {
    let function = function::<MAJOR>(func)?;
    let of = |number| attribute(function, number);
    let size = |number| of(number).map(|value| usize::try_from(value).unwrap_or(0));
    let head = Attributes {
        shared: size(1)?,
        constant: size(2)?,
        local: size(3)?,
        max_threads: of(0)?,
        registers: of(4)?,
        ptx_version: of(5)?,
        binary_version: of(6)?,
        cache_mode_ca: of(7)?,
        max_dynamic_shared: of(8)?,
        carveout: of(9)?,
    };
    let tail = Tail {
        cluster_must_be_set: of(10)?,
        cluster: [of(11)?, of(12)?, of(13)?],
        policy: of(15)?,
        non_portable: of(14)?,
        reserved: [0; 16],
    };
    Ok((head, tail))
}

fn get_attributes<const MAJOR: usize>(to: Ptr, func: Func) -> Result<(), Status> {
    context::ready()?;
    if to.0 == 0 {
        return Err(code::INVALID_VALUE);
    }
    let (head, tail) = attributes::<MAJOR>(func)?;
    // SAFETY: the program's place for a cudaFuncAttributes of its major.
    unsafe {
        if MAJOR >= 12 {
            put(Ptr(to.0 + HEAD), tail);
            // The last field of the head and the first of the tail share a word.
            put(to, HeadBytes::of(&head));
        } else {
            put(to, head);
        }
    }
    Ok(())
}

/// The bytes of [`Attributes`] without its padding.
#[repr(C, packed)]
struct HeadBytes([u8; HEAD]);

impl HeadBytes {
    fn of(head: &Attributes) -> Self {
        // SAFETY: the first bytes of the structure, none of them padding; any alignment does.
        unsafe { std::ptr::from_ref(head).cast::<HeadBytes>().read_unaligned() }
    }
}

/// One driver call on the function of a kernel.
fn with<const MAJOR: usize>(func: Func, call: impl Fn(Func) -> i32) -> Status {
    done(function::<MAJOR>(func).and_then(|function| context::attempt(|| call(function))))
}

/// As [`with`], for calls that write a result: they check first the context, then the place, then
/// the kernel (measured).
fn into<const MAJOR: usize, T>(to: Out<T>, func: Func, call: impl Fn(Func) -> i32) -> Status {
    if let Err(error) = context::ready() {
        return done(Err(error));
    }
    if to.0.is_null() {
        return done(Err(code::INVALID_VALUE));
    }
    with::<MAJOR>(func, call)
}

/// The handle of a kernel for its stub; a known one stays available until the process ends
/// (measured).
///
/// # Safety
/// `to` is null or has room for a handle.
unsafe fn handle(to: Out<Func>, stub: Func) -> Result<(), Status> {
    if let Err(error) = context::ready() {
        let known = registry::known(stub).filter(|_| error == code::UNLOADING);
        // SAFETY: `to` is null, which `give` refuses, or has room for a handle, by the caller's promise.
        return known.ok_or(error).and_then(|known| unsafe { give(to, known) });
    }
    if to.0.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let found = registry::kernel::<LEGACY>(stub)?;
    // SAFETY: not null, hence room for a handle by the caller's promise.
    unsafe { give(to, found) }
}

functions! {
    cudaFuncGetAttributes (attr: Ptr, func: Func) {
        done(get_attributes::<MAJOR>(attr, func))
    }

    cudaFuncSetAttribute (func: Func, attr: i32, value: i32) {
        with::<MAJOR>(func, |function| {
            if !SETTABLE.contains(&attr) {
                return code::INVALID_VALUE;
            }
            // SAFETY: a function of the driver, and an attribute that it knows.
            unsafe { api::cuFuncSetAttribute(function, attr, value) }
        })
    }

    cudaFuncSetCacheConfig (func: Func, cacheConfig: i32) {
        // SAFETY: a function of the driver; no pointers of the program.
        with::<MAJOR>(func, |function| unsafe { api::cuFuncSetCacheConfig(function, cacheConfig) })
    }

    cudaFuncSetSharedMemConfig (func: Func, config: i32) {
        // SAFETY: a function of the driver; no pointers of the program.
        with::<MAJOR>(func, |function| unsafe { api::cuFuncSetSharedMemConfig(function, config) })
    }

    cudaFuncGetName (name: Out<Str>, func: Func) {
        if let Some(known) = registry::kernel_name(func) {
            // SAFETY: the program's place for a name, or null.
            return done(context::ready().and_then(|()| unsafe { give(name, known) }));
        }
        // SAFETY: a function of the driver; a place that `into` found not null.
        into::<MAJOR, _>(name, func, |function| unsafe { api::cuFuncGetName(name, function) })
    }

    cudaFuncGetParamInfo (func: Func, paramIndex: usize, paramOffset: Out<usize>, paramSize: Out<usize>) {
        // SAFETY: a function of the driver; a place that `into` found not null, and one that may be null.
        into::<MAJOR, _>(paramOffset, func, |function| unsafe {
            api::cuFuncGetParamInfo(function, paramIndex, paramOffset, paramSize)
        })
    }

    cudaFuncGetParamCount (func: Func, paramCount: Out<usize>) {
        // SAFETY: a function of the driver; a place that `into` found not null.
        into::<MAJOR, _>(paramCount, func, |function| unsafe { api::cuFuncGetParamCount(function, paramCount) })
    }

    cudaGetFuncBySymbol (functionPtr: Out<Func>, symbolPtr: Func) {
        done(context::ready().and_then(|()| {
            if functionPtr.0.is_null() {
                return Err(code::INVALID_VALUE);
            }
            let found = function::<LEGACY>(symbolPtr)?;
            // SAFETY: the program's place for a handle.
            unsafe { give(functionPtr, found) }
        }))
    }

    cudaGetKernel (kernelPtr: Out<Func>, entryFuncAddr: Func) {
        // SAFETY: the program's place for a handle, or null.
        done(unsafe { handle(kernelPtr, entryFuncAddr) })
    }

    // The program keeps the result and launches by it, even after a failure: then it is the stub,
    // as with NVIDIA's runtime (measured), and the launch tries again.
    __cudaGetKernel (kernel: Out<Func>, hostFun: Func) {
        // SAFETY: the program's place for a handle, or null.
        let outcome = unsafe { handle(kernel, hostFun) };
        if outcome.is_err() && !kernel.0.is_null() {
            // SAFETY: the program's place.
            unsafe { kernel.0.write_unaligned(hostFun) };
        }
        done(outcome)
    }

    cudaKernelSetAttributeForDevice (kernel: Func, attr: i32, value: i32, device: Device) {
        done(context::ready().and_then(|()| registry::kernel::<MAJOR>(kernel)).and_then(|kernel| {
            if !SETTABLE.contains(&attr) {
                return Err(code::INVALID_VALUE);
            }
            // SAFETY: a kernel of the driver.
            context::attempt(|| unsafe { api::cuKernelSetAttribute(attr, value, kernel, device) })
        }))
    }

    cudaOccupancyMaxActiveBlocksPerMultiprocessor (numBlocks: Out<i32>, func: Func, blockSize: i32, dynamicSMemSize: usize) {
        // SAFETY: a place that is not null, a function of the driver.
        into::<MAJOR, _>(numBlocks, func, |function| unsafe {
            api::cuOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks, function, blockSize, dynamicSMemSize)
        })
    }

    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags (numBlocks: Out<i32>, func: Func, blockSize: i32, dynamicSMemSize: usize, flags: Flags) {
        // SAFETY: a function of the driver; a place that `into` found not null.
        into::<MAJOR, _>(numBlocks, func, |function| unsafe {
            api::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                numBlocks, function, blockSize, dynamicSMemSize, flags,
            )
        })
    }

    cudaOccupancyAvailableDynamicSMemPerBlock (dynamicSmemSize: Out<usize>, func: Func, numBlocks: i32, blockSize: i32) {
        // SAFETY: a function of the driver; a place that `into` found not null.
        into::<MAJOR, _>(dynamicSmemSize, func, |function| unsafe {
            api::cuOccupancyAvailableDynamicSMemPerBlock(dynamicSmemSize, function, numBlocks, blockSize)
        })
    }

    cudaOccupancyMaxPotentialClusterSize (clusterSize: Out<i32>, func: Func, launchConfig: Ptr) {
        // SAFETY: the program's configuration.
        match unsafe { driver_config(launchConfig) } {
            // SAFETY: a place that is not null, a function of the driver, a configuration on this stack.
            Ok(config) => into::<MAJOR, _>(clusterSize, func, |function| unsafe {
                api::cuOccupancyMaxPotentialClusterSize(clusterSize, function, address(&config))
            }),
            Err(error) => done(context::ready().and(Err(error))),
        }
    }

    cudaOccupancyMaxActiveClusters (numClusters: Out<i32>, func: Func, launchConfig: Ptr) {
        // SAFETY: the program's configuration.
        match unsafe { driver_config(launchConfig) } {
            // SAFETY: a place that is not null, a function of the driver, a configuration on this stack.
            Ok(config) => into::<MAJOR, _>(numClusters, func, |function| unsafe {
                api::cuOccupancyMaxActiveClusters(numClusters, function, address(&config))
            }),
            Err(error) => done(context::ready().and(Err(error))),
        }
    }
}
