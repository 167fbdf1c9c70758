//! The runtime inside a file: its major and its functions.
//!
//! Owns: which symbols belong to a runtime, and how many bytes each has. Must not know: where their jumps lead.

use object::elf;
use object::read::elf::{SectionHeader, Sym};

use crate::align::{Place, Program, align};
use crate::archive::{self, Parts};
use crate::error::Error;
use crate::file::Facts;
use crate::file::{File, LE, Symbol, each};
use crate::frames::Frame;
use crate::names::{Dynamic, Names};
use crate::work::Work;

/// Steps of comparing an archive with a program, for each of their bytes. Small programs take four
/// (measured: archives of 12.4 and 13.5).
const WORK: u64 = 128;

/// One function of the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function<'d> {
    /// Its name.
    pub name: &'d [u8],
    /// Its entry address, as the file has it.
    pub address: u64,
    /// How many bytes from there on belong to no other function.
    pub room: u64,
}

/// A runtime whose symbols are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime<'d> {
    /// 11, 12 or 13.
    pub major: u32,
    /// All functions called `cuda…` or `__cuda…`, by address. Not all are of the runtime's
    /// interface: 11.8 has about 1,200 internal ones, and a program may use such names for its own.
    pub functions: Vec<Function<'d>>,
    /// Functions of a near version's archive that may be there, at unknown places.
    pub unknown: Vec<&'d [u8]>,
}

/// The version node of a major's shared library.
pub fn node(major: u32) -> Option<&'static str> {
    match major {
        11 => Some("libcudart.so.11.0"),
        12 => Some("libcudart.so.12"),
        13 => Some("libcudart.so.13"),
        _ => None,
    }
}

impl<'d> Runtime<'d> {
    /// The runtime inside `object`, by the symbols in `symbols`: the same file, or the one with its debug
    /// information. `Ok(None)`: there is none.
    pub fn find(
        object: &File<'_>,
        facts: &Facts<'_>,
        symbols: &File<'d>,
    ) -> Result<Option<Self>, Error> {
        let table = symbols.symbols();
        let names = Names::of(symbols, &table);
        let offered = Dynamic::of(object).offered(is_cuda);
        let mut functions: Vec<Function<'d>> = Vec::new();
        let mut major = Major::default();
        for symbol in each(&table) {
            if !is_function(symbol) {
                continue;
            }
            let Some(name) = names.name(symbol) else { continue };
            // An exported function is no private copy.
            if !is_cuda(name) || offered.binary_search(&name).is_ok() {
                continue;
            }
            major.see(name);
            functions.push(Function {
                name,
                address: symbol.st_value(LE),
                room: symbol.st_size(LE),
            });
        }
        if !major.registers {
            let hidden = facts.registers || facts.looks_like_runtime;
            return if hidden { Err(Error::NoSymbols) } else { Ok(None) };
        }
        let major = major.tell().ok_or(Error::Major)?;
        functions.sort_unstable_by(|a, b| (a.address, a.name).cmp(&(b.address, b.name)));
        functions.dedup();
        bound(&mut functions, begins(symbols));
        Ok(Some(Runtime { major, functions, unknown: Vec::new() }))
    }

    /// The runtime inside the stripped `object`, by the archive of its version or a near one.
    /// `None`: this archive does not match.
    pub fn of_archive(object: &File<'_>, data: &'d [u8]) -> Option<Self> {
        let program = Program::of(object);
        let work = Work::times(WORK, object.data.len().saturating_add(data.len()));
        let mut members = archive::members(data);
        let offered = Dynamic::of(object).offered(is_cuda);
        members.find_map(|member| {
            Self::of_member(&program, &offered, &File::parse(member).ok()?, &work)
        })
    }

    fn of_member(
        program: &Program<'_, '_>,
        offered: &[&[u8]],
        member: &File<'d>,
        work: &Work,
    ) -> Option<Self> {
        let table = member.symbols();
        let names = Names::of(member, &table);
        let named =
            |symbol: &&'d Symbol| is_function_at(symbol).then(|| names.name(symbol)).flatten();
        let mut major = Major::default();
        each(&table).filter_map(|symbol| named(&symbol)).for_each(|name| major.see(name));
        let major = major.registers.then(|| major.tell()).flatten()?;
        let parts = Parts::of(member)?;
        let places = align(program, &parts, work)?;
        let (mut functions, mut unknown) = (Vec::new(), Vec::new());
        for symbol in each(&table).filter(|s| usize::from(s.st_shndx(LE).0) == parts.section) {
            let Some(name) = named(&symbol).filter(|name| is_cuda(name)) else { continue };
            if offered.binary_search(&name).is_ok() {
                continue;
            }
            match parts.at(symbol.st_value(LE)).and_then(|part| places.get(part)) {
                Some(Place::At(Frame { address, size })) => {
                    functions.push(Function { name, address: *address, room: *size });
                }
                Some(Place::Absent) => {}
                Some(Place::Unknown) | None => unknown.push(name),
            }
        }
        functions.sort_unstable_by(|a, b| (a.address, a.name).cmp(&(b.address, b.name)));
        functions.dedup();
        bound(&mut functions, program.frames.iter().map(|frame| frame.address));
        Some(Runtime { major, functions, unknown })
    }

