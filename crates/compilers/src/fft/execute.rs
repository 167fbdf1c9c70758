//! Executes transforms.
//!
//! Owns: the functions, and what they require of a plan. Must not know: launches.

use cushim_fft::kind::{Kind, Map, Part};
use cushim_fft::status;
use cushim_fft::steps::Call;

use super::handle::{Handle, answer, now};

/// `CUFFT_FORWARD` and `CUFFT_INVERSE`.
const FORWARD: i32 = -1;
const INVERSE: i32 = 1;

/// Transforms by a plan of this kind, or of any.
fn execute(handle: Handle, kind: Option<Kind>, data: [u64; 2], direction: i32) -> Result<(), i32> {
    let entry = now(handle)?;
    let made = entry.made.ok_or(status::INVALID_PLAN)?;
    // As on an H200: the plan says whether numbers are singles or doubles, whatever the function's name says; a result that goes
    // nowhere is refused, and operands at 0 are the kernel's mistake.
    if kind.is_some_and(|kind| kind.map != made.plan.kind.map) {
        return Err(status::INVALID_PLAN);
    }
    let is_complex = made.plan.kind.map == Map::Complex;
    if is_complex && ![FORWARD, INVERSE].contains(&direction) {
        return Err(status::INVALID_VALUE);
    }
    if data[1] == 0 {
        return Err(status::EXEC_FAILED);
    }
    let work = entry.area.at().ok_or(status::NO_WORKSPACE)?;
    made.execute(&Call { data, inverse: direction == INVERSE, work }, entry.stream)
}

/// Functions whose names say the type.
macro_rules! typed {
    ($($name:literal $function:ident ($($direction:ident)?) $map:ident $part:ident;)+) => {$(
        #[doc = concat!("`", $name, "`.")]
        pub unsafe extern "C" fn $function<const K: usize>(handle: Handle, input: u64, output: u64 $(, $direction: i32)?) -> i32 {
            let kind = Kind { map: Map::$map, part: Part::$part };
            #[allow(unused_mut, unused_assignments)]
            let mut to = FORWARD;
            $(to = $direction;)?
            answer(execute(handle, Some(kind), [input, output], to))
        }
    )+};
}

typed! {
    "cufftExecC2C" exec_c2c (direction) Complex F32;
    "cufftExecR2C" exec_r2c () FromReal F32;
    "cufftExecC2R" exec_c2r () ToReal F32;
    "cufftExecZ2Z" exec_z2z (direction) Complex F64;
    "cufftExecD2Z" exec_d2z () FromReal F64;
    "cufftExecZ2D" exec_z2d () ToReal F64;
}

/// `cufftXtExec`: the direction is of complex transforms alone.
pub unsafe extern "C" fn xt_exec<const K: usize>(
    handle: Handle,
    input: u64,
    output: u64,
    direction: i32,
) -> i32 {
    answer(execute(handle, None, [input, output], direction))
}
