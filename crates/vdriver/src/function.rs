//! Functions: a kernel in a context, what it is and what may be set.
//!
//! Owns the objects and `cuFunc*`. What may be set is shared with the library's kernel that a function is
//! of ([`Settings`]). Source: CUDA Driver API, "Execution Control"; `CUfunction_attribute` of cuda.h 13.0.
//! Must not know: launches.

use std::ffi::CString;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, Weak};

use cushim_abi::types::{self as abi, *};

use super::context::Context as Ctx;
use super::entry::entry;
use super::handle::{Handles, handle};
use super::launch::legacy::Prepared;
use super::module::Loaded;
use super::state::{accelerator, check, give, offer};
use super::status;
use cushim_accel::{Code, Kernel};

/// Functions by handle.
pub static FUNCTIONS: Handles<Function> = Handles::new();

/// A kernel in a context.
pub struct Function {
    /// Its name, where the program may point to.
    pub name: CString,
    /// What it is a part of.
    pub module: Weak<Loaded>,
    /// Where it runs.
    pub context: Weak<Ctx>,
    /// The number of the device.
    pub device: usize,
    /// Its code.
    pub code: Arc<dyn Code>,
    /// Its number in the code.
    pub index: usize,
    /// What it is.
    pub kernel: Kernel,
    /// What was set.
    pub settings: Arc<Settings>,
    /// Shape and parameters as calls before CUDA 4 set them.
    pub prepared: Mutex<Prepared>,
}

/// What `cuFuncSetAttribute` sets.
#[derive(Debug)]
pub struct Settings {
    /// Most dynamic shared memory, bytes; negative where nobody set it.
    pub dynamic: AtomicI32,
    /// Preferred share of shared memory in percent; -1 the driver's choice.
    pub carveout: AtomicI32,
    /// Attributes 10 to 15, which concern clusters.
    pub cluster: [AtomicI32; 6],
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            dynamic: AtomicI32::new(-1),
            carveout: AtomicI32::new(-1),
            cluster: [const { AtomicI32::new(0) }; 6],
        }
    }
}

impl Function {
    /// Number `index` of some code.
    pub fn new(
        name: CString,
        module: Weak<Loaded>,
        context: &Arc<Ctx>,
        code: &Arc<dyn Code>,
        index: usize,
        settings: Arc<Settings>,
    ) -> Function {
        Function {
            name,
            module,
            context: Arc::downgrade(context),
            device: context.device,
            code: code.clone(),
            index,
            kernel: code.kernels().get(index).cloned().unwrap_or_default(),
            settings,
            prepared: Mutex::default(),
        }
    }

    /// Most dynamic shared memory of a block, bytes.
    pub fn most_dynamic(&self) -> u32 {
        most_dynamic(&self.kernel, &self.settings, self.device)
    }
}

fn most_dynamic(kernel: &Kernel, settings: &Settings, device: usize) -> u32 {
    match settings.dynamic.load(Ordering::Relaxed) {
        set @ 0.. => set as u32,
        _ => {
            let shared = accelerator().devices().get(device).map_or(0, |device| device.shared.0);
            shared.saturating_sub(kernel.static_shared)
        }
    }
}

/// A function's or kernel's attribute (`CUfunction_attribute`); `None` where there is none of this number.
pub fn attribute(kernel: &Kernel, settings: &Settings, device: usize, number: i32) -> Option<i32> {
    let value = match number {
        0 => kernel.max_threads,
        1 => kernel.static_shared,
        2 => kernel.constant,
        3 => kernel.local,
        4 => kernel.registers,
        5 => kernel.versions.0,
        6 => kernel.versions.1,
        // Whether it was compiled with -Xptxas --dlcm=ca.
        7 => 0,
        8 => most_dynamic(kernel, settings, device),
        9 => return Some(settings.carveout.load(Ordering::Relaxed)),
        10 => return Some(kernel.required_cluster.is_some().into()),
        11..=13 if let Some(sides) = kernel.required_cluster => {
            sides.get(usize::try_from(number - 11).ok()?).copied().unwrap_or(1)
        }
        11..=15 => {
            let slot = settings.cluster.get(usize::try_from(number - 10).ok()?)?;
            return Some(slot.load(Ordering::Relaxed));
        }
        _ => return None,
    };
    Some(i32::try_from(value).unwrap_or(i32::MAX))
}

