//! Facts about one ELF file, as far as they concern tracing.
//!
//! Owns: reading headers, dynamic section, symbol names and constant strings of a file of any content. Must not know:
//! what a CUDA runtime is, except the names that it has to search for.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use object::elf::{self, FileHeader64};
use object::read::StringTable;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym};
use object::read::{ReadCache, ReadRef};
use object::{Endianness, LittleEndian, SymbolIndex};

use crate::Error;

type Header = FileHeader64<Endianness>;

/// The symbols that are looked for; no others are kept.
const NAMES: [&str; 17] = [
    "__cudaRegisterFatBinary",
    "__cudaRegisterTexture",
    "__cudaLaunchKernel",
    "cudaLaunchKernel",
    "cudaGetDeviceProperties_v2",
    "cuInit",
    "cuGetProcAddress",
    "cuGetProcAddress_v2",
    "cuLaunchKernel",
    "dlsym",
    "dlvsym",
    "dlopen",
    "dlmopen",
    "__asan_init",
    "__tsan_init",
    "__msan_init",
    "__tgt_target_kernel",
];

/// Strings that are looked for in constant data: whole, from NUL to NUL.
const STRINGS: [&str; 8] = [
    "libcuda.so.1",
    "libcuda.so",
    "cuGetProcAddress",
    "cuGetProcAddress_v2",
    "cuLibraryLoadData",
    "cuLaunchCooperativeKernelMultiDevice",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
];

/// At most this many bytes of constant data are searched for strings, so that a file of any size is
/// quickly examined.
const STRINGS_MAX: u64 = 256 << 20;
/// The most needed libraries and search folders that are read.
const ENTRIES_MAX: usize = 4096;

/// What kind of file it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// An executable that the loader completes at start.
    #[default]
    Dynamic,
    /// An executable without loader: nothing can be preloaded into it.
    Static,
    /// A shared library.
    Library,
    /// A relocatable object or a core dump.
    Other,
}

/// The facts of one file.
#[derive(Clone, Debug, Default)]
pub struct Elf {
    /// The file.
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// The machine's usual name; cushim supports `x86-64`.
    pub machine: String,
    /// The loader it asks for, empty for a library.
    pub interpreter: String,
    /// DT_SONAME.
    pub soname: Option<String>,
    /// DT_NEEDED, in order.
    pub needed: Vec<String>,
    /// DT_RPATH, split at colons.
    pub rpath: Vec<String>,
    /// DT_RUNPATH, split at colons; if present, the loader ignores DT_RPATH.
    pub runpath: Option<Vec<String>>,
    /// DT_AUDIT and DT_DEPAUDIT.
    pub audit: Vec<String>,
    /// Bytes of thread-local data at fixed offsets (DF_STATIC_TLS), with room to align them.
    pub static_tls: u64,
    /// No symbol table but the dynamic one.
    pub stripped: bool,
    /// It has section headers; without them symbols and device code cannot be seen.
    pub sections: bool,
    /// Names of our list that it defines, also privately.
    pub defines: BTreeSet<&'static str>,
    /// Names of our list that it exports.
    pub exports: BTreeSet<&'static str>,
    /// Names of our list that it imports.
    pub imports: BTreeSet<&'static str>,
    /// Functions that it imports from a CUDA runtime, and from the driver.
    pub wants: Wants,
    /// Strings of our list that its constant data holds.
    pub strings: BTreeSet<&'static str>,
    /// An absolute path to libcuda in its constant data.
    pub driver_path: Option<String>,
    /// Bytes of NVIDIA device code (`.nv_fatbin`, `__nv_relfatbin`).
    pub device_code: u64,
    /// It has wrappers that are registered with a runtime (`.nvFatBinSegment`).
    pub registers: bool,
    /// Bytes of LLVM offload images (`.llvm.offloading`, `llvm_offload_entries`).
    pub offload: u64,
    /// Bytes of AMD device code (`.hip_fatbin`).
    pub hip_code: u64,
}

