//! The instruction sets, and the number of lanes of a wave.

/// An instruction set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isa {
    /// CDNA 2: gfx90a.
    #[default]
    Cdna2,
    /// RDNA 2: gfx1030.
    Rdna2,
}

/// How to decode instructions: their set, and the lanes of a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The set.
    pub isa: Isa,
    /// Masks are of 32 bits.
    pub wave32: bool,
}

impl Target {
    /// gfx90a.
    pub const GFX90A: Target = Target { isa: Isa::Cdna2, wave32: false };
    /// gfx1030, with waves of 32 lanes.
    pub const GFX1030: Target = Target { isa: Isa::Rdna2, wave32: true };

    /// Whether it is RDNA.
    pub fn rdna(self) -> bool {
        self.isa == Isa::Rdna2
    }

    /// Lanes of a wave.
    pub fn lanes(self) -> usize {
        if self.wave32 { 32 } else { 64 }
    }
}

impl Default for Target {
    fn default() -> Target {
        Target::GFX90A
    }
}
