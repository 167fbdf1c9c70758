//! AMDGPU code objects: target, metadata, kernels with their argument layout.
//!
//! Owns the ELF's AMD fields and the metadata note (LLVM's "User Guide for AMDGPU Backend", code object V3 to V6);
//! must not know the containers of code objects.

pub mod msgpack;

use crate::arch::Arch;
use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::kernel::{Global, Kernel, Stack};
use crate::limits::Limits;
use crate::params::layout::{Param, ParamLayout};
use crate::sniff::EM_AMDGPU;
use crate::work::Work;
use msgpack::Value;
use object::elf;
use object::endian::LittleEndian;
use object::read::elf::{FileHeader, ProgramHeader, Sym};

type Header = elf::FileHeader64<LittleEndian>;
const LE: LittleEndian = LittleEndian;

/// Type of the metadata note, whose owner is `AMDGPU`.
const NT_METADATA: u32 = 32;

/// A kernel's argument as the metadata describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Bytes from the start of the kernel-argument segment.
    pub offset: u32,
    /// Its size.
    pub size: u32,
    /// `by_value`, `global_buffer`, `hidden_block_count_x`, …
    pub kind: String,
}

impl Argument {
    /// Whether the runtime fills it in; the program does not pass it.
    pub fn is_hidden(&self) -> bool {
        self.kind.starts_with("hidden_")
    }
}

/// A kernel of a code object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeKernel {
    /// Resources and the layout of the explicit arguments.
    pub kernel: Kernel,
    /// Symbol of the kernel descriptor (`name.kd`).
    pub symbol: String,
    /// Every argument, hidden ones included.
    pub arguments: Vec<Argument>,
    /// Bytes of the whole kernel-argument segment.
    pub kernarg_size: u32,
    /// Its alignment.
    pub kernarg_align: u32,
}

/// The contents of a code object's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeObject {
    /// `gfx90a:sramecc+:xnack-`, from the metadata or else the ELF header.
    pub arch: Arch,
    /// Triple of the metadata (`amdgcn-amd-amdhsa-`), where they give one.
    pub triple: Option<String>,
    /// Code object version: 3 to 6, from `e_ident[EI_ABIVERSION]`; up to 2 the other fields are
    /// empty.
    pub version: u8,
    /// Kernels in metadata order.
    pub kernels: Vec<CodeKernel>,
}

/// The target by the ELF header alone; for listing without reading the rest.
pub fn arch(data: &[u8]) -> Result<Arch> {
    let bytes = Bytes::new(data, 0, "code object");
    let (machine, flags) = (bytes.u16(18)?, bytes.u32(48)?);
    if machine != EM_AMDGPU {
        return Err(bytes.field(18, "e_machine", machine.into(), "224"));
    }
    let Some(name) = mach_name(flags & 0xFF) else { return Ok(Arch::Unknown) };
    // Code object V4 and later: two bits each, 2 off and 3 on.
    let mut text = name.to_owned();
    if bytes.u8(8)? >= 2 {
        for (shift, feature) in [(10, "sramecc"), (8, "xnack")] {
            match (flags >> shift) & 3 {
                2 => text += &format!(":{feature}-"),
                3 => text += &format!(":{feature}+"),
                _ => {}
            }
        }
    }
    Ok(Arch::Named(text))
}

