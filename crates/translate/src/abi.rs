//! The ABI of translated kernels: everything that a backend needs to launch one.
//!
//! Owns the layout of a kernel's arguments, the mapping of threads to work-items, and a kernel's properties. Must not
//! know how code is generated, or by which calls a backend launches it.
//!
//! # Code objects
//!
//! An ELF file of code object version 5 for one target, with AMD's metadata note as LLVM writes it.
//!
//! - A kernel has its CUDA name; its descriptor is the symbol `NAME.kd`.
//! - A `__device__`, `__constant__` or `__managed__` variable is a global symbol of the same name and size. The loader
//!   gives it its initial value.
//! - A managed variable is found through the symbol [`MANAGED`]`NAME`, an 8-byte word for its address: the loader
//!   allocates memory for it, copies the initial value there from `NAME`, and stores the address. A variable of
//!   another module is found through [`EXTERNAL`]`NAME` in the same way.
//! - `.group_segment_fixed_size` of the metadata is static shared memory, padded for the dynamic shared memory after
//!   it: the packet's group segment is that size plus the launch's dynamic bytes. `.private_segment_fixed_size` and
//!   `.uses_dynamic_stack` describe local memory and call frames.
//! - A pointer to a function is the address of its code.
//! - The symbol [`TABLE`] is a text with the properties of each kernel, for tools that have only the code object.
//!
//! # Arguments
//!
//! The kernarg segment, aligned to 16 bytes:
//!
//! | offset | what |
//! |---|---|
//! | 0 | CUDA's parameters, at PTX's offsets, [`Facts::parameter_bytes`] of them |
//! | [`Facts::launch_offset`], the next multiple of 8 | [`LaunchArguments`] |
//!
//! The metadata may list hidden arguments after it, if LLVM could not prove that they are unused. No translated
//! kernel reads them; zeros are correct.
//!
//! # Threads
//!
//! A dispatch has a workgroup for each block: workgroup (x, y, z) is block (x, y, z). A workgroup has one dimension
//! of [`Lanes::work_items`] work-items, whatever the block's shape: the kernel computes `%tid` from
//! [`LaunchArguments::block`]. So a dispatch of `grid` blocks has `[grid.x * n, grid.y, grid.z]` work-items, of which
//! the first must fit in 32 bits.

/// Before a managed variable's name: the symbol that holds its address.
pub const MANAGED: &str = "cushim.managed.";
/// Before the name of a variable that another module defines: the symbol that holds its address.
pub const EXTERNAL: &str = "cushim.external.";

/// What kernels ask of their host, through LLVM's RPC protocol (`libc/shared/rpc.h`). [`LaunchArguments::rpc`] is `rpc::Client`,
/// 552 bytes in memory of the device; a packet has as many lanes as a wave, and a wave makes one conversation.
pub mod calls {
    /// Opcodes of this runtime's own have this letter.
    const OWN: u32 = (b'C' as u32) << 24;
    /// `vprintf`: the device sends the format with its NUL; the host sends in word 0 the number of argument bytes
    /// that it needs, in CUDA's layout; the device sends them. As long as the host sends addresses in word 1, the
    /// device sends the strings there; a lane from which none is needed gets 0, and sends nothing. Finally the host
    /// sends the result of `vprintf` in word 0.
    pub const PRINT: u32 = OWN;
    /// `__assertfail`: the device sends line, block and thread (seven words of 32 bits), then message, file and
    /// function; the host sends a packet that means nothing.
    pub const ASSERT: u32 = OWN + 1;
    /// `malloc`, LLVM's.
    pub const MALLOC: u32 = 0x6300_000a;
    /// `free`, which is answered by a packet that means nothing.
    pub const FREE: u32 = OWN + 2;
}

/// The data after a kernel's parameters. 64 bytes, little-endian, aligned to 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct LaunchArguments {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub dynamic_shared_bytes: u32,
    /// The mapping of threads to waves: a [`Lanes`] that [`Facts::lanes`] allows.
    pub lanes_layout: u32,
    /// The address of the client of a host call buffer ([`calls`]); 0 for a kernel without [`Facts::host_calls`].
    pub rpc: u64,
    /// The address of the zeroed workspace of `grid.sync()`, 16 bytes at least, in a cooperative launch; else 0.
    pub workspace: u64,
    /// Zeros.
    pub reserved: [u64; 2],
}

