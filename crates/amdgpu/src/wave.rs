//! A wave: 64 or 32 lanes and their registers.
//!
//! Owns: registers and the value of a source operand. Must not know: instructions.

use crate::inst::Operand;
use crate::lanes::{LANES, Reg};
use crate::target::Target;

/// Address of the LDS window; its high word identifies it.
pub const SHARED_BASE: u64 = 0x1_0000_0000_0000;
/// Address of the window of a lane's own memory.
pub const PRIVATE_BASE: u64 = 0x2_0000_0000_0000;

/// Vector registers: 256, followed by the accumulation registers.
pub const REGISTERS: usize = 512;

/// MODE: how floats are computed.
pub const MODE_DEFAULT: u32 = 0xf0;

/// What a wave waits for, or that it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It can run.
    Ready,
    /// At a barrier.
    Barrier,
    /// It has ended.
    Ended,
}

/// A wave.
#[derive(Debug)]
pub struct Wave {
    /// Its instruction set, and its number of lanes; higher lanes are never active.
    pub target: Target,
    /// Scalar registers by AMD's numbers: up to 101 general ones, VCC, M0, EXEC.
    pub s: [u32; 128],
    /// Vector registers.
    pub v: Box<[Reg]>,
    /// The address of the next instruction.
    pub pc: u64,
    /// SCC.
    pub scc: bool,
    /// MODE.
    pub mode: u32,
    /// What it waits for.
    pub state: State,
    /// The lanes' own memory: word after word, 64 lanes of each.
    pub scratch: Vec<u32>,
    /// Relative addressing of vector registers: which operands, by how much.
    pub index: Option<(u8, u8)>,
    /// Its number in the workgroup.
    pub number: u32,
}

impl Wave {
    /// A wave with all registers zero.
    pub fn new() -> Wave {
        Wave {
            target: Target::default(),
            s: [0; 128],
            v: vec![[0; LANES]; REGISTERS].into_boxed_slice(),
            pc: 0,
            scc: false,
            mode: MODE_DEFAULT,
            state: State::Ready,
            scratch: Vec::new(),
            index: None,
            number: 0,
        }
    }

    /// EXEC.
    #[inline(always)]
    pub fn exec(&self) -> u64 {
        self.mask(126)
    }

    /// VCC.
    #[inline(always)]
    pub fn vcc(&self) -> u64 {
        self.mask(106)
    }

    /// A mask of lanes in scalar registers: two, or one of a wave of 32 lanes.
    #[inline(always)]
    pub fn mask(&self, first: usize) -> u64 {
        if self.target.wave32 { u64::from(self.s[first & 127]) } else { self.pair(first) }
    }

    /// Sets a mask of lanes.
    #[inline(always)]
    pub fn set_mask(&mut self, first: usize, value: u64) {
        if self.target.wave32 {
            self.s[first & 127] = value as u32;
        } else {
            self.set_pair(first, value);
        }
    }

    /// Two scalar registers.
    #[inline(always)]
    pub fn pair(&self, first: usize) -> u64 {
        u64::from(self.s[first & 127]) | u64::from(self.s[(first + 1) & 127]) << 32
    }

    /// Sets two scalar registers.
    #[inline(always)]
    pub fn set_pair(&mut self, first: usize, value: u64) {
        // RDNA's null; on CDNA the number is reserved, and no pair begins at an odd number.
        if first == usize::from(Operand::NULL.0) {
            return;
        }
        self.s[first & 127] = value as u32;
        self.s[(first + 1) & 127] = (value >> 32) as u32;
    }

    /// The value of a scalar source as 32 bits.
    #[inline]
    pub fn scalar32(&self, operand: Operand, literal: u32) -> u32 {
        match operand.0 {
            125 => 0,
            n @ 0..=127 => self.s[usize::from(n)],
            255 => literal,
            n => constant(n).unwrap_or_else(|| self.special(n) as u32),
        }
    }

    /// The value of a scalar source as a 64-bit integer.
    #[inline]
    pub fn scalar64(&self, operand: Operand, literal: u32) -> u64 {
        match operand.0 {
            125 => 0,
            n @ 0..=127 => self.pair(usize::from(n)),
            255 => u64::from(literal),
            n @ 128..=208 => constant(n).unwrap_or(0) as i32 as u64,
            n @ 240..=248 => double(n),
            n => self.special(n),
        }
    }

    /// A mask of lanes as a source.
    #[inline]
    pub fn mask_source(&self, operand: Operand, literal: u32) -> u64 {
        match operand.0 {
            n @ (0..=124 | 126..=127) => self.mask(usize::from(n)),
            _ if self.target.wave32 => u64::from(self.scalar32(operand, literal)),
            _ => self.scalar64(operand, literal),
        }
    }

    /// The value of a source that is neither register nor constant.
    fn special(&self, number: u16) -> u64 {
        match number {
            235 => SHARED_BASE,
            236 => SHARED_BASE + 0xffff_ffff,
            237 => PRIVATE_BASE,
            238 => PRIVATE_BASE + 0xffff_ffff,
            251 => u64::from(self.vcc() == 0),
            252 => u64::from(self.exec() == 0),
            253 => u64::from(self.scc),
            _ => 0,
        }
    }

    /// The high word of an aperture, which 32-bit instructions read.
    pub fn aperture(number: u16) -> Option<u32> {
        match number {
            235 => Some((SHARED_BASE >> 32) as u32),
            236 => Some(0xffff_ffff),
            237 => Some((PRIVATE_BASE >> 32) as u32),
            238 => Some(0xffff_ffff),
            _ => None,
        }
    }

    /// The first active lane, or lane 0.
    pub fn first_lane(&self) -> usize {
        match self.exec() {
            0 => 0,
            exec => exec.trailing_zeros() as usize,
        }
    }

    /// A mask's bits without the lanes that are off.
    pub fn scratch_bytes(&self) -> u64 {
        (self.scratch.len() / LANES * 4) as u64
    }
}

impl Default for Wave {
    fn default() -> Wave {
        Wave::new()
    }
}

/// A constant of 32 bits; the floating ones are floats.
#[inline]
pub fn constant(number: u16) -> Option<u32> {
    Some(match number {
        128..=192 => u32::from(number) - 128,
        193..=208 => 192u32.wrapping_sub(u32::from(number)),
        240..=248 => (double_value(number) as f32).to_bits(),
        _ => return Option::None,
    })
}

/// The floating constants.
fn double_value(number: u16) -> f64 {
    match number {
        240 => 0.5,
        241 => -0.5,
        242 => 1.0,
        243 => -1.0,
        244 => 2.0,
        245 => -2.0,
        246 => 4.0,
        247 => -4.0,
        _ => 0.159_154_943_091_895_32,
    }
}

/// A floating constant as a double.
pub fn double(number: u16) -> u64 {
    double_value(number).to_bits()
}

/// A floating constant as a half.
pub fn half(number: u16) -> u32 {
    crate::num::d2h(double_value(number))
}
