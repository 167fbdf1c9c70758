//! Options of compiling and linking (`CUjit_option`) that have an effect here: the logs, and whether code is
//! optimised, which affects its numbers.
//!
//! Owns reading them and writing into the program's buffers. Other optimisation levels, register limits and similar
//! options concern NVIDIA's compiler; they are accepted and ignored. Must not know: what is compiled.

use cushim_abi::types::Ptr;

use super::state::{pointer, take};
use super::status;

/// `CUjit_option` (cuda.h).
const WALL_TIME: i32 = 2;
const INFO_BUFFER: i32 = 3;
const INFO_SIZE: i32 = 4;
const ERROR_BUFFER: i32 = 5;
const ERROR_SIZE: i32 = 6;
const OPTIMIZATION_LEVEL: i32 = 7;
const GENERATE_DEBUG_INFO: i32 = 11;
/// More than there are options.
const MOST: u32 = 1024;

/// A buffer of the program: its address, its size, the place for the number of bytes used.
#[derive(Clone, Copy, Debug, Default)]
struct Buffer {
    at: usize,
    size: usize,
    used: usize,
}

/// The options of a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    info: Buffer,
    error: Buffer,
    /// Products and sums are not fused: level 0, or for a debugger.
    plain: bool,
}

impl Options {
    /// None.
    pub fn none() -> Options {
        Options::default()
    }

    /// Reads those of a call: ids, and as many values, some of which are outputs. Nothing is
    /// compiled yet, so the time is 0 and the logs are empty.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE.
    ///
    /// # Safety
    /// Both arrays are null or hold `count` entries; buffers among the values have the stated size
    /// as long as these options are used.
    pub unsafe fn read(count: u32, ids: Ptr, values: Ptr) -> Result<Options, i32> {
        let mut options = Options::default();
        if count == 0 {
            return Ok(options);
        }
        if ids.0 == 0 || values.0 == 0 || count > MOST {
            return Err(status::INVALID_VALUE);
        }
        for n in 0..count as usize {
            let place = values.0.wrapping_add(n * size_of::<usize>());
            // SAFETY: `n` is below `count`, and both arrays have as many by the caller's promise; null is refused.
            let (id, value) = unsafe {
                (take::<i32>(Ptr(ids.0.wrapping_add(n * 4)))?, take::<usize>(Ptr(place))?)
            };
            match id {
                INFO_BUFFER => options.info.at = value,
                INFO_SIZE => (options.info.size, options.info.used) = (value & 0xffff_ffff, place),
                ERROR_BUFFER => options.error.at = value,
                ERROR_SIZE => {
                    (options.error.size, options.error.used) = (value & 0xffff_ffff, place);
                }
                OPTIMIZATION_LEVEL => options.plain |= value & 0xffff_ffff == 0,
                GENERATE_DEBUG_INFO => options.plain |= value & 0xffff_ffff != 0,
                // A float in place of the pointer. SAFETY: the caller's place.
                WALL_TIME => unsafe { pointer::<f32>(Ptr(place)).write_unaligned(0.0) },
                ..0 => return Err(status::INVALID_VALUE),
                _ => {}
            }
        }
        options.info.write("");
        options.error.write("");
        Ok(options)
    }

    /// Whether code is optimised.
    pub fn optimised(&self) -> bool {
        !self.plain
    }

    /// Writes a reason for the program; returns whether it wanted one.
    pub fn error(&self, why: &str) -> bool {
        self.error.write(why)
    }
}

impl Buffer {
    fn write(&self, text: &str) -> bool {
        let mut used = 0;
        let room = self.at != 0 && self.size > 0;
        if room {
            let text = text.as_bytes().get(..self.size - 1).unwrap_or(text.as_bytes());
            let to = pointer::<u8>(Ptr(self.at));
            // SAFETY: the program's buffer has `size` bytes; text and NUL are at most that many.
            unsafe {
                to.copy_from_nonoverlapping(text.as_ptr(), text.len());
                to.add(text.len()).write(0);
            }
            used = text.len();
        }
        if self.used != 0 {
            // SAFETY: the value's own place.
            unsafe { pointer::<usize>(Ptr(self.used)).write_unaligned(used) };
        }
        room
    }
}