/// Reads a code object's metadata.
pub fn read(data: &[u8], limits: &Limits) -> Result<CodeObject> {
    let arch = arch(data)?;
    let header = Header::parse(data).map_err(|error| Error::object("code object", 0, error))?;
    // V2 is 0, V3 is 1, and so on.
    let version = header.e_ident().abi_version.saturating_add(2);
    let mut object = CodeObject { arch, triple: None, version, kernels: Vec::new() };
    let mut work = Work::new(data.len(), limits);
    let Some((note, at)) = metadata(header, data, &mut work)? else { return Ok(object) };
    let document = msgpack::read(note, at)?;
    if let Some(target) = document.get("amdhsa.target").and_then(Value::text) {
        // `amdgcn-amd-amdhsa--gfx90a:xnack+`, also `…-unknown-gfx90a`.
        if let Some((triple, name)) = target.rsplit_once('-')
            && name.starts_with("gfx")
        {
            object.arch = Arch::Named(name.to_owned());
            object.triple = Some(triple.trim_end_matches('-').to_owned());
        }
    }
    let kernels = document.get("amdhsa.kernels").map(Value::elements).unwrap_or_default();
    if kernels.len() > limits.max_items {
        let (found, limit) = (kernels.len() as u64, limits.max_items as u64);
        let what = "code object kernels";
        return Err(Error::TooBig { what, at, found, limit, name: "max_items" });
    }
    object.kernels = kernels.iter().map(kernel).collect();
    Ok(object)
}

/// The metadata note's bytes and offset.
fn metadata<'a>(
    header: &Header,
    data: &'a [u8],
    work: &mut Work,
) -> Result<Option<(&'a [u8], u64)>> {
    let wrong = |error| Error::object("code object", 0, error);
    for segment in header.program_headers(LE, data).map_err(wrong)? {
        let Some(mut notes) = segment.notes(LE, data).map_err(wrong)? else { continue };
        // Several headers may claim the same notes.
        work.look(segment.p_filesz(LE), segment.p_offset(LE))?;
        while let Some(note) = notes.next().map_err(wrong)? {
            if note.name() == b"AMDGPU" && note.n_type(LE).0 == NT_METADATA {
                return Ok(Some((note.desc(), segment.p_offset(LE))));
            }
        }
    }
    // A relocatable object has sections only.
    let sections = header.sections(LE, data).map_err(wrong)?;
    for section in sections.iter() {
        use object::read::elf::SectionHeader;
        let Some(mut notes) = section.notes(LE, data).map_err(wrong)? else { continue };
        work.look(section.sh_size(LE), section.sh_offset(LE))?;
        while let Some(note) = notes.next().map_err(wrong)? {
            if note.name() == b"AMDGPU" && note.n_type(LE).0 == NT_METADATA {
                return Ok(Some((note.desc(), section.sh_offset(LE))));
            }
        }
    }
    Ok(None)
}

/// The variables that a code object exports: the dynamic symbols that are no kernel descriptors. It
/// does not tell which are constant.
pub fn globals(data: &[u8], limits: &Limits) -> Result<Vec<Global>> {
    let wrong = |error| Error::object("code object", 0, error);
    arch(data)?;
    let header = Header::parse(data).map_err(wrong)?;
    let sections = header.sections(LE, data).map_err(wrong)?;
    let symbols = sections.symbols(LE, data, elf::SHT_DYNSYM).map_err(wrong)?;
    if symbols.len() > limits.max_items {
        let (found, limit) = (symbols.len() as u64, limits.max_items as u64);
        let what = "code object symbols";
        return Err(Error::TooBig { what, at: 0, found, limit, name: "max_items" });
    }
    let mut globals = Vec::new();
    let mut work = Work::new(data.len(), limits);
    for symbol in symbols.iter() {
        let name = symbol.name(LE, symbols.strings()).map_err(wrong)?;
        // All may have one long name.
        work.look(name.len() as u64, symbol.st_name(LE).into())?;
        let object = symbol.st_type() == elf::STT_OBJECT && !symbol.is_undefined(LE);
        if object && !name.ends_with(b".kd") {
            let name = String::from_utf8_lossy(name).into_owned();
            globals.push(Global { name, space: "global".into(), size: symbol.st_size(LE) });
        }
    }
    Ok(globals)
}

