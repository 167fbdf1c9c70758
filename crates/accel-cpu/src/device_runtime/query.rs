//! Queries of kernels: devices, limits, kernels, errors.

use cushim_ptx::exec::{Caller, RuntimeCall, pointed_function};

use super::{Answer, Runtime, error, give};
use crate::code::CpuCode;
use cushim_accel::Kernel;

/// What the device runtime says its version is (measured: that of CUDA 13.0).
const VERSION: i32 = 6000;
/// The value of a limit that is unlimited (measured).
const NO_LIMIT: u64 = u64::MAX;

impl Runtime {
    pub(super) fn question(&self, call: RuntimeCall, caller: &mut dyn Caller) -> Answer {
        use RuntimeCall as Call;
        let arg = |n: usize| caller.argument(n);
        let answers = self.answers.get();
        let found = match call {
            Call::DeviceCount => Ok(self.heaps.len() as i32),
            Call::Device => Ok(self.device as i32),
            Call::CacheConfig => Ok(0),
            Call::Version => Ok(VERSION),
            Call::Attribute => {
                let device = arg(2) as u32 as usize;
                match answers {
                    _ if device >= self.heaps.len() => Err(error::INVALID_DEVICE),
                    None => Err(error::NOT_SUPPORTED),
                    Some(answers) => {
                        answers.attribute(device, arg(1) as i32).ok_or(error::INVALID_VALUE)
                    }
                }
            }
            Call::Occupancy | Call::OccupancyWithFlags => {
                let (threads, dynamic) = (arg(2) as i32, arg(3));
                let dynamic = u32::try_from(dynamic).unwrap_or(u32::MAX);
                match (self.kernel(arg(1)), answers, u32::try_from(threads)) {
                    (Some(kernel), Some(answers), Ok(threads)) if threads > 0 => {
                        Ok(answers.occupancy(self.device, kernel, threads, dynamic) as i32)
                    }
                    _ => Err(error::INVALID_VALUE),
                }
            }
            Call::Limit => return Ok(self.limit(caller)),
            Call::FunctionAttributes => {
                let Some(kernel) = self.kernel(arg(1)) else {
                    return Ok(Err(error::INVALID_VALUE));
                };
                return Ok(give(caller, &attributes(kernel)));
            }
            _ => Err(error::NOT_SUPPORTED),
        };
        Ok(found.and_then(|value| give(caller, &value.to_le_bytes())))
    }

    fn limit(&self, caller: &mut dyn Caller) -> Result<(), i32> {
        let number = caller.argument(1) as i32;
        let answers = self.answers.get().ok_or(error::NOT_SUPPORTED)?;
        match answers.limit(self.device, number) {
            Ok(value) => give(caller, &value.to_le_bytes()),
            Err(error::UNSUPPORTED_LIMIT) => {
                give(caller, &NO_LIMIT.to_le_bytes())?;
                Err(error::UNSUPPORTED_LIMIT)
            }
            Err(code) => Err(code),
        }
    }

    /// The kernel that a pointer means.
    fn kernel(&self, pointer: u64) -> Option<&Kernel> {
        let code = self.dispatch.code.as_any().downcast_ref::<CpuCode>()?;
        let number = pointed_function(pointer, code.module.functions.len())?;
        let index = code.functions.iter().position(|f| *f == number)?;
        self.dispatch.code.kernels().get(index)
    }

    /// Where the name or the text of an error lies.
    pub(super) fn error_text(&self, number: i32, name: bool) -> u64 {
        let Some(answers) = self.answers.get() else { return 0 };
        let (named, text) = answers.error(number);
        self.answers.text(self.memory(), if name { named } else { text })
    }
}

/// The begin of `cudaFuncAttributes`, which all majors share: shared, constant and local bytes; most threads, registers,
/// versions of PTX and code, whether caches are on, most dynamic shared memory, its share.
fn attributes(kernel: &Kernel) -> Vec<u8> {
    let bytes = [kernel.static_shared, kernel.constant, kernel.local].map(u64::from);
    let (ptx, binary) = kernel.versions;
    let numbers = [kernel.max_threads, kernel.registers, ptx, binary, 0, 0, 0];
    let mut out: Vec<u8> = bytes.iter().flat_map(|v| v.to_le_bytes()).collect();
    out.extend(numbers.iter().flat_map(|v| v.to_le_bytes()));
    out
}