/// The bytes of [`LaunchArguments`].
pub const LAUNCH_BYTES: u32 = 64;
const _: () = assert!(size_of::<LaunchArguments>() == LAUNCH_BYTES as usize);

impl LaunchArguments {
    /// As the kernel reads it.
    pub fn bytes(&self) -> [u8; LAUNCH_BYTES as usize] {
        let mut out = [0; LAUNCH_BYTES as usize];
        let words = self.grid.into_iter().chain(self.block);
        let words = words.chain([self.dynamic_shared_bytes, self.lanes_layout]);
        let pairs =
            [self.rpc, self.workspace].into_iter().flat_map(|v| [v as u32, (v >> 32) as u32]);
        for (place, word) in out.chunks_exact_mut(4).zip(words.chain(pairs)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        out
    }
}

/// The mapping of a block's threads to waves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Lanes {
    /// Thread `t` is work-item `t`. On waves of 64 lanes two warps share a wave.
    Full = 0,
    /// A warp is the lower half of a wave of 64 lanes: thread `t` is work-item `t / 32 * 64 + t % 32`, and the upper
    /// lanes end at once.
    Half = 1,
}

impl Lanes {
    /// The work-items of a workgroup for a block of so many threads; 1,024 at most, else this layout does not do.
    pub fn work_items(self, threads: u32) -> Option<u32> {
        let items = match self {
            Lanes::Full => threads,
            Lanes::Half => threads.div_ceil(32).checked_mul(64)?,
        };
        (threads > 0 && items <= 1024).then_some(items)
    }
}

impl Lanes {
    /// How [`TABLE`] names it.
    fn letter(self) -> char {
        match self {
            Lanes::Full => 'F',
            Lanes::Half => 'H',
        }
    }

    fn from_letter(letter: char) -> Option<Lanes> {
        [Lanes::Full, Lanes::Half].into_iter().find(|lanes| lanes.letter() == letter)
    }
}

/// What is known of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Its name; the descriptor's symbol is this with `.kd`.
    pub name: String,
    /// Offset and size of each of CUDA's parameters, in bytes.
    pub places: Vec<(u32, u32)>,
    /// Bytes of CUDA's parameters.
    pub parameter_bytes: u32,
    /// Where [`LaunchArguments`] stands.
    pub launch_offset: u32,
    /// The layouts that may be used, the better one first. If none of them has room for the block, the launch is
    /// refused.
    pub lanes: Vec<Lanes>,
    /// Static shared memory as PTX declares it, in bytes.
    pub static_shared_bytes: u32,
    /// It names dynamic shared memory.
    pub dynamic_shared: bool,
    /// Threads of a block at most.
    pub max_threads: u32,
    /// It asks its host ([`LaunchArguments::rpc`]).
    pub host_calls: bool,
}

impl Facts {
    /// Bytes of the kernarg segment that are read.
    pub fn argument_bytes(&self) -> u32 {
        self.launch_offset + LAUNCH_BYTES
    }

    /// The layout for a block of so many threads, and its work-items.
    pub fn layout(&self, threads: u32) -> Option<(Lanes, u32)> {
        let fits = |lanes: &Lanes| Some((*lanes, lanes.work_items(threads)?));
        (threads <= self.max_threads).then(|| self.lanes.iter().find_map(fits))?
    }
}

/// The symbol of a table in each code object with the properties of its kernels ([`Facts::read`]).
pub const TABLE: &str = "cushim.kernels";
/// How the table begins.
const HEAD: &str = "cushim kernels 2";