/// How many undefined CUDA functions a file has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// `cuda*`, `__cuda*`.
    pub runtime: usize,
    /// `cu` and a capital letter, as the driver's functions are called.
    pub driver: usize,
}

/// Reads the file at `path`.
pub fn read(path: &Path) -> Result<Elf, Error> {
    parse(path, &open(path)?)
}

/// Reads only what the loader needs of the file at `path`: no symbols, no sections.
pub fn read_for_loading(path: &Path) -> Result<Elf, Error> {
    parse_parts(path, &open(path)?, false)
}

fn open(path: &Path) -> Result<ReadCache<File>, Error> {
    let file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)
        .map_err(|e| Error::io("open", path, e))?;
    let kind = file.metadata().map_err(|e| Error::io("look at", path, e))?.file_type();
    if !kind.is_file() {
        let found = if kind.is_dir() { "a folder" } else { "something that is not a file" };
        return Err(foreign(path, found.to_owned(), "a program or a library"));
    }
    Ok(ReadCache::new(file))
}

/// Whether the header alone shows a complete library for x86-64. A position-independent program
/// looks the same: only for files whose name tells what they are.
pub fn is_library_by_header(path: &Path) -> bool {
    use std::io::Read;
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
    let Ok(mut file) = File::options().read(true).custom_flags(flags).open(path) else {
        return false;
    };
    let mut bytes = [0; size_of::<FileHeader64<LittleEndian>>()];
    let size = file.metadata().map(|known| if known.is_file() { known.len() } else { 0 });
    let Ok(size) = size.and_then(|size| file.read_exact(&mut bytes).map(|()| size)) else {
        return false;
    };
    let Ok(header) = FileHeader64::<LittleEndian>::parse(bytes.as_slice()) else { return false };
    // Linkers write the section headers last.
    let sections =
        u64::from(header.e_shentsize(LittleEndian)) * u64::from(header.e_shnum(LittleEndian));
    header.is_little_endian()
        && header.e_machine(LittleEndian) == elf::EM_X86_64
        && header.e_type(LittleEndian) == elf::ET_DYN
        && sections > 0
        && header.e_shoff(LittleEndian).checked_add(sections).is_some_and(|end| end <= size)
}

/// Reads a file's bytes; `path` is for messages only.
pub fn parse<'a, R: ReadRef<'a>>(path: &Path, data: R) -> Result<Elf, Error> {
    parse_parts(path, data, true)
}

fn parse_parts<'a, R: ReadRef<'a>>(path: &Path, data: R, all: bool) -> Result<Elf, Error> {
    let ident: &[u8] = data.read_bytes_at(0, 20).unwrap_or_default();
    if ident.get(..4) != Some(b"\x7fELF") {
        let size = data.len().unwrap_or(0);
        let found = match ident {
            [] => format!("{size} bytes"),
            bytes => format!("{:02x?} at its beginning", &bytes[..4]),
        };
        return Err(foreign(path, found, "an ELF file"));
    }
    let mut facts = Elf { path: path.to_owned(), ..Elf::default() };
    let little = ident[5] != 2;
    let machine = if little { [ident[18], ident[19]] } else { [ident[19], ident[18]] };
    facts.machine = machine_name(u16::from_le_bytes(machine), ident[4] == 2);
    if facts.machine != "x86-64" {
        return Ok(facts);
    }
    facts.fill(data, all).map_err(|what| foreign(path, what.to_string(), "a whole ELF file"))?;
    Ok(facts)
}

fn foreign(path: &Path, found: String, expected: &'static str) -> Error {
    Error::Foreign { path: path.to_owned(), found, expected }
}

fn machine_name(machine: u16, wide: bool) -> String {
    match (machine, wide) {
        (62, true) => "x86-64".to_owned(),
        (62, false) => "x86-64 with 32-bit pointers (x32)".to_owned(),
        (3, _) => "32-bit x86".to_owned(),
        (183, _) => "aarch64".to_owned(),
        (40, _) => "32-bit ARM".to_owned(),
        (21, _) => "ppc64".to_owned(),
        (243, _) => "riscv".to_owned(),
        (other, _) => format!("machine number {other}"),
    }
}

