//! The data that programs with LLVM's offloading pass to libomptarget: descriptors, tables of entries, kernel
//! arguments, source locations, mapping types.
//!
//! Owns the layouts, x86-64. Bytes and strings in, values out: pointers are numbers here and are never followed.
//! Source: `offload/include/Shared/APITypes.h`, `offload/include/omptarget.h`,
//! `llvm/include/llvm/Frontend/Offloading/Utility.h` (LLVM 15 to 22).

/// Bytes of `__tgt_bin_desc`, and of `__tgt_device_image`.
pub const DESCRIPTOR: usize = 32;

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..)?.get(..2)?.try_into().ok()?))
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..)?.get(..4)?.try_into().ok()?))
}

#[inline]
fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..)?.get(..8)?.try_into().ok()?))
}

/// `__tgt_bin_desc`, the argument of `__tgt_register_lib`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// How many images there are.
    pub images: u32,
    /// Their address, [`DESCRIPTOR`] bytes each.
    pub images_at: u64,
    /// Begin of the table of entries.
    pub entries: u64,
    /// Its end.
    pub entries_end: u64,
}

impl Descriptor {
    /// From its bytes.
    pub fn read(bytes: &[u8; DESCRIPTOR]) -> Option<Self> {
        Some(Descriptor {
            // A negative count means none.
            images: u32::try_from(u32_at(bytes, 0)? as i32).unwrap_or(0),
            images_at: u64_at(bytes, 8)?,
            entries: u64_at(bytes, 16)?,
            entries_end: u64_at(bytes, 24)?,
        })
    }

    /// Bytes of its table of entries; 0 where begin and end are not plausible.
    pub fn entries_size(&self) -> u64 {
        if self.entries == 0 { 0 } else { self.entries_end.saturating_sub(self.entries) }
    }
}

/// `__tgt_device_image`: begin and end of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceImage {
    /// Its first byte.
    pub start: u64,
    /// Behind its last.
    pub end: u64,
}

impl DeviceImage {
    /// From its bytes.
    pub fn read(bytes: &[u8; DESCRIPTOR]) -> Option<Self> {
        Some(DeviceImage { start: u64_at(bytes, 0)?, end: u64_at(bytes, 8)? })
    }
}

/// Kind of an entry: OpenMP; CUDA has 2, HIP 4, SYCL 8.
pub const KIND_OPENMP: u16 = 1;

/// `__tgt_offload_entry`, in either form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The host's address of it: a region's id, or a variable.
    pub address: u64,
    /// Address of its name.
    pub name: u64,
    /// Bytes of a variable; 0 for a region.
    pub size: u64,
    /// Its kind's flags.
    pub flags: u32,
    /// `KIND_*`; for the older form, which has no kind, OpenMP's.
    pub kind: u16,
}

impl Entry {
    /// Whether it is a region or a kernel, which can be launched.
    pub fn is_region(&self) -> bool {
        // 0x8 marks a function called through a table, 0x10 `omp requires`, 0x20 a table of
        // methods.
        let other = if self.kind == KIND_OPENMP { 0x38 } else { 0x7 };
        self.address != 0 && self.name != 0 && self.size == 0 && self.flags & other == 0
    }
}

/// Bytes of an entry up to LLVM 19, and from LLVM 20 on.
const FORMS: [usize; 2] = [32, 56];

fn entry(bytes: &[u8], form: usize) -> Option<Entry> {
    if form == FORMS[0] {
        return Some(Entry {
            address: u64_at(bytes, 0)?,
            name: u64_at(bytes, 8)?,
            size: u64_at(bytes, 16)?,
            flags: u32_at(bytes, 24)?,
            kind: KIND_OPENMP,
        });
    }
    Some(Entry {
        address: u64_at(bytes, 16)?,
        name: u64_at(bytes, 24)?,
        size: u64_at(bytes, 32)?,
        flags: u32_at(bytes, 12)?,
        kind: u16_at(bytes, 10)?,
    })
}

/// The entries of a table. The newer form begins with eight zero bytes, a version and a kind; the
/// older one with an address, which is zero only for `omp requires`: so all entries together decide
/// the form, not the first one.
///
/// `None`: it is neither form.
pub fn entries(table: &[u8]) -> Option<Vec<Entry>> {
    let [old, new] = FORMS;
    let is_new = |bytes: &[u8]| {
        let known = matches!(u16_at(bytes, 8), Some(1..=15));
        u64_at(bytes, 0) == Some(0) && known && matches!(u16_at(bytes, 10), Some(1 | 2 | 4 | 8))
    };
    let form = match table.len() {
        size if size.is_multiple_of(new) && table.chunks_exact(new).all(is_new) => new,
        size if size.is_multiple_of(old) => old,
        _ => return None,
    };
    table.chunks_exact(form).map(|bytes| entry(bytes, form)).collect()
}

/// The version of arguments without a structure: calls from before LLVM 15.
pub const VERSION_NONE: u32 = 0;
/// Bytes of the longest `KernelArgsTy`.
pub const KERNEL_ARGS: usize = 104;
/// `KernelArgs::flags`: the program does not wait for its end (`nowait`).
pub const FLAG_NOWAIT: u64 = 1;
/// `KernelArgs::flags`: the arguments are those of a CUDA kernel, not mappings.
pub const FLAG_CUDA: u64 = 2;

