//! The rows of gfx90a (CDNA 2) in each format.

use super::encoding::Encoding;
use super::row::Row;
use super::{memory, packed, scalar, vop1, vop2, vop3, vopc};

/// All rows of an encoding; those of VOP3 are the ones that no other encoding has.
pub fn rows(encoding: Encoding) -> &'static [Row] {
    match encoding {
        Encoding::Sop2 => scalar::SOP2,
        Encoding::Sopk => scalar::SOPK,
        Encoding::Sop1 => scalar::SOP1,
        Encoding::Sopc => scalar::SOPC,
        Encoding::Sopp => scalar::SOPP,
        Encoding::Smem => memory::SMEM,
        Encoding::Vop1 => vop1::VOP1,
        Encoding::Vop2 => vop2::VOP2,
        Encoding::Vop3 => vop3::VOP3,
        Encoding::Vop3p => packed::VOP3P,
        Encoding::Vopc => vopc::VOPC,
        Encoding::Ds => memory::DS,
        Encoding::Flat => memory::FLAT,
        Encoding::Global => memory::GLOBAL,
        Encoding::Scratch => memory::SCRATCH,
        Encoding::Mubuf => memory::MUBUF,
        Encoding::Mtbuf => memory::MTBUF,
    }
}
