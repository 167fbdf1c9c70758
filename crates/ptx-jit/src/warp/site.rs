//! Call sites of helpers: what a helper needs to know of the instruction that it is called for.

use crate::simt::plan::shape::Class;
use cushim_ptx::ir::{Inst, Src};
use cushim_ptx::sem::Access;
use cushim_ptx::types::Space;

/// The least size of an arena: a checked range is no longer.
pub(crate) const LONGEST: i64 = 1 << 16;

/// A call site of a helper in the code.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Site {
    pub(crate) inst: Inst,
    /// Its position in the kernel.
    pub(crate) at: u32,
    /// The class of each operand in the scratch slot of its number.
    pub(crate) operands: Vec<Class>,
    /// The class of each result there.
    pub(crate) results: Vec<Class>,
    pub(crate) space: Space,
    /// A number that the helper wants: a region.
    pub(crate) extra: u32,
    /// The form of an access's addresses in slot 0.
    pub(crate) addresses: Addresses,
}

/// Addresses that a helper gets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Addresses {
    /// One for each lane, as any operand.
    Lanes,
    /// One number, of 64 bits or 32, to which lanes add steps.
    Steps { wide: bool, steps: Box<[i64; 32]> },
    /// A 32-bit number, followed by a 64-bit one: the first plus a step, extended and scaled, is added to the second.
    Extended { steps: Box<[i64; 32]>, scale: i64, signed: bool },
}

impl Site {
    /// Whether helpers do the same for both.
    pub(crate) fn is_like(&self, other: &Site) -> bool {
        self.inst.pos == other.inst.pos
            && self.inst.sem == other.inst.sem
            && self.operands == other.operands
            && self.results == other.results
            && self.space == other.space
            && self.extra == other.extra
            && self.addresses == other.addresses
    }
}

impl Addresses {
    /// The addresses of all lanes, of the two numbers, or `lanes` where each has its own. Checks ask for every access, so there
    /// is a loop for each form, by the processor's vectors, and nothing is copied.
    pub(crate) fn all(
        &self,
        first: u64,
        second: u64,
        lanes: impl FnOnce() -> [u64; 32],
    ) -> [u64; 32] {
        match std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            true => unsafe { self.all_avx2(first, second, lanes) },
            false => self.all_any(first, second, lanes),
        }
    }

    /// # Safety
    /// The processor must have AVX2.
    #[target_feature(enable = "avx2")]
    unsafe fn all_avx2(
        &self,
        first: u64,
        second: u64,
        lanes: impl FnOnce() -> [u64; 32],
    ) -> [u64; 32] {
        self.all_any(first, second, lanes)
    }

    #[inline(always)]
    fn all_any(&self, first: u64, second: u64, lanes: impl FnOnce() -> [u64; 32]) -> [u64; 32] {
        let narrow = |step: &i64| (first as u32).wrapping_add(*step as u32);
        let mut all = [0; 32];
        match self {
            Addresses::Lanes => return lanes(),
            Addresses::Steps { wide: true, steps } => {
                let both = all.iter_mut().zip(&**steps);
                both.for_each(|(at, step)| *at = first.wrapping_add(*step as u64));
            }
            Addresses::Steps { wide: false, steps } => {
                let both = all.iter_mut().zip(&**steps);
                both.for_each(|(at, step)| *at = narrow(step).into());
            }
            Addresses::Extended { steps, scale, signed: false } => {
                for (at, step) in all.iter_mut().zip(&**steps) {
                    let wide = u64::from(narrow(step));
                    *at = second.wrapping_add(wide.wrapping_mul(*scale as u64));
                }
            }
            Addresses::Extended { steps, scale, signed: true } => {
                for (at, step) in all.iter_mut().zip(&**steps) {
                    let wide = i64::from(narrow(step) as i32);
                    *at = second.wrapping_add(wide.wrapping_mul(*scale) as u64);
                }
            }
        }
        all
    }
}

/// The number of a barrier at which all threads of the block wait, if the code says it.
pub(crate) fn barrier_number(inst: &Inst) -> Option<u32> {
    let all = inst.src.iter().skip(1).all(|s| matches!(s, Src::None));
    match inst.src.first() {
        Some(Src::Imm(n)) if all => Some(*n as u32 & 15),
        _ => None,
    }
}

/// Whether a load or store is to be one access, of 8 or 16 bytes. PTX leaves the order of a vector's
/// parts open (8.2, "Vector Data-types"), yet GPUs move up to 16 bytes at once, and CUB's scans hand state and value
/// from block to block that way.
pub(crate) fn at_once(access: &Access) -> bool {
    access.parts > 1 && matches!(access.bytes(), 8 | 16) && access.is_shared()
}