impl Elf {
    /// Its name for other files: DT_SONAME, else the file's name.
    pub fn name(&self) -> String {
        let file = || self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.soname.clone().unwrap_or_else(file)
    }

    fn fill<'a, R: ReadRef<'a>>(&mut self, data: R, all: bool) -> object::read::Result<()> {
        let header = Header::parse(data)?;
        let endian = header.endian()?;
        let segments = header.program_headers(endian, data)?;
        let mut dynamic = false;
        let mut named = false;
        let mut threads = 0u64;
        for segment in segments {
            if segment.p_type(endian) == elf::PT_TLS {
                let (size, align) = (segment.p_memsz(endian), segment.p_align(endian));
                threads = threads.saturating_add(size).saturating_add(align);
            }
            if let Some(path) = segment.interpreter(endian, data)? {
                self.interpreter = String::from_utf8_lossy(path).into_owned();
            }
            if let Some(entries) = segment.dynamic(endian, data)? {
                dynamic = true;
                named = self.dynamic(endian, data, segments, entries);
            }
        }
        self.kind = match header.e_type(endian) {
            elf::ET_EXEC | elf::ET_DYN if !self.interpreter.is_empty() => Kind::Dynamic,
            elf::ET_EXEC => Kind::Static,
            // A static position-independent executable looks like a library without name and
            // dependencies, but with an entry point.
            elf::ET_DYN if !dynamic || !named && header.e_entry(endian) != 0 => Kind::Static,
            elf::ET_DYN => Kind::Library,
            _ => Kind::Other,
        };
        self.static_tls = if self.static_tls > 0 { threads } else { 0 };
        if !all {
            return Ok(());
        }
        let sections = header.sections(endian, data)?;
        self.sections = !sections.is_empty();
        self.stripped = true;
        self.symbols(endian, data, &sections)?;
        self.contents(endian, data, &sections);
        Ok(())
    }

    /// Reads the dynamic section; returns whether it has a name or dependencies.
    fn dynamic<'a, R: ReadRef<'a>>(
        &mut self,
        endian: Endianness,
        data: R,
        segments: &[elf::ProgramHeader64<Endianness>],
        entries: &[elf::Dyn64<Endianness>],
    ) -> bool {
        let value = |tag| entries.iter().find(|d| d.tag(endian) == tag).map(|d| d.val(endian));
        let table = value(elf::DT_STRTAB)
            .zip(value(elf::DT_STRSZ))
            .and_then(|(address, size)| loaded(endian, data, segments, address, size))
            .unwrap_or_default();
        let strings = StringTable::new(table, 0, table.len() as u64);
        let text = |d: &elf::Dyn64<Endianness>| {
            d.string(endian, strings).ok().map(|s| String::from_utf8_lossy(s).into_owned())
        };
        let split = |s: String| -> Vec<String> {
            s.split(':').filter(|s| !s.is_empty()).map(str::to_owned).take(ENTRIES_MAX).collect()
        };
        let end = entries.iter().position(|d| d.tag(endian) == elf::DT_NULL);
        for entry in &entries[..end.unwrap_or(entries.len())] {
            let tag = entry.tag(endian);
            if tag == elf::DT_FLAGS {
                self.static_tls = entry.val(endian) & elf::DF_STATIC_TLS.0;
            }
            let Some(text) = matches!(
                tag,
                elf::DT_NEEDED
                    | elf::DT_SONAME
                    | elf::DT_RPATH
                    | elf::DT_RUNPATH
                    | elf::DT_AUDIT
                    | elf::DT_DEPAUDIT
            )
            .then(|| text(entry))
            .flatten() else {
                continue;
            };
            match tag {
                elf::DT_NEEDED if self.needed.len() < ENTRIES_MAX => self.needed.push(text),
                elf::DT_SONAME => self.soname = Some(text),
                elf::DT_RPATH => self.rpath = split(text),
                elf::DT_RUNPATH => self.runpath = Some(split(text)),
                elf::DT_AUDIT | elf::DT_DEPAUDIT => self.audit.extend(split(text)),
                _ => {}
            }
        }
        self.soname.is_some() || !self.needed.is_empty()
    }