fn kernel(value: &Value<'_>) -> CodeKernel {
    let number = |key| value.get(key).and_then(Value::number::<u32>);
    let text = |key| value.get(key).and_then(Value::text).unwrap_or_default();
    let arguments: Vec<Argument> = value
        .get(".args")
        .map(Value::elements)
        .unwrap_or_default()
        .iter()
        .map(|argument| {
            let number = |key| argument.get(key).and_then(Value::number::<u32>).unwrap_or(0);
            let kind = argument.get(".value_kind").and_then(Value::text).unwrap_or_default();
            Argument { offset: number(".offset"), size: number(".size"), kind }
        })
        .collect();
    let explicit = arguments.iter().filter(|argument| !argument.is_hidden());
    let params: Vec<Param> =
        explicit.map(|argument| Param { offset: argument.offset, size: argument.size }).collect();
    let end = params.iter().map(|param| param.offset.saturating_add(param.size)).max();
    let dynamic_stack = matches!(value.get(".uses_dynamic_stack"), Some(Value::Bool(true)));
    let stack = number(".private_segment_fixed_size").map(Stack::Bytes);
    CodeKernel {
        kernel: Kernel {
            name: text(".name"),
            registers: number(".vgpr_count"),
            scalar_registers: number(".sgpr_count"),
            accumulation_registers: number(".agpr_count"),
            shared: number(".group_segment_fixed_size"),
            stack: if dynamic_stack { Some(Stack::Unbounded) } else { stack },
            max_threads: number(".max_flat_workgroup_size").map(|count| [count, 1, 1]),
            params: ParamLayout { size: end.unwrap_or(0), params, types: Vec::new() },
            wavefront: number(".wavefront_size"),
            ..Kernel::default()
        },
        symbol: text(".symbol"),
        arguments,
        kernarg_size: number(".kernarg_segment_size").unwrap_or(0),
        kernarg_align: number(".kernarg_segment_align").unwrap_or(0),
    }
}

/// Names of `EF_AMDGPU_MACH` values (LLVM, `BinaryFormat/ELF.h`).
fn mach_name(mach: u32) -> Option<&'static str> {
    Some(match mach {
        0x20 => "gfx600",
        0x21 => "gfx601",
        0x22 => "gfx700",
        0x23 => "gfx701",
        0x24 => "gfx702",
        0x25 => "gfx703",
        0x26 => "gfx704",
        0x28 => "gfx801",
        0x29 => "gfx802",
        0x2A => "gfx803",
        0x2B => "gfx810",
        0x2C => "gfx900",
        0x2D => "gfx902",
        0x2E => "gfx904",
        0x2F => "gfx906",
        0x30 => "gfx908",
        0x31 => "gfx909",
        0x32 => "gfx90c",
        0x33 => "gfx1010",
        0x34 => "gfx1011",
        0x35 => "gfx1012",
        0x36 => "gfx1030",
        0x37 => "gfx1031",
        0x38 => "gfx1032",
        0x39 => "gfx1033",
        0x3A => "gfx602",
        0x3B => "gfx705",
        0x3C => "gfx805",
        0x3D => "gfx1035",
        0x3E => "gfx1034",
        0x3F => "gfx90a",
        0x40 => "gfx940",
        0x41 => "gfx1100",
        0x42 => "gfx1013",
        0x43 => "gfx1150",
        0x44 => "gfx1103",
        0x45 => "gfx1036",
        0x46 => "gfx1101",
        0x47 => "gfx1102",
        0x48 => "gfx1200",
        0x4A => "gfx1151",
        0x4B => "gfx941",
        0x4C => "gfx942",
        0x4E => "gfx1201",
        0x4F => "gfx950",
        0x51 => "gfx9-generic",
        0x52 => "gfx10-1-generic",
        0x53 => "gfx10-3-generic",
        0x54 => "gfx11-generic",
        0x55 => "gfx1152",
        0x58 => "gfx1153",
        0x59 => "gfx12-generic",
        0x5F => "gfx9-4-generic",
        _ => return None,
    })
}
