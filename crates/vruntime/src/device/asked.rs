//! Device data that the runtime queries once, at CUDA's initialisation.
//!
//! Owns the results, which are kept until the process ends. Must not know: contexts, structures of the program.

use std::sync::OnceLock;

use cushim_abi::types::*;

use crate::error::{self, code};
use cushim_vbase::api;

/// The properties of a device, by the driver's calls.
pub struct Asked {
    /// Its name, with a NUL.
    pub name: [u8; 256],
    /// Its UUID.
    pub uuid: [u8; 16],
    /// Bytes of memory.
    pub memory: usize,
    device: Device,
    /// By number; 0 for one that the driver does not know yet.
    attributes: [i32; ATTRIBUTES],
}

/// Behind the last attribute of a field.
const ATTRIBUTES: usize = 144;

/// The properties of all devices when CUDA was initialised: they stay available until the process
/// ends (measured).
static KNOWN: OnceLock<Vec<Result<Asked, Status>>> = OnceLock::new();

/// Reads all devices' properties, after CUDA was initialised.
pub fn learn(count: i32) -> &'static [Result<Asked, Status>] {
    KNOWN.get_or_init(|| (0..count).map(Asked::ask).collect())
}

impl Asked {
    /// # Errors
    /// cudaErrorInvalidDevice; what the driver said. `count` returns the number of devices where
    /// another thread has just initialised CUDA.
    pub fn of(device: i32, count: fn() -> Result<i32, Status>) -> Result<&'static Self, Status> {
        let all = match KNOWN.get() {
            Some(all) => all,
            None => learn(count()?),
        };
        let found = usize::try_from(device).ok().and_then(|device| all.get(device));
        found.ok_or(code::INVALID_DEVICE)?.as_ref().map_err(|error| *error)
    }

    fn ask(device: i32) -> Result<Self, Status> {
        let mut asked = Asked {
            name: [0; 256],
            uuid: [0; 16],
            memory: 0,
            device: Device(device),
            attributes: [0; ATTRIBUTES],
        };
        let name = Ptr((&raw mut asked.name).expose_provenance());
        let uuid = Ptr((&raw mut asked.uuid).expose_provenance());
        // SAFETY: places of the sizes that the driver is told or knows.
        let results = unsafe {
            [
                api::cuDeviceGetName(name, 256, asked.device),
                api::cuDeviceGetUuid(uuid, asked.device),
                api::cuDeviceTotalMem_v2(Out(&raw mut asked.memory), asked.device),
            ]
        };
        if let Some(result) = results.into_iter().find(|result| *result != 0) {
            return Err(error::from_driver(result));
        }
        for (value, number) in asked.attributes.iter_mut().zip(0..).skip(1) {
            // SAFETY: a place for an int.
            if unsafe { api::cuDeviceGetAttribute(Out(value), number, asked.device) } != 0 {
                *value = 0;
            }
        }
        Ok(asked)
    }

    /// A `CUdevice_attribute`; 0 for one that the driver does not know.
    pub fn attribute(&self, number: i32) -> i32 {
        let number = usize::try_from(number).ok();
        number.and_then(|number| self.attributes.get(number)).copied().unwrap_or(0)
    }
}
