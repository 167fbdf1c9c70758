//! Instructions as text, as LLVM's assembler writes them.
//!
//! Owns: names and operands of supported instructions. Must not know: bits. The text is for messages; operands of
//! unsupported instructions are left out.

mod memory;

use std::fmt;

use crate::inst::{Form, Inst, Operand};
use crate::table::{Control, Cross, Encoding, Exec, Kind, Vector};
use crate::target::Target;

/// Registers or a constant of `count` words, and the value of a literal.
struct Shown(Target, Operand, u32, u32);

/// Registers of a mask.
fn mask(target: Target) -> u32 {
    if target.wave32 { 1 } else { 2 }
}

const NAMES: &[(u16, &str, &str)] = &[
    (102, "flat_scratch_lo", "flat_scratch"),
    (103, "flat_scratch_hi", ""),
    (104, "xnack_mask_lo", "xnack_mask"),
    (105, "xnack_mask_hi", ""),
    (106, "vcc_lo", "vcc"),
    (107, "vcc_hi", ""),
    (124, "m0", ""),
    (126, "exec_lo", "exec"),
    (127, "exec_hi", ""),
    (235, "src_shared_base", "src_shared_base"),
    (236, "src_shared_limit", "src_shared_limit"),
    (237, "src_private_base", "src_private_base"),
    (238, "src_private_limit", "src_private_limit"),
    (239, "src_pops_exiting_wave_id", "src_pops_exiting_wave_id"),
    (240, "0.5", "0.5"),
    (241, "-0.5", "-0.5"),
    (242, "1.0", "1.0"),
    (243, "-1.0", "-1.0"),
    (244, "2.0", "2.0"),
    (245, "-2.0", "-2.0"),
    (246, "4.0", "4.0"),
    (247, "-4.0", "-4.0"),
    (248, "0.15915494", "0.15915494309189532"),
    (251, "src_vccz", "src_vccz"),
    (252, "src_execz", "src_execz"),
    (253, "src_scc", "src_scc"),
];

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(target, operand, count, literal) = *self;
        let range = |f: &mut fmt::Formatter<'_>, letter: &str, first: u16| match count {
            0 | 1 => write!(f, "{letter}{first}"),
            n => write!(f, "{letter}[{first}:{}]", u32::from(first) + n - 1),
        };
        match operand.0 {
            n @ 0..=101 => range(f, "s", n),
            n @ 102..=105 if target.rdna() => range(f, "s", n),
            125 => f.write_str("null"),
            n @ 108..=123 => range(f, "ttmp", n - 108),
            n @ 128..=192 => write!(f, "{}", n - 128),
            n @ 193..=208 => write!(f, "-{}", n - 192),
            255 => write!(f, "{literal:#x}"),
            n @ 256..=511 => range(f, "v", n - 256),
            n @ 512..=767 => range(f, "a", n - 512),
            n => match NAMES.iter().find(|(number, ..)| *number == n) {
                Some((_, one, two)) => f.write_str(if count == 2 { two } else { one }),
                None => write!(f, "?{n}"),
            },
        }
    }
}

/// How many registers an operand has.
fn registers(inst: &Inst, kind: Kind) -> u32 {
    if kind == Kind::Mask { mask(inst.target) } else { kind.registers() }
}

/// Joins operands with commas.
struct List<'a, 'b> {
    f: &'a mut fmt::Formatter<'b>,
    some: bool,
}

impl List<'_, '_> {
    fn put(&mut self, what: fmt::Arguments<'_>) -> fmt::Result {
        self.f.write_str(if self.some { ", " } else { " " })?;
        self.some = true;
        self.f.write_fmt(what)
    }

    fn operand(&mut self, inst: &Inst, operand: Operand, kind: Kind) -> fmt::Result {
        self.put(format_args!(
            "{}",
            Shown(inst.target, operand, registers(inst, kind), inst.literal)
        ))
    }

    /// A source with its modifiers.
    fn source(&mut self, inst: &Inst, at: usize, kind: Kind) -> fmt::Result {
        let Some(source) = inst.src.get(at) else { return Ok(()) };
        let shown = Shown(inst.target, *source, registers(inst, kind), inst.literal);
        let packed = inst.encoding == Encoding::Vop3p;
        let (abs, neg) = (inst.abs >> at & 1 == 1, inst.neg >> at & 1 == 1);
        let sext = matches!(inst.form, Form::Sdwa(s) if s.extend.get(at) == Some(&true));
        if packed && kind != Kind::Mix || !kind.float() {
            return if sext {
                self.put(format_args!("sext({shown})"))
            } else {
                self.put(format_args!("{shown}"))
            };
        }
        self.put(format_args!(
            "{}{}{shown}{}",
            if neg { "-" } else { "" },
            if abs { "|" } else { "" },
            if abs { "|" } else { "" }
        ))
    }
}

