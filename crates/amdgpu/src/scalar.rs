//! The operands of a scalar instruction.
//!
//! Owns: the operands and results of one scalar operation. Must not know: registers, encodings.

/// Operands (zero-extended to 64 bits, or sign-extended where the operand is a constant) and results.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scalar {
    /// The first source.
    pub a: u64,
    /// The second source.
    pub b: u64,
    /// The destination, initially its former value.
    pub d: u64,
    /// SCC, in and out.
    pub scc: bool,
    /// EXEC, in and out.
    pub exec: u64,
}

impl Scalar {
    /// A 32-bit result whose SCC says whether it is not zero.
    #[inline(always)]
    pub fn logic32(&mut self, value: u32) {
        self.d = u64::from(value);
        self.scc = value != 0;
    }

    /// A 64-bit result whose SCC says whether it is not zero.
    #[inline(always)]
    pub fn logic64(&mut self, value: u64) {
        self.d = value;
        self.scc = value != 0;
    }

    /// The destination becomes EXEC, and EXEC the value.
    #[inline(always)]
    pub fn save(&mut self, value: u64) {
        self.d = self.exec;
        self.exec = value;
        self.scc = value != 0;
    }

    /// As `save`, for a wave of 32 lanes.
    #[inline(always)]
    pub fn save32(&mut self, value: u64) {
        self.save(value & 0xffff_ffff);
    }

    /// The sources as 32 bits.
    #[inline(always)]
    pub fn words(&self) -> (u32, u32) {
        (self.a as u32, self.b as u32)
    }

    /// The sources as signed.
    #[inline(always)]
    pub fn ints(&self) -> (i32, i32) {
        (self.a as i32, self.b as i32)
    }
}