    fn symbols<'a, R: ReadRef<'a>>(
        &mut self,
        endian: Endianness,
        data: R,
        sections: &SectionTable<'a, Header, R>,
    ) -> object::read::Result<()> {
        for (kind, public) in [(elf::SHT_DYNSYM, true), (elf::SHT_SYMTAB, false)] {
            let table = sections.symbols(endian, data, kind)?;
            if table.is_empty() {
                continue;
            }
            self.stripped &= public;
            // The string table at once: reading name by name would keep each of them.
            let names = sections.section(table.string_section())?.data(endian, data)?;
            let names = StringTable::new(names, 0, names.len() as u64);
            for index in 1..table.len() {
                let symbol = table.symbol(SymbolIndex(index))?;
                let Ok(name) = symbol.name(endian, names) else { continue };
                if public && symbol.is_undefined(endian) {
                    self.wants.count(name);
                }
                let Some(name) = NAMES.into_iter().find(|n| n.as_bytes() == name) else { continue };
                match (symbol.is_undefined(endian), public) {
                    (true, true) => _ = self.imports.insert(name),
                    (false, true) => _ = self.exports.insert(name),
                    _ => {}
                }
                if !symbol.is_undefined(endian) {
                    self.defines.insert(name);
                }
            }
        }
        Ok(())
    }

    fn contents<'a, R: ReadRef<'a>>(
        &mut self,
        endian: Endianness,
        data: R,
        sections: &SectionTable<'a, Header, R>,
    ) {
        let mut budget = STRINGS_MAX;
        for section in sections.iter() {
            let name = sections.section_name(endian, section).unwrap_or_default();
            let size = section.sh_size(endian);
            match name {
                b".nv_fatbin" | b"__nv_relfatbin" => {
                    self.device_code = self.device_code.saturating_add(size)
                }
                b".nvFatBinSegment" => self.registers = true,
                b".hip_fatbin" => self.hip_code = self.hip_code.saturating_add(size),
                b".llvm.offloading" => self.offload = self.offload.saturating_add(size),
                b".rodata" if size <= budget => {
                    budget -= size;
                    self.constants(section.data(endian, data).unwrap_or_default());
                }
                _ => {}
            }
        }
    }

    fn constants(&mut self, bytes: &[u8]) {
        for text in bytes.split(|b| *b == 0).filter(|s| s.starts_with(b"cu") || s.len() > 9) {
            if let Some(found) = STRINGS.into_iter().find(|s| s.as_bytes() == text) {
                self.strings.insert(found);
            } else if text.starts_with(b"/") && text.len() < 4096 {
                let Ok(path) = std::str::from_utf8(text) else { continue };
                let file = path.rsplit('/').next().unwrap_or_default();
                if file == "libcuda.so" || file.starts_with("libcuda.so.") {
                    self.driver_path = Some(path.to_owned());
                }
            }
        }
    }
}

impl Wants {
    fn count(&mut self, name: &[u8]) {
        if name.starts_with(b"cuda") || name.starts_with(b"__cuda") {
            self.runtime += 1;
        } else if let [b'c', b'u', third, ..] = name {
            self.driver += usize::from(third.is_ascii_uppercase());
        }
    }
}

/// The bytes that are loaded at `address`.
fn loaded<'a, R: ReadRef<'a>>(
    endian: Endianness,
    data: R,
    segments: &[elf::ProgramHeader64<Endianness>],
    address: u64,
    size: u64,
) -> Option<&'a [u8]> {
    segments.iter().filter(|s| s.p_type(endian) == elf::PT_LOAD).find_map(|segment| {
        let skip = address.checked_sub(segment.p_vaddr(endian))?;
        let left = segment.p_filesz(endian).checked_sub(skip)?;
        let offset = segment.p_offset(endian).checked_add(skip)?;
        (size <= left).then(|| data.read_bytes_at(offset, size).ok())?
    })
}
