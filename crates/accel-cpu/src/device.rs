//! The properties of the CPU as a CUDA device.
//!
//! Owns the description. Must not know: memory, code.
//!
//! The capability is 8.0: by default nvcc makes PTX for earlier targets, and what 9.0 adds (warpgroup products,
//! tensor copies) is slower here than the older alternatives. Clusters work, and an attribute says so. PTX for a
//! later target runs nevertheless if an image has no other. `CUSHIM_CPU_CAPABILITY` sets another for a program that
//! requires it, or whose only PTX is for it and made for what its GPUs have.

use cushim_accel::Device;
use std::sync::OnceLock;

/// What differs between compute capabilities: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
struct Capability {
    number: (u32, u32),
    /// KiB of shared memory of a multiprocessor, of which a block gets all but one.
    shared: u32,
    /// Threads and blocks of a multiprocessor.
    threads: i32,
    blocks: i32,
}

const fn of(number: (u32, u32), shared: u32, threads: i32, blocks: i32) -> Capability {
    Capability { number, shared, threads, blocks }
}

/// Those that `CUSHIM_CPU_CAPABILITY` can name; the first is the default.
const CAPABILITIES: [Capability; 6] = [
    of((8, 0), 164, 2048, 32),
    of((8, 6), 100, 1536, 16),
    of((8, 9), 100, 1536, 24),
    of((9, 0), 228, 2048, 32),
    of((10, 0), 228, 2048, 32),
    of((12, 0), 100, 1536, 24),
];
/// Threads of a block.
pub const MAX_THREADS: u32 = 1024;
/// Registers that every kernel reports: the number has no meaning on a processor, and 32 never limits a block's size.
pub const REGISTERS: u32 = 32;
/// Shared memory of a block without asking.
pub const SHARED: u32 = 48 << 10;

/// The largest textures and surfaces, as GPUs of this capability have them (`CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE…`,
/// `…_SURFACE…`, and what belongs to them).
const TEXTURES: [(i32, i32); 44] = [
    (21, 131_072), // a row
    (22, 131_072), // planes
    (23, 65_536),
    (24, 16_384), // volumes
    (25, 16_384),
    (26, 16_384),
    (27, 32_768), // layers of planes
    (28, 32_768),
    (29, 2048),
    (30, 512),    // alignment of surfaces
    (42, 32_768), // layers of rows
    (43, 2048),
    (44, 1),      // gathering
    (45, 32_768), // planes to gather from
    (46, 32_768),
    (47, 8192), // volumes of another shape
    (48, 8192),
    (49, 32_768),
    (51, 32),     // alignment of rows
    (52, 32_768), // cubes
    (53, 32_768), // layers of cubes
    (54, 2046),
    (55, 32_768),  // surfaces: a row
    (56, 131_072), // planes
    (57, 65_536),
    (58, 16_384), // volumes
    (59, 16_384),
    (60, 16_384),
    (61, 32_768), // layers of rows
    (62, 2048),
    (63, 32_768), // layers of planes
    (64, 32_768),
    (65, 2048),
    (66, 32_768), // cubes
    (67, 32_768), // layers of cubes
    (68, 2046),
    (69, 1 << 28), // linear memory
    (70, 131_072), // pitched memory: width, rows, pitch
    (71, 65_000),
    (72, 2_097_120),
    (73, 32_768), // mipmapped planes
    (74, 32_768),
    (77, 32_768), // a mipmapped row
    (14, 512),    // alignment of textures
];

/// The compute capability, determined at the first call, because kernels get it too.
pub fn capability() -> (u32, u32) {
    present().number
}

fn present() -> &'static Capability {
    static CAPABILITY: OnceLock<&Capability> = OnceLock::new();
    CAPABILITY.get_or_init(|| {
        let asked = std::env::var_os("CUSHIM_CPU_CAPABILITY");
        let asked = asked.map(|text| text.to_string_lossy().into_owned());
        named(asked.as_deref()).unwrap_or_else(|why| {
            cushim_accel::say(&why);
            &CAPABILITIES[0]
        })
    })
}

fn named(asked: Option<&str>) -> Result<&'static Capability, String> {
    let Some(text) = asked.filter(|text| !text.is_empty()) else { return Ok(&CAPABILITIES[0]) };
    let name = |c: &Capability| format!("{}.{}", c.number.0, c.number.1);
    let found = CAPABILITIES.iter().find(|c| name(c) == text);
    found.ok_or_else(|| {
        let names = CAPABILITIES.map(|c| name(&c)).join(", ");
        format!("CUSHIM_CPU_CAPABILITY={text}: expected one of {names}; using 8.0")
    })
}

/// The number of devices by `CUSHIM_CPU_DEVICES`, by default one. The error says what is wrong with the value.
pub fn count(asked: Option<&str>) -> Result<usize, String> {
    let found = number("CUSHIM_CPU_DEVICES", asked, 16);
    found.map(|n| n.unwrap_or(1)).map_err(|why| format!("{why}; using 1 device"))
}

