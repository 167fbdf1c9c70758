//! `.nv.info` attribute records and the parameter layout in them.
//!
//! A record is `u8 format, u8 attribute` and then, by format: 1 two bytes of padding, 2 a byte and padding, 3 a
//! `u16`, 4 a `u16` length and that many bytes (measured; names of attributes: [`super::eiattr`]).

use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::params::layout::{Param, ParamLayout};

/// Total size of the parameters (format 3).
pub const CBANK_PARAM_SIZE: u8 = 0x19;
/// Constant bank section symbol, base offset and total size (format 4).
pub const PARAM_CBANK: u8 = 0x0A;
/// One parameter, size in 14 bits.
pub const KPARAM_INFO: u8 = 0x17;
/// One parameter, size in 16 bits; for all parameters of a large block.
pub const KPARAM_INFO_V2: u8 = 0x45;

/// One attribute record.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// The attribute's code.
    pub attribute: u8,
    /// The value: 0, 1, 2 or any number of bytes by the record's format.
    pub value: Bytes<'a>,
}

/// The records of one `.nv.info` section that begins at `base` of its cubin. Ends after an error:
/// records behind a bad one cannot be found.
pub fn records(section: &[u8], base: u64) -> Records<'_> {
    Records { bytes: Bytes::new(section, base, ".nv.info record"), at: 0 }
}

/// Iterator returned by [`records`].
#[derive(Debug, Clone)]
pub struct Records<'a> {
    bytes: Bytes<'a>,
    at: u64,
}

impl<'a> Records<'a> {
    fn read(&mut self) -> Result<Record<'a>> {
        let at = self.at;
        let (format, attribute) = (self.bytes.u8(at)?, self.bytes.u8(at + 1)?);
        let (start, length) = match format {
            1 => (at + 2, 0),
            2 => (at + 2, 1),
            3 => (at + 2, 2),
            4 => (at + 4, u64::from(self.bytes.u16(at + 2)?)),
            other => return Err(self.bytes.field(at, "format", other.into(), "1 to 4")),
        };
        let value = self.bytes.part(start, length, ".nv.info value")?;
        self.at = if format == 4 { start + length } else { at + 4 };
        Ok(Record { attribute, value })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() as u64 {
            return None;
        }
        let record = self.read();
        if record.is_err() {
            self.at = u64::MAX;
        }
        Some(record)
    }
}

/// The parameter layout that a kernel's `.nv.info` section describes.
pub fn params(section: &[u8], base: u64, limits: &Limits) -> Result<ParamLayout> {
    let mut size = None;
    let mut found: Vec<(u16, Param)> = Vec::new();
    for record in records(section, base) {
        let Record { attribute, value } = record?;
        match attribute {
            CBANK_PARAM_SIZE => size = Some(u32::from(value.u16(0)?)),
            PARAM_CBANK => size = size.or(Some(value.u16(6)?.into())),
            KPARAM_INFO => {
                let param = Param { offset: value.u16(6)?.into(), size: value.u32(8)? >> 18 };
                found.push((value.u16(4)?, param));
            }
            KPARAM_INFO_V2 => {
                let param = Param { offset: value.u16(6)?.into(), size: value.u16(8)?.into() };
                found.push((value.u16(4)?, param));
            }
            _ => {}
        }
        if found.len() > limits.max_items {
            return Err(Error::TooBig {
                what: "kernel parameters",
                at: base,
                found: found.len() as u64,
                limit: limits.max_items as u64,
                name: "max_items",
            });
        }
    }
    found.sort_by_key(|&(ordinal, _)| ordinal);
    for (index, &(ordinal, _)) in found.iter().enumerate() {
        if index != usize::from(ordinal) {
            return Err(Error::Field {
                what: ".nv.info parameters",
                field: "ordinal",
                at: base,
                found: ordinal.into(),
                expected: format!("{index}, each ordinal once"),
            });
        }
    }
    let params: Vec<Param> = found.into_iter().map(|(_, param)| param).collect();
    let end = params.iter().map(|param| param.offset + param.size).max().unwrap_or(0);
    Ok(ParamLayout { size: size.unwrap_or(end), params, types: Vec::new() })
}