impl fmt::Display for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row.name)?;
        match (&self.row.exec, self.encoding, self.form) {
            (Exec::Vector(_) | Exec::Compare { .. }, _, Form::Dpp(_) | Form::Dpp8(..)) => {
                f.write_str("_dpp")?
            }
            (Exec::Vector(_) | Exec::Compare { .. }, _, Form::Sdwa(_)) => f.write_str("_sdwa")?,
            _ => {}
        }
        let mut list = List { f, some: false };
        match &self.row.exec {
            Exec::Scalar { kinds, .. } => scalar(self, kinds, &mut list),
            Exec::Control(what) => control(self, *what, &mut list),
            Exec::Vector(vector) => vector_operands(self, vector, &mut list),
            Exec::Compare { src, .. } => {
                if self.mask != Operand::NONE {
                    list.operand(self, self.mask, Kind::Mask)?;
                }
                list.source(self, 0, src[0])?;
                list.source(self, 1, src[1])
            }
            Exec::Cross(what) => cross(self, *what, &mut list),
            Exec::Memory(access) => memory::vector(self, *access, &mut list),
            Exec::ScalarLoad { words, buffer } => {
                memory::scalar(self, u32::from(*words), *buffer, &mut list)
            }
            Exec::ScalarMemory(crate::table::ScalarMemory::Time) => {
                list.operand(self, self.dst, Kind::B64)
            }
            Exec::ScalarMemory(_) | Exec::Refused => Ok(()),
        }?;
        if matches!(self.row.exec, Exec::Vector(_) | Exec::Compare { .. }) {
            if self.clamp {
                list.f.write_str(" clamp")?;
            }
            if let Some(word) = ["", " mul:2", " mul:4", " div:2"].get(usize::from(self.omod)) {
                list.f.write_str(word)?;
            }
        }
        Ok(())
    }
}

fn scalar(inst: &Inst, kinds: &[Kind; 3], list: &mut List<'_, '_>) -> fmt::Result {
    if kinds[0] != Kind::None {
        list.operand(inst, inst.dst, kinds[0])?;
    }
    if inst.encoding == Encoding::Sopk {
        if kinds[0] == Kind::None {
            list.operand(inst, inst.src[0], Kind::B32)?;
        }
        return list.put(format_args!("{:#x}", inst.offset as u16));
    }
    for (operand, kind) in inst.src.iter().zip(&kinds[1..]) {
        if *operand != Operand::NONE {
            list.operand(inst, *operand, *kind)?;
        }
    }
    Ok(())
}

fn control(inst: &Inst, what: Control, list: &mut List<'_, '_>) -> fmt::Result {
    use Control as C;
    match what {
        C::Branch | C::BranchScc(_) | C::BranchVcc(_) | C::BranchExec(_) => {
            list.put(format_args!("{}", inst.offset as u16))
        }
        // Small numbers are decimal.
        C::Sleep | C::Trap | C::Halt if inst.offset as u16 <= 64 => {
            list.put(format_args!("{}", inst.offset as u16))
        }
        C::Sleep | C::Trap | C::Halt => list.put(format_args!("{:#x}", inst.offset as u16)),
        C::GetPc => list.operand(inst, inst.dst, Kind::B64),
        C::SetPc => list.operand(inst, inst.src[0], Kind::B64),
        C::SwapPc => {
            list.operand(inst, inst.dst, Kind::B64)?;
            list.operand(inst, inst.src[0], Kind::B64)
        }
        C::Call => {
            list.operand(inst, inst.dst, Kind::B64)?;
            list.put(format_args!("{}", inst.offset as u16))
        }
        C::MoveRelS(wide) | C::MoveRelD(wide) => {
            let kind = if wide { Kind::B64 } else { Kind::B32 };
            list.operand(inst, inst.dst, kind)?;
            list.operand(inst, inst.src[0], kind)
        }
        _ => Ok(()),
    }
}

fn vector_operands(inst: &Inst, vector: &Vector, list: &mut List<'_, '_>) -> fmt::Result {
    list.operand(inst, inst.dst, vector.dst)?;
    if vector.mask {
        list.operand(inst, inst.mask, Kind::Mask)?;
    }
    for (at, kind) in vector.src.iter().enumerate() {
        if *kind != Kind::None {
            list.source(inst, at, *kind)?;
        }
    }
    Ok(())
}

fn cross(inst: &Inst, what: Cross, list: &mut List<'_, '_>) -> fmt::Result {
    list.operand(inst, inst.dst, Kind::B32)?;
    list.operand(inst, inst.src[0], Kind::B32)?;
    if matches!(what, Cross::ReadLane | Cross::WriteLane | Cross::PermLane { .. }) {
        list.operand(inst, inst.src[1], Kind::B32)?;
    }
    if matches!(what, Cross::PermLane { .. }) {
        list.operand(inst, inst.src[2], Kind::B32)?;
    }
    Ok(())
}
