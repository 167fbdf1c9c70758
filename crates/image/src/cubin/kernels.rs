//! Resource numbers of a cubin's kernels, and its variables.
//!
//! Numbers mean what `cuobjdump --dump-resource-usage` prints: registers from
//! REGCOUNT, stack from MIN_STACK_SIZE, shared, local and constant sizes from
//! the sections that `sh_info` links to the kernel's text.

use super::info::{self, Record};
use super::{Cubin, LE};
use crate::error::Result;
use crate::kernel::{Global, Kernel, Stack};
use crate::limits::Limits;
use crate::work::Work;
use object::elf;
use object::read::elf::{SectionHeader, Sym};
use std::collections::HashMap;

const MAX_THREADS: u8 = 0x05;
const EXTERNS: u8 = 0x0F;
const REQNTID: u8 = 0x10;
const FRAME_SIZE: u8 = 0x11;
const MIN_STACK_SIZE: u8 = 0x12;
const MAXREG_COUNT: u8 = 0x1B;
const REGCOUNT: u8 = 0x2F;
const CTA_PER_CLUSTER: u8 = 0x3D;
const NUM_BARRIERS: u8 = 0x4C;

/// Symbol type of a variable in a relocatable cubin (measured).
const STT_CUDA_OBJECT: u8 = 13;
/// `st_other` bit of a managed variable (measured).
const STO_MANAGED: u8 = 0x04;
/// MAXREG_COUNT for "none" and MIN_STACK_SIZE for "unknown".
const UNLIMITED: u16 = 0xFF;
const UNKNOWN: u32 = u32::MAX;

/// Numbers of the module-wide `.nv.info`, by symbol index.
#[derive(Default)]
struct PerSymbol {
    registers: HashMap<u32, u32>,
    frame: HashMap<u32, u32>,
    min_stack: HashMap<u32, u32>,
}

/// Sizes of the sections that belong to one text section.
#[derive(Default, Clone)]
struct PerText {
    shared: u32,
    local: u32,
    constants: Vec<(u32, u64)>,
}

impl<'a> Cubin<'a> {
    /// Every kernel, in symbol order.
    pub fn kernels(&self, limits: &Limits) -> Result<Vec<Kernel>> {
        let mut functions = self.functions(limits)?;
        functions.retain(|function| !function.device);
        Ok(functions)
    }

    /// Every kernel, and every device function that has a section of its own.
    pub fn functions(&self, limits: &Limits) -> Result<Vec<Kernel>> {
        let symbols = self.per_symbol()?;
        let texts = self.per_text();
        let infos = self.info_sections();
        // Several symbols may refer to one text section, and several attributes to one symbol with
        // a long name.
        let mut work = Work::new(self.data.len(), limits);
        let mut out = Vec::new();
        for (symbol, name, text, entry) in self.code_symbols() {
            let section = self.sections.section(object::SectionIndex(text)).ok();
            let place = section.map(|section| self.section_name(section)).unwrap_or_default();
            if !entry && place.strip_prefix(b".text.") != Some(name) {
                continue;
            }
            let index = symbol as u32;
            let sections = texts.get(text);
            work.look(16 * sections.map_or(0, |of| of.constants.len()) as u64, 0)?;
            let sections = sections.cloned().unwrap_or_default();
            let mut kernel = Kernel {
                name: String::from_utf8_lossy(name).into_owned(),
                device: !entry,
                registers: symbols.registers.get(&index).copied(),
                stack: symbols.stack(index),
                frame: symbols.frame.get(&index).copied(),
                shared: Some(sections.shared),
                local: Some(sections.local),
                constants: sections.constants,
                ..Kernel::default()
            };
            if let Some(section) = section {
                kernel.code = Some(section.sh_size(LE));
                // ABI 7 before REGCOUNT existed: bits 24–31 of `sh_info`.
                let old = section.sh_info(LE) >> 24;
                kernel.registers = kernel.registers.or(Some(old).filter(|&count| count > 0));
                kernel.barriers = Some(((section.sh_flags(LE).0 >> 20) & 0x7F) as u32);
            }
            if let Some(section) = infos.get(text).copied().flatten() {
                let (data, at) = (self.section_data(section)?, section.sh_offset(LE));
                work.look(data.len() as u64, at)?;
                self.attributes(&mut kernel, data, at, &mut work)?;
                kernel.params = info::params(data, at, limits)?;
            }
            out.push(kernel);
        }
        Ok(out)
    }