    /// Begin and end of the code that the functions span.
    pub fn span(&self) -> (u64, u64) {
        let first = self.functions.first().map_or(0, |f| f.address);
        (first, self.functions.last().map_or(first, |f| f.address.saturating_add(f.room)))
    }
}

/// As [`is_function`], in an object file, where a function may begin at 0.
fn is_function_at(symbol: &Symbol) -> bool {
    symbol.st_type() == elf::STT_FUNC && !symbol.is_undefined(LE)
}

fn is_function(symbol: &Symbol) -> bool {
    symbol.st_type() == elf::STT_FUNC && !symbol.is_undefined(LE) && symbol.st_value(LE) != 0
}

/// `cudaMalloc`, `__cudaRegisterFatBinary`; not `cudart`, nor C++ names, which begin with `_Z`.
fn is_cuda(name: &[u8]) -> bool {
    let rest = name.strip_prefix(b"__").unwrap_or(name);
    rest.strip_prefix(b"cuda").and_then(<[u8]>::first).is_some_and(u8::is_ascii_uppercase)
}

/// A function ends where the next symbol or section begins. Where it begins at a multiple of 16,
/// the padding up to the next one is its own too, since compilers align functions; beyond that may
/// be code without symbols.
fn bound(functions: &mut [Function<'_>], begins: impl Iterator<Item = u64>) {
    for function in functions.iter_mut() {
        let end = function.address.saturating_add(function.room.max(1));
        if function.address % 16 == 0 {
            function.room = end.saturating_add(15) / 16 * 16 - function.address;
        }
    }
    let mut begins: Vec<u64> = begins.collect();
    begins.sort_unstable();
    for function in functions {
        let next = begins.partition_point(|at| *at <= function.address);
        if let Some(at) = begins.get(next) {
            function.room = function.room.min(at - function.address);
        }
    }
}

/// Where symbols and sections begin.
fn begins(file: &File<'_>) -> impl Iterator<Item = u64> {
    let table = file.symbols();
    let places =
        |s: &&Symbol| !s.is_undefined(LE) && !matches!(s.st_type(), elf::STT_FILE | elf::STT_TLS);
    let symbols: Vec<u64> = each(&table).filter(places).map(|s| s.st_value(LE)).collect();
    symbols.into_iter().chain(file.sections.iter().map(|s| s.sh_addr(LE)))
}

/// The set of symbols decides. The runtime cannot be asked: 11.8 knows its version only with a
/// driver.
#[derive(Default)]
struct Major {
    registers: bool,
    texture: bool,
    properties: bool,
    launch: bool,
}

impl Major {
    fn see(&mut self, name: &[u8]) {
        match name {
            b"__cudaRegisterFatBinary" => self.registers = true,
            b"__cudaRegisterTexture" => self.texture = true,
            b"cudaGetDeviceProperties_v2" => self.properties = true,
            b"__cudaLaunchKernel" => self.launch = true,
            _ => {}
        }
    }

    fn tell(&self) -> Option<u32> {
        match (self.texture, self.properties, self.launch) {
            (true, _, _) => Some(11),
            (_, true, _) => Some(12),
            (_, _, true) => Some(13),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cuda() {
        for name in ["cudaMalloc", "__cudaRegisterFatBinary", "__cudaLaunchKernel_ptsz"] {
            assert!(is_cuda(name.as_bytes()), "{name}");
        }
        for name in ["__cudart1203", "cudart", "_Z10cudaHelperv", "cuInit", "cuda", "_cudaX"] {
            assert!(!is_cuda(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn room_up_to_what_follows() {
        let function = |address, room| Function { name: b"f", address, room };
        let mut all = [0x1000u64, 0x1010, 0x1010, 0x1043].map(|at| function(at, 3));
        bound(&mut all, [0x1010, 0x1020, 0x1018, 0x500, 0x9000].into_iter());
        assert_eq!(all.each_ref().map(|f| f.room), [16, 8, 8, 3]);
        let mut last = [function(u64::MAX - 3, 9)];
        bound(&mut last, [0, u64::MAX].into_iter());
        assert_eq!(last[0].room, 3);
    }

    #[test]
    fn majors() {
        let tell = |names: &[&str]| {
            let mut major = Major::default();
            names.iter().for_each(|n| major.see(n.as_bytes()));
            major.tell()
        };
        assert_eq!(tell(&["__cudaRegisterTexture", "cudaMalloc"]), Some(11));
        assert_eq!(tell(&["cudaGetDeviceProperties_v2", "__cudaLaunchKernel"]), Some(12));
        assert_eq!(tell(&["__cudaLaunchKernel"]), Some(13));
        assert_eq!(tell(&["__cudaRegisterFatBinary"]), None);
    }
}