/// Sets an attribute.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE for one that cannot be set, and for a value out of range.
pub fn set_attribute(
    kernel: &Kernel,
    settings: &Settings,
    device: usize,
    number: i32,
    value: i32,
) -> Result<(), i32> {
    let most = accelerator().devices().get(device).map_or(0, |device| device.shared.1);
    let most = most.saturating_sub(kernel.static_shared);
    match number {
        8 if u32::try_from(value).is_ok_and(|value| value <= most) => {
            settings.dynamic.store(value, Ordering::Relaxed);
        }
        9 if (-1..=100).contains(&value) => settings.carveout.store(value, Ordering::Relaxed),
        // Attribute 10, whether a cluster size must be given, is the kernel's own.
        // Cluster sizes; whether one may be larger than all devices have; the policy (measured).
        11..=13 if kernel.required_cluster.is_some() => return Err(status::INVALID_VALUE),
        11..=15 if number == 14 || value >= 0 && (number < 15 || value <= 2) => {
            let slot = usize::try_from(number - 10).ok().and_then(|n| settings.cluster.get(n));
            slot.ok_or(status::INVALID_VALUE)?.store(value, Ordering::Relaxed);
        }
        _ => return Err(status::INVALID_VALUE),
    }
    Ok(())
}

/// Stores offset and size of a parameter.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE where there is none of this number.
///
/// # Safety
/// The places are null or have room; a size is optional.
pub unsafe fn give_param(
    kernel: &Kernel,
    index: usize,
    offset: Out<usize>,
    size: Out<usize>,
) -> Result<(), i32> {
    let (at, bytes) = *kernel.params.get(index).ok_or(status::INVALID_VALUE)?;
    // SAFETY: the caller's.
    unsafe {
        give(offset, at as usize)?;
        offer(size, bytes as usize);
    }
    Ok(())
}

/// The function of a handle: of a `CUfunction`, or of a `CUkernel` in the current context.
///
/// # Errors
/// CUDA_ERROR_INVALID_HANDLE, those of [`check`], and for a kernel those of loading its library.
pub fn of(function: Func) -> Result<Arc<Function>, i32> {
    if let Some(found) = FUNCTIONS.get(function.0) {
        return Ok(found);
    }
    check()?;
    match super::kernel::KERNELS.get(function.0) {
        Some(kernel) => kernel.function(),
        None => Err(status::INVALID_HANDLE),
    }
}

entry! {
    fn cuFuncGetAttribute (pi: Out<i32>, attrib: i32, hfunc: Func) {
        let function = of(hfunc)?;
        let value = attribute(&function.kernel, &function.settings, function.device, attrib);
        give(pi, value.ok_or(status::INVALID_VALUE)?)
    }

    fn cuFuncSetAttribute (hfunc: Func, attrib: i32, value: i32) {
        let function = of(hfunc)?;
        set_attribute(&function.kernel, &function.settings, function.device, attrib, value)
    }

    // Preferences of hardware that no accelerator here has.
    fn cuFuncSetCacheConfig (hfunc: Func, config: i32) {
        of(hfunc)?;
        if (0..=3).contains(&config) { Ok(()) } else { Err(status::INVALID_VALUE) }
    }

    fn cuFuncSetSharedMemConfig (hfunc: Func, config: i32) {
        of(hfunc)?;
        if (0..=2).contains(&config) { Ok(()) } else { Err(status::INVALID_VALUE) }
    }

    fn cuFuncGetModule (hmod: Out<Module>, hfunc: Func) {
        let function = of(hfunc)?;
        let module = function.module.upgrade().ok_or(status::INVALID_HANDLE)?;
        give(hmod, abi::Module(handle(&module)))
    }

    fn cuFuncGetName (name: Out<Str>, hfunc: Func) {
        let function = of(hfunc)?;
        // There as long as the module is loaded.
        give(name, Str(function.name.as_ptr().expose_provenance()))
    }

    fn cuFuncGetParamCount (func: Func, paramCount: Out<usize>) {
        let function = of(func)?;
        give(paramCount, function.kernel.params.len())
    }

    fn cuFuncGetParamInfo (func: Func, paramIndex: usize, paramOffset: Out<usize>, paramSize: Out<usize>) {
        let function = of(func)?;
        give_param(&function.kernel, paramIndex, paramOffset, paramSize)
    }

    fn cuFuncIsLoaded (state: Out<i32>, function: Func) {
        of(function)?;
        // CU_FUNCTION_LOADING_STATE_LOADED.
        give(state, 1)
    }

    fn cuFuncLoad (function: Func) {
        of(function).map(drop)
    }
}