/// The maximum number of threads for one grid's blocks, if `CUSHIM_CPU_THREADS` sets it.
pub fn threads(asked: Option<&str>) -> Result<Option<usize>, String> {
    let found = number("CUSHIM_CPU_THREADS", asked, 1024);
    found.map_err(|why| format!("{why}; using one thread per processor"))
}

/// What a variable says, if it is set to something.
fn number(name: &str, asked: Option<&str>, most: usize) -> Result<Option<usize>, String> {
    let Some(text) = asked.filter(|text| !text.is_empty()) else { return Ok(None) };
    match text.parse() {
        Ok(n) if (1..=most).contains(&n) => Ok(Some(n)),
        _ => Err(format!("{name}={text}: expected a number from 1 to {most}")),
    }
}

/// The device with this number, of a machine with so many processors, with so many bytes of memory.
pub fn describe(index: usize, processors: usize, memory: u64) -> Device {
    let mut uuid = *b"cushim CPU    \0\0";
    if let Some(last) = uuid.last_mut() {
        *last = index as u8;
    }
    let own = present();
    let hopper = own.number >= (9, 0);
    let shared = own.shared << 10;
    Device {
        name: String::from("cushim CPU"),
        capability: own.number,
        memory,
        processors: processors as u32,
        warp: 32,
        max_threads: MAX_THREADS,
        shared: (SHARED, shared - 1024),
        clock: clock(),
        host_visible: true,
        uuid,
        // CUdevice_attribute (cuda.h).
        attributes: [
            (9, 64 << 10),        // constant memory
            (12, 64 << 10),       // registers of a block
            (18, 1),              // integrated: it is the host
            (36, clock() as i32), // memory clock
            (37, 64),             // memory bus
            (38, cache()),        // L2
            (39, own.threads),    // threads of a multiprocessor
            (40, 2),              // copies beside kernels
            (81, shared as i32),  // shared memory of a multiprocessor
            (82, 64 << 10),       // registers of a multiprocessor
            (86, 1),              // host atomics
            (87, 2),              // f32 against f64
            (89, 1),              // host and kernels touch managed memory at a time
            (95, 1),              // cooperative launch
            (120, 1),             // launches with clusters
            (127, hopper.into()), // tensor maps
            (101, 1),             // the host touches device memory
            (102, 1),             // addresses apart from memory
            (103, 1),             // memory as file descriptors
            (119, 1),             // pools as file descriptors
            (125, 1),             // events of other processes
            (106, own.blocks),    // blocks of a multiprocessor
        ]
        .into_iter()
        .chain(TEXTURES)
        .collect(),
        isas: &[],
    }
}

/// kHz.
fn clock() -> u32 {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("cpu MHz"));
    let mhz = line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    (mhz.unwrap_or(1000.0) * 1000.0) as u32
}

/// Bytes of the largest cache.
fn cache() -> i32 {
    let size = |name| {
        // SAFETY: no arguments but numbers.
        unsafe { libc::sysconf(name) }
    };
    let largest = size(libc::_SC_LEVEL3_CACHE_SIZE).max(size(libc::_SC_LEVEL2_CACHE_SIZE));
    largest.clamp(0, i32::MAX.into()) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_is_one_of_the_table() {
        let number = |asked| named(asked).map(|found| found.number);
        assert_eq!(
            [number(None), number(Some("")), number(Some("8.0"))],
            [Ok((8, 0)), Ok((8, 0)), Ok((8, 0))]
        );
        assert_eq!([number(Some("9.0")), number(Some("12.0"))], [Ok((9, 0)), Ok((12, 0))]);
        let why =
            "CUSHIM_CPU_CAPABILITY=9: expected one of 8.0, 8.6, 8.9, 9.0, 10.0, 12.0; using 8.0";
        assert_eq!(number(Some("9")), Err(why.to_owned()));
    }

    #[test]
    fn variables_are_numbers_or_said_to_be_wrong() {
        assert_eq!(count(None), Ok(1));
        assert_eq!(count(Some("")), Ok(1));
        assert_eq!(count(Some("16")), Ok(16));
        for wrong in ["0", "17", "two", "-1", "1.5"] {
            let why = format!(
                "CUSHIM_CPU_DEVICES={wrong}: expected a number from 1 to 16; using 1 device"
            );
            assert_eq!(count(Some(wrong)), Err(why));
        }
        assert_eq!(threads(None), Ok(None));
        assert_eq!(threads(Some("1024")), Ok(Some(1024)));
        let why = "CUSHIM_CPU_THREADS=1025: expected a number from 1 to 1024; using one thread per processor";
        assert_eq!(threads(Some("1025")), Err(why.to_owned()));
    }
}