    /// Reads the attributes other than parameters in a kernel's own `.nv.info` section.
    fn attributes(
        &self,
        kernel: &mut Kernel,
        data: &[u8],
        base: u64,
        work: &mut Work,
    ) -> Result<()> {
        for record in info::records(data, base) {
            let Record { attribute, value } = record?;
            let triple =
                || Ok::<_, crate::error::Error>([value.u32(0)?, value.u32(4)?, value.u32(8)?]);
            match attribute {
                MAX_THREADS => kernel.max_threads = Some(triple()?),
                REQNTID => kernel.required_threads = Some(triple()?),
                CTA_PER_CLUSTER => kernel.cluster = Some(triple()?),
                MAXREG_COUNT => {
                    let count = Some(value.u16(0)?).filter(|&count| count != UNLIMITED);
                    kernel.max_registers = count.map(u32::from);
                }
                NUM_BARRIERS => kernel.barriers = Some(value.u8(0)?.into()),
                EXTERNS => {
                    for at in (0..value.len() as u64 / 4).map(|index| index * 4) {
                        let index = object::SymbolIndex(value.u32(at)? as usize);
                        if let Ok(symbol) = self.symbols.symbol(index)
                            && let Ok(name) = symbol.name(LE, self.symbols.strings())
                        {
                            work.look(name.len() as u64, value.base() + at)?;
                            kernel.externs.push(String::from_utf8_lossy(name).into_owned());
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn per_symbol(&self) -> Result<PerSymbol> {
        let mut out = PerSymbol::default();
        let section =
            self.sections.iter().find(|section| self.section_name(section) == b".nv.info");
        let Some(section) = section else { return Ok(out) };
        for record in info::records(self.section_data(section)?, section.sh_offset(LE)) {
            let Record { attribute, value } = record?;
            let table = match attribute {
                REGCOUNT => &mut out.registers,
                FRAME_SIZE => &mut out.frame,
                MIN_STACK_SIZE => &mut out.min_stack,
                _ => continue,
            };
            table.insert(value.u32(0)?, value.u32(4)?);
        }
        Ok(out)
    }

    fn per_text(&self) -> Vec<PerText> {
        let mut out = vec![PerText::default(); self.sections.len()];
        for section in self.sections.iter() {
            let name = self.section_name(section);
            let Some(slot) = out.get_mut(section.sh_info(LE) as usize) else { continue };
            let size = section.sh_size(LE);
            if name.starts_with(b".nv.shared.") {
                slot.shared = u32::try_from(size).unwrap_or(u32::MAX);
            } else if name.starts_with(b".nv.local.") {
                slot.local = u32::try_from(size).unwrap_or(u32::MAX);
            } else if let Some(bank) = constant_bank(name)
                && name.iter().filter(|&&byte| byte == b'.').count() > 2
            {
                slot.constants.push((bank, size));
            }
        }
        out
    }

    /// Module-wide memory by section: `("global", bytes)`, `("constant3", …)`.
    pub fn memory(&self) -> Vec<(String, u64)> {
        let mut global = 0u64;
        let mut out = Vec::new();
        for section in self.sections.iter() {
            let name = self.section_name(section);
            let size = section.sh_size(LE);
            if name == b".nv.global" || name == b".nv.global.init" {
                global = global.saturating_add(size);
            } else if let Some(bank) = constant_bank(name)
                && name.iter().filter(|&&byte| byte == b'.').count() == 2
            {
                out.push((format!("constant{bank}"), size));
            }
        }
        out.insert(0, ("global".to_owned(), global));
        out
    }

    /// Every variable that is defined, in symbol order.
    pub fn globals(&self, limits: &Limits) -> Result<Vec<Global>> {
        let mut work = Work::new(self.data.len(), limits);
        let mut out = Vec::new();
        for (index, symbol) in self.symbols.enumerate() {
            let kind = symbol.st_type();
            let variable = kind == elf::STT_OBJECT || kind.0 == STT_CUDA_OBJECT;
            if !variable || symbol.is_undefined(LE) || symbol.st_size(LE) == 0 {
                continue;
            }
            let (Ok(name), Ok(Some(section))) = (
                symbol.name(LE, self.symbols.strings()),
                self.symbols.symbol_section(LE, symbol, index),
            ) else {
                continue;
            };
            let Ok(section) = self.sections.section(section) else { continue };
            let place = self.section_name(section);
            work.look(place.len() as u64, section.sh_offset(LE))?;
            let place = String::from_utf8_lossy(place).into_owned();
            let space = match place.trim_start_matches(".nv.") {
                _ if symbol.st_other().0 & STO_MANAGED != 0 => "managed",
                "global.init" => "global",
                place => place,
            };
            out.push(Global {
                name: String::from_utf8_lossy(name).into_owned(),
                space: space.to_owned(),
                size: symbol.st_size(LE),
            });
        }
        Ok(out)
    }
}

impl PerSymbol {
    fn stack(&self, index: u32) -> Option<Stack> {
        self.min_stack.get(&index).map(|&size| match size {
            UNKNOWN => Stack::Unbounded,
            size => Stack::Bytes(size),
        })
    }
}

/// 3 for `.nv.constant3` and `.nv.constant3.NAME`.
fn constant_bank(name: &[u8]) -> Option<u32> {
    let digits = name.strip_prefix(b".nv.constant")?;
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    std::str::from_utf8(digits.get(..end)?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
