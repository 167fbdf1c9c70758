//! The operands of a vector instruction: 64 lanes each.
//!
//! Owns: the operands and results of one vector operation, and the loops over lanes. Must not know: registers,
//! encodings, EXEC beyond a mask. The loops have no branches that depend on a lane, so that the compiler vectorises
//! them; inactive lanes are computed, too, and not written.

use crate::num;

/// Lanes of a wave.
pub const LANES: usize = 64;

/// One 32-bit register.
pub type Reg = [u32; LANES];

/// The operands and results.
#[derive(Clone, Debug)]
pub struct Lanes {
    /// Sources, low words.
    pub s: [Reg; 3],
    /// Sources, high words, where they have any.
    pub h: [Reg; 3],
    /// Destination: up to four words; initially the former value for instructions that accumulate.
    pub d: [Reg; 4],
    /// A mask as a source, such as carries in.
    pub mask: u64,
    /// A mask as a result: of a compare, or carries out. The caller clears inactive lanes.
    pub out: u64,
    /// VCC, which v_div_fmas reads.
    pub vcc: u64,
    /// The active lanes.
    pub exec: u64,
}

impl Default for Lanes {
    fn default() -> Lanes {
        Lanes {
            s: [[0; LANES]; 3],
            h: [[0; LANES]; 3],
            d: [[0; LANES]; 4],
            mask: 0,
            out: 0,
            vcc: 0,
            exec: 0,
        }
    }
}

#[inline(always)]
fn f(x: u32) -> f32 {
    f32::from_bits(x)
}

impl Lanes {
    /// 64 bits of a source.
    #[inline(always)]
    pub fn q(&self, source: usize, lane: usize) -> u64 {
        u64::from(self.s[source][lane]) | u64::from(self.h[source][lane]) << 32
    }

    /// Sets 64 bits of the destination.
    #[inline(always)]
    pub fn set_q(&mut self, lane: usize, value: u64) {
        self.d[0][lane] = value as u32;
        self.d[1][lane] = (value >> 32) as u32;
    }

    /// Words of one source.
    #[inline(always)]
    pub fn u1(&mut self, op: impl Fn(u32) -> u32) {
        for i in 0..LANES {
            self.d[0][i] = op(self.s[0][i]);
        }
    }

    /// Words of two sources.
    #[inline(always)]
    pub fn u2(&mut self, op: impl Fn(u32, u32) -> u32) {
        for i in 0..LANES {
            self.d[0][i] = op(self.s[0][i], self.s[1][i]);
        }
    }

    /// Words of three sources.
    #[inline(always)]
    pub fn u3(&mut self, op: impl Fn(u32, u32, u32) -> u32) {
        for i in 0..LANES {
            self.d[0][i] = op(self.s[0][i], self.s[1][i], self.s[2][i]);
        }
    }

    /// Signed words.
    #[inline(always)]
    pub fn i2(&mut self, op: impl Fn(i32, i32) -> i32) {
        self.u2(|a, b| op(a as i32, b as i32) as u32);
    }

    /// Signed words.
    #[inline(always)]
    pub fn i3(&mut self, op: impl Fn(i32, i32, i32) -> i32) {
        self.u3(|a, b, c| op(a as i32, b as i32, c as i32) as u32);
    }

    /// Floats.
    #[inline(always)]
    pub fn f1(&mut self, op: impl Fn(f32) -> f32) {
        self.u1(|a| op(f(a)).to_bits());
    }

    /// Floats.
    #[inline(always)]
    pub fn f2(&mut self, op: impl Fn(f32, f32) -> f32) {
        self.u2(|a, b| op(f(a), f(b)).to_bits());
    }

    /// Floats.
    #[inline(always)]
    pub fn f3(&mut self, op: impl Fn(f32, f32, f32) -> f32) {
        self.u3(|a, b, c| op(f(a), f(b), f(c)).to_bits());
    }

    /// Halves, computed as floats and rounded again: right for operations whose float result has
    /// enough bits.
    #[inline(always)]
    pub fn h1(&mut self, op: impl Fn(f32) -> f32) {
        self.u1(|a| num::f2h(op(num::h2f(a))));
    }

    /// Halves.
    #[inline(always)]
    pub fn h2(&mut self, op: impl Fn(f32, f32) -> f32) {
        self.u2(|a, b| num::f2h(op(num::h2f(a), num::h2f(b))));
    }

    /// Halves.
    #[inline(always)]
    pub fn h3(&mut self, op: impl Fn(f32, f32, f32) -> f32) {
        self.u3(|a, b, c| num::f2h(op(num::h2f(a), num::h2f(b), num::h2f(c))));
    }

    /// 64 bits of one source.
    #[inline(always)]
    pub fn q1(&mut self, op: impl Fn(u64) -> u64) {
        for i in 0..LANES {
            self.set_q(i, op(self.q(0, i)));
        }
    }

    /// 64 bits of two sources.
    #[inline(always)]
    pub fn q2(&mut self, op: impl Fn(u64, u64) -> u64) {
        for i in 0..LANES {
            self.set_q(i, op(self.q(0, i), self.q(1, i)));
        }
    }

    /// Doubles.
    #[inline(always)]
    pub fn d1(&mut self, op: impl Fn(f64) -> f64) {
        self.q1(|a| op(f64::from_bits(a)).to_bits());
    }

    /// Doubles.
    #[inline(always)]
    pub fn d2(&mut self, op: impl Fn(f64, f64) -> f64) {
        self.q2(|a, b| op(f64::from_bits(a), f64::from_bits(b)).to_bits());
    }

    /// Doubles.
    #[inline(always)]
    pub fn d3(&mut self, op: impl Fn(f64, f64, f64) -> f64) {
        for i in 0..LANES {
            let [a, b, c] = [0, 1, 2].map(|k| f64::from_bits(self.q(k, i)));
            self.set_q(i, op(a, b, c).to_bits());
        }
    }

    /// Computes a word from a double.
    #[inline(always)]
    pub fn from_d(&mut self, op: impl Fn(f64) -> u32) {
        for i in 0..LANES {
            self.d[0][i] = op(f64::from_bits(self.q(0, i)));
        }
    }

    /// Computes a double from a word.
    #[inline(always)]
    pub fn to_d(&mut self, op: impl Fn(u32) -> f64) {
        for i in 0..LANES {
            self.set_q(i, op(self.s[0][i]).to_bits());
        }
    }

    /// A sum or difference with carries.
    #[inline(always)]
    pub fn carry(&mut self, op: impl Fn(u32, u32, bool) -> (u32, bool)) {
        let mut out = 0;
        for i in 0..LANES {
            let (value, carry) = op(self.s[0][i], self.s[1][i], self.mask >> i & 1 == 1);
            self.d[0][i] = value;
            out |= u64::from(carry) << i;
        }
        self.out = out;
    }

    /// A compare of words.
    #[inline(always)]
    pub fn cmp(&mut self, op: impl Fn(u32, u32) -> bool) {
        let mut out = 0;
        for i in 0..LANES {
            out |= u64::from(op(self.s[0][i], self.s[1][i])) << i;
        }
        self.out = out;
    }

    /// A compare of 64 bits.
    #[inline(always)]
    pub fn cmp_q(&mut self, op: impl Fn(u64, u64) -> bool) {
        let mut out = 0;
        for i in 0..LANES {
            out |= u64::from(op(self.q(0, i), self.q(1, i))) << i;
        }
        self.out = out;
    }
}