/// `KernelArgsTy`, versions 1 to 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelArgs {
    /// Its version.
    pub version: u32,
    /// How many arguments there are.
    pub count: u32,
    /// Address of their base addresses.
    pub bases: u64,
    /// Address of their addresses.
    pub pointers: u64,
    /// Address of their sizes.
    pub sizes: u64,
    /// Address of their types.
    pub types: u64,
    /// Address of the addresses of their names, 0 for none.
    pub names: u64,
    /// How often the loop runs, 0 where that is not known.
    pub trip_count: u64,
    /// `FLAG_*`.
    pub flags: u64,
    /// Teams; zeros where the call's own argument is used.
    pub teams: [u32; 3],
    /// Threads of a team; zeros where the call's own argument is used.
    pub threads: [u32; 3],
    /// Dynamic memory of a team, bytes.
    pub shared: u32,
}

impl KernelArgs {
    /// The least bytes of a structure of this version; `None` for unknown versions.
    #[inline]
    pub fn size(version: u32) -> Option<usize> {
        match version {
            1 => Some(64),
            2..=5 => Some(KERNEL_ARGS),
            _ => None,
        }
    }

    /// Reads it from at least [`KernelArgs::size`] bytes.
    #[inline]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let version = u32_at(bytes, 0)?;
        let bytes = bytes.get(..Self::size(version)?)?;
        let first = KernelArgs {
            version,
            count: u32_at(bytes, 4)?,
            bases: u64_at(bytes, 8)?,
            pointers: u64_at(bytes, 16)?,
            sizes: u64_at(bytes, 24)?,
            types: u64_at(bytes, 32)?,
            names: u64_at(bytes, 40)?,
            trip_count: u64_at(bytes, 56)?,
            ..KernelArgs::default()
        };
        if version == 1 {
            return Some(first);
        }
        let three = |at| Some([u32_at(bytes, at)?, u32_at(bytes, at + 4)?, u32_at(bytes, at + 8)?]);
        Some(KernelArgs {
            flags: u64_at(bytes, 64)?,
            // Before version 3 they are in the call's own arguments.
            teams: if version < 3 { [0; 3] } else { three(72)? },
            threads: if version < 3 { [0; 3] } else { three(84)? },
            shared: u32_at(bytes, 96)?,
            ..first
        })
    }
}

/// Type bits of a mapping: moved to the device, from it.
pub const MAP_TO: u64 = 1;
#[allow(missing_docs)]
pub const MAP_FROM: u64 = 2;
/// Moved even if it is already present.
pub const MAP_ALWAYS: u64 = 4;
/// Not data: the value itself is stored instead of the address.
pub const MAP_LITERAL: u64 = 0x100;

/// Other bits of a mapping's type, with OpenMP's or libomptarget's words for them.
pub const MAP_WORDS: [(u64, &str); 12] = [
    (MAP_ALWAYS, "always"),
    (8, "delete"),
    (0x10, "pointer"),
    (0x40, "return"),
    (0x80, "private"),
    (0x200, "implicit"),
    (0x400, "close"),
    (0x1000, "present"),
    (0x2000, "hold"),
    (0x4000, "attach"),
    (0x8000, "nullify"),
    (0x1000_0000_0000, "non-contiguous"),
];

/// The word for a mapping's direction.
pub fn map_word(kind: u64) -> &'static str {
    match kind & (MAP_TO | MAP_FROM) {
        _ if kind & MAP_LITERAL != 0 => "literal",
        3 => "tofrom",
        1 => "to",
        2 => "from",
        _ => "alloc",
    }
}

/// A place in the source, or a variable's declaration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place<'a> {
    /// The file; empty where it is not known.
    pub file: &'a str,
    /// The function around it, or the variable as the source has it; empty where it is not known.
    pub name: &'a str,
    /// Line, from 1; 0 where it is not known.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl<'a> Place<'a> {
    /// From `ident_t::psource`: `;file;function;line;column;;`.
    pub fn of_call(text: &'a str) -> Self {
        let (file, name, line, column) = Self::fields(text);
        Place { file, name, line, column }
    }

    /// From a name in `ArgNames`: `;name;file;line;column;;`.
    pub fn of_variable(text: &'a str) -> Self {
        let (name, file, line, column) = Self::fields(text);
        Place { file, name, line, column }
    }

    fn fields(text: &'a str) -> (&'a str, &'a str, u32, u32) {
        let known = |part: &'a str| if part == "unknown" { "" } else { part };
        // From the end, since a name may hold semicolons (`;a[f(";")];…`).
        let inner = text.strip_prefix(';').unwrap_or(text);
        let inner = inner.strip_suffix(";;").unwrap_or(inner);
        let mut parts = inner.rsplitn(4, ';');
        let mut next = || parts.next().unwrap_or("");
        let (column, line, second, first) = (next(), next(), next(), next());
        let number = |text: &str| text.parse().unwrap_or(0);
        (known(first), known(second), number(line), number(column))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
