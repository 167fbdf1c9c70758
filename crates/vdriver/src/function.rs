//! Functions: a kernel in a context, its properties and settings.
//!
//! Owns the objects. A function shares its settings with the library kernel that it comes from ([`Settings`]).
//! Source: CUDA Driver API, "Execution Control"; `CUfunction_attribute` of cuda.h 13.0. Must not know: launches.

use std::ffi::CString;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, Weak};

use super::context::Context as Ctx;
use super::handle::Handles;
use super::module::Loaded;
use super::state::{accelerator, give, offer};
use super::status;
use crate::argument::Place;
use cushim_accel::{Code, Kernel};

/// Functions by handle.
pub static FUNCTIONS: Handles<Function> = Handles::new();

/// A kernel in a context.
pub struct Function {
    /// Its name, to which the program may keep pointers.
    pub name: CString,
    /// Its module.
    pub module: Weak<Loaded>,
    /// Its context.
    pub context: Weak<Ctx>,
    /// The number of the device.
    pub device: usize,
    /// Its code.
    pub code: Arc<dyn Code>,
    /// Its number in the code.
    pub index: usize,
    /// The kernel's properties.
    pub kernel: Kernel,
    /// Its settings.
    pub settings: Arc<Settings>,
    /// Shape and parameters as calls before CUDA 4 set them.
    pub prepared: Mutex<Prepared>,
}

/// The settings of `cuFuncSetAttribute`.
#[derive(Debug)]
pub struct Settings {
    /// Most dynamic shared memory, bytes; negative where it was not set.
    pub dynamic: AtomicI32,
    /// Preferred share of shared memory in percent; -1: the driver's choice.
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

/// The shape and parameters of a function's next launch, as set by calls from before CUDA 4.
#[derive(Debug)]
pub struct Prepared {
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    /// Its parameters, laid out as in the launch's buffer.
    pub params: Vec<u8>,
}

impl Default for Prepared {
    fn default() -> Self {
        Prepared { block: [1; 3], shared: 0, params: Vec::new() }
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
        // Attribute 10, whether a cluster size must be given, cannot be set. Cluster sizes; whether
        // non-portable sizes are allowed; the policy (measured).
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
pub fn give_param(
    kernel: &Kernel,
    index: usize,
    offset: Place<usize>,
    size: Place<usize>,
) -> Result<(), i32> {
    let (at, bytes) = *kernel.params.get(index).ok_or(status::INVALID_VALUE)?;
    give(offset, at as usize)?;
    offer(size, bytes as usize);
    Ok(())
}