impl Facts {
    /// The table of kernels: a line of text for each, its fields separated by tabs.
    pub fn table(all: &[Facts]) -> String {
        let lines = all.iter().map(|f| {
            let lanes: String = f.lanes.iter().map(|l| l.letter()).collect();
            let numbers = [f.parameter_bytes, f.launch_offset, f.static_shared_bytes];
            let [parameters, launch, shared] = numbers;
            let places = f.places.iter().map(|(offset, size)| format!("{offset}+{size}"));
            let places = places.collect::<Vec<_>>().join(",");
            let [dynamic, asks] = [f.dynamic_shared, f.host_calls].map(u8::from);
            format!(
                "{}\t{parameters}\t{launch}\t{lanes}\t{shared}\t{dynamic}\t{}\t{asks}\t{places}\n",
                f.name, f.max_threads
            )
        });
        format!("{HEAD}\n{}", lines.collect::<String>())
    }

    /// Parses such a table; `None` if it is invalid.
    pub fn read(table: &str) -> Option<Vec<Facts>> {
        let mut lines = table.trim_end_matches('\0').lines();
        if lines.next()? != HEAD {
            return None;
        }
        lines.map(Facts::line).collect()
    }

    fn line(line: &str) -> Option<Facts> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, parameters, launch, lanes, shared, dynamic, threads, asks, places] =
            fields.as_slice()
        else {
            return None;
        };
        let place = |text: &str| {
            let (offset, size) = text.split_once('+')?;
            Some((offset.parse().ok()?, size.parse().ok()?))
        };
        let places = places.split(',').filter(|text| !text.is_empty());
        Some(Facts {
            name: (*name).to_owned(),
            places: places.map(place).collect::<Option<_>>()?,
            parameter_bytes: parameters.parse().ok()?,
            launch_offset: launch.parse().ok()?,
            lanes: lanes.chars().map(Lanes::from_letter).collect::<Option<_>>()?,
            static_shared_bytes: shared.parse().ok()?,
            dynamic_shared: *dynamic == "1",
            max_threads: threads.parse().ok()?,
            host_calls: *asks == "1",
        })
    }
}

/// The offset of [`LaunchArguments`] after so many bytes of parameters.
pub fn launch_offset(parameter_bytes: u32) -> u32 {
    parameter_bytes.next_multiple_of(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_has_its_fields_where_kernels_look() {
        let launch = LaunchArguments {
            grid: [1, 2, 3],
            block: [4, 5, 6],
            dynamic_shared_bytes: 7,
            lanes_layout: 8,
            rpc: 9 | 10 << 32,
            workspace: 11,
            reserved: [0; 2],
        };
        let bytes = launch.bytes();
        let word = |n: usize| u32::from_le_bytes(bytes[4 * n..4 * n + 4].try_into().unwrap());
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(word), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!([8, 9, 10, 11, 12].map(word), [9, 10, 11, 0, 0]);
    }

    #[test]
    fn tables_say_what_is_known() {
        let all = [
            Facts {
                name: "_Z1kPf".into(),
                places: vec![(0, 8), (8, 4)],
                parameter_bytes: 12,
                launch_offset: 16,
                lanes: vec![Lanes::Full, Lanes::Half],
                static_shared_bytes: 400,
                dynamic_shared: true,
                max_threads: 256,
                host_calls: true,
            },
            Facts {
                name: "other".into(),
                places: Vec::new(),
                parameter_bytes: 0,
                launch_offset: 0,
                lanes: vec![Lanes::Half],
                static_shared_bytes: 0,
                dynamic_shared: false,
                max_threads: 1024,
                host_calls: false,
            },
        ];
        let table = Facts::table(&all);
        assert_eq!(Facts::read(&table).as_deref(), Some(&all[..]));
        assert_eq!(Facts::read("cushim kernels 1\n"), None);
        assert_eq!(Facts::read(&table.replace("FH", "FX")), None);
    }

    #[test]
    fn half_waves_need_twice_the_work_items() {
        assert_eq!(Lanes::Half.work_items(512), Some(1024));
        assert_eq!(Lanes::Half.work_items(513), None);
        assert_eq!(Lanes::Half.work_items(1), Some(64));
        assert_eq!(Lanes::Full.work_items(33), Some(33));
        assert_eq!(Lanes::Full.work_items(1025), None);
        assert_eq!(Lanes::Full.work_items(0), None);
    }
}
