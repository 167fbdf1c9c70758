//! Calls of the runtime with any values, on the mock accelerator.
//!
//! Owns the list of called functions and the values of each argument. Handles may be null, freed or of another kind:
//! cushim's driver looks every one up. Pointers may be null, to device memory, or to memory of the program that is as
//! large as the call may use; it holds zeros, or a list of handles. Promised and checked: no call faults or hangs, a
//! failed call leaves every output unchanged, and only calls that the table lists reach functions that cushim's driver
//! lacks.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use cushim_abi::index::{DRIVER_NAMES, MAJORS, column};
use cushim_abi::{Signature, all_runtime};
use vcuda::runtime::vcuda_runtime;
use vcuda::{driver, runtime, unsupported};

/// Parts of names of functions that are not called: they take function addresses, strings, images or files, belong to
/// other processes or libraries, or keep their arguments beyond the input.
const OUT_OF_REACH: &[&str] = &[
    "External",
    "Graphics",
    "EGL",
    "GL",
    "VDPAU",
    "Ipc",
    "Library",
    "Texture",
    "Surface",
    "Logs",
    "Error",
    "ChannelDesc",
    "UserObject",
    "Print",
    "EntryPoint",
    "ExportTable",
    "Profiler",
    "Symbol",
    "Notification",
    "Batch",
    "Register",
    "__cuda",
    "Kernel",
    "Func",
    "Occupancy",
    "Import",
    "Subgrid",
    "Double",
    "PCIBusId",
    "ExecutionCtx",
    "GreenCtx",
    "DevResource",
    "DevSm",
    "NvSci",
    "WithAttributes",
    "cudaThreadExit",
    "cudaDeviceReset",
    "cudaSetValidDevices",
    "cudaChooseDevice",
    "Recapture",
    "Version",
    "AddNode",
    "NodeSetParams",
];

/// Functions that write even when they fail: the reason (CUDA Runtime API: result and node of the error), and
/// a null that NVIDIA's functions write, too (measured).
const TELL_WHY: [&str; 3] =
    ["cudaGraphInstantiate", "cudaGraphExecUpdate", "cudaHostGetDevicePointer"];

/// Arguments that are an array, a pool or memory: other arguments of their type are structures.
const HANDLES: [&str; 11] = [
    "ptr",
    "devPtr",
    "array",
    "hArray",
    "mipmappedArray",
    "mipmap",
    "memPool",
    "pool",
    "pHost",
    "dptr",
    "ctx",
];

/// The value of outputs before a call.
const BEFORE: u64 = 0xa5a5_a5a5_a5a5_a5a5;
/// Bytes of the program's memory that calls may use.
const HOST: usize = 1 << 16;
/// Words of memory at other pointers: more than any structure of the runtime has.
const WORDS: usize = 512;

/// One function of one major.
struct Callee {
    /// Its number.
    index: usize,
    row: &'static Signature,
    address: usize,
}

/// A call as the ABI passes words: the first six in registers, the others on the stack.
type Words = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> i32;

fn callees() -> &'static [Callee] {
    static ALL: OnceLock<Vec<Callee>> = OnceLock::new();
    ALL.get_or_init(|| {
        vcuda::choose::offer("mock", || Box::new(cushim_accel_mock::new()));
        // SAFETY: no other thread runs yet.
        unsafe { std::env::set_var("CUSHIM_BACKEND", "mock") };
        let mut all = Vec::new();
        for (index, (row, slots)) in all_runtime().zip(&vcuda_runtime).enumerate() {
            let Some(args) = row.args else { continue };
            let plain = args.iter().all(|arg| arg.size <= 8 && arg.shape.word() != "str");
            if !plain || args.len() > 10 || OUT_OF_REACH.iter().any(|part| row.name.contains(part))
            {
                continue;
            }
            for major in MAJORS.into_iter().filter(|major| row.majors.contains(&(*major as u32))) {
                let address = slots.get(column(major)).map_or(0, |slot| slot.0.addr());
                if address != 0 {
                    all.push(Callee { index, row, address });
                }
            }
        }
        all
    })
}

/// The names of the functions that are called.
#[allow(dead_code)]
pub fn names() -> Vec<&'static str> {
    callees().iter().map(|callee| callee.row.identifier).collect()
}

fn callee(name: &str) -> usize {
    let found = callees().iter().rev().find(|callee| callee.row.identifier == name);
    found.map_or(0, |found| found.address)
}

/// Calls the function at an address with words for arguments.
///
/// # Safety
/// What CUDA asks of the arguments.
unsafe fn call(address: usize, words: &[u64; 10]) -> i32 {
    let [a, b, c, d, e, f, g, h, i, j] = *words;
    // SAFETY: a function of integers and pointers with at most this many arguments: more do no harm.
    let function = unsafe { std::mem::transmute::<usize, Words>(address) };
    // SAFETY: as the caller promises.
    unsafe { function(a, b, c, d, e, f, g, h, i, j) }
}

extern "C" fn nothing(_: usize, _: i32, _: usize) {}

/// Reads numbers from the input; zeros once it has ended.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u64 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        u64::from(*first)
    }

    fn one(&mut self, of: &[u64]) -> u64 {
        let at = self.byte() as usize;
        if of.is_empty() { 0 } else { of.get(at % of.len()).copied().unwrap_or(0) }
    }
}

/// Handles that earlier calls created, by kind.
struct World {
    handles: BTreeMap<&'static str, Vec<u64>>,
    host: u64,
}

/// Memory of the program that is never freed: copies may still run when an input ends.
fn host() -> u64 {
    static PLACE: OnceLock<usize> = OnceLock::new();
    *PLACE.get_or_init(|| Vec::leak(vec![0_u8; HOST]).as_mut_ptr().expose_provenance()) as u64
}

impl World {
    fn any(&self, kind: &str, input: &mut Input<'_>) -> u64 {
        let known = self.handles.get(kind).map_or(&[][..], Vec::as_slice);
        match input.byte() % 16 {
            0 => 0,
            1 => input.byte() % 4,
            2 => 0xdead_0000 + input.byte(),
            // A handle of another kind.
            3 => self.handles.values().flatten().nth(input.byte() as usize).copied().unwrap_or(0),
            _ => input.one(known),
        }
    }

    /// An argument that is an integer.
    fn number(&self, shape: &str, small: bool, input: &mut Input<'_>) -> u64 {
        let n = input.byte();
        match (shape, n % 8) {
            ("device", _) => [0, 0, 0, 0, 0, 0, 1, u64::MAX][n as usize % 8],
            ("flags", 0..=3) => 0,
            ("flags", _) => 1 << (input.byte() % 20),
            ("memcpykind", _) => n % 6,
            (_, 0) if !small => u64::MAX - input.byte(),
            // Small enough to be allocated, or more than exists.
            (_, 1) if !small => 1 << [input.byte() % 20, 44 + input.byte() % 20][n as usize >> 7],
            (_, 2) => 0,
            (_, 3) => input.byte() % 200,
            _ => input.byte() % 12,
        }
    }
}

/// Makes calls until the input ends.
pub fn calls(data: &[u8]) {
    let mut input = Input(data);
    let mut world = World { handles: BTreeMap::new(), host: host() };
    while !input.0.is_empty() {
        one(&mut world, &mut input);
    }
    let of = |device| [device, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    // SAFETY: no arguments. The input's objects are gone afterwards.
    unsafe {
        for device in [1, 0] {
            call(callee("cudaSetDevice"), &of(device));
            call(reset(), &of(0));
        }
        call(callee("cudaSetDevice"), &of(0));
    }
    let mut made = 0_u64;
    let at = (&raw mut made).expose_provenance() as u64;
    // SAFETY: a place for an address.
    let status = unsafe { call(callee("cudaMalloc"), &[at, 64, 0, 0, 0, 0, 0, 0, 0, 0]) };
    assert_eq!(status, 0, "after a reset everything works");
}

fn reset() -> usize {
    let found = all_runtime().position(|row| row.identifier == "cudaDeviceReset");
    let slots = found.and_then(|at| vcuda_runtime.get(at));
    slots.and_then(|slots| slots.get(column(13))).map_or(0, |slot| slot.0.addr())
}

/// The functions that cushim's driver lacks and that were called, with the number of calls.
fn lacking() -> Vec<(&'static str, u64)> {
    let lacks = |name: &str| {
        let index = DRIVER_NAMES.iter().position(|known| *known == name);
        index.is_some_and(|index| !driver::is_implemented(index))
    };
    unsupported::seen().into_iter().filter(|(name, _)| lacks(name)).collect()
}

/// Keeps the handles that a call created, for later calls.
fn keep(
    world: &mut World,
    row: &Signature,
    words: &[u64; 10],
    outputs: &[u64; 10],
    given: &[u64; 10],
) {
    let args = row.args.unwrap_or_default();
    for (place, arg) in args.iter().enumerate() {
        let made = outputs[place];
        if arg.out && words[place] != 0 && made != BEFORE && made != given[place] && arg.size == 8 {
            let kind = match arg.shape.word() {
                "ptr" if row.name.contains("Array") => "array",
                "ptr" if row.name.contains("Pool") && !row.name.contains("Malloc") => "pool",
                // A graph node may still use such memory after it was freed.
                "ptr" if row.name.contains("Host") || row.name.contains("Managed") => "host",
                shape => shape,
            };
            let kept = world.handles.entry(kind).or_default();
            if kept.len() < 64 {
                kept.push(made);
            }
        }
    }
}

/// Chooses a call's numbers; `limited`: sizes of known memory, `list`: of a few things.
fn numbers(
    world: &mut World,
    row: &Signature,
    (words, outputs): (&mut [u64; 10], &mut [u64; 10]),
    limited: bool,
    list: bool,
    input: &mut Input<'_>,
) {
    let args = row.args.unwrap_or_default();
    for (word, arg) in words.iter_mut().zip(args) {
        if !arg.out
            && !["ptr", "stream", "event", "graph", "graphexec", "node"].contains(&arg.shape.word())
        {
            *word = world.number(arg.shape.word(), limited, input);
        }
        if (list || arg.name.starts_with("num")) && arg.shape.word() == "size" && !arg.out {
            *word %= 8;
        }
    }
    // The output for a list's length holds the list's room before the call.
    for (place, arg) in args.iter().enumerate() {
        if arg.out && row.name.contains("Graph") && arg.shape.word() == "size" {
            outputs[place] = input.byte() % 8;
        }
    }
}

fn one(world: &mut World, input: &mut Input<'_>) {
    let all = callees();
    let at = (input.byte() << 8 | input.byte()) as usize % all.len();
    let Some(Callee { index, row, address }) = all.get(at) else { return };
    let args = row.args.unwrap_or_default();
    let copies = ["Memcpy", "Memset"].iter().any(|part| row.name.contains(part));
    let sizes = args.iter().filter(|arg| arg.shape.word() == "size").count();
    let mut words = [0; 10];
    let mut outputs = [BEFORE; 10];
    let (mut behind, mut structure) = ([0_u64; WORDS], [0_u64; WORDS]);
    let list = args.iter().any(|arg| arg.name.contains("ependenc") || arg.name == "from");
    if list {
        behind.iter_mut().take(8).for_each(|word| *word = world.any("node", input));
    }
    if args.iter().any(|arg| arg.name == "desc") {
        // Channels of one float.
        (behind[0], behind[2]) = (32, 2);
    }
    let before = behind;
    let mut small = list;
    for (place, (arg, word)) in args.iter().zip(&mut words).enumerate() {
        *word = match arg.shape.word() {
            _ if arg.out && input.byte().is_multiple_of(16) => 0,
            _ if arg.out => outputs.as_mut_ptr().wrapping_add(place).expose_provenance() as u64,
            "ptr" if ["callback", "fn_", "fn"].contains(&arg.name) => {
                [0, (nothing as *const ()).addr() as u64][(input.byte() % 2) as usize]
            }
            "ptr" if arg.name == "userData" => input.byte(),
            "ptr" if arg.name.contains("arams") => match input.byte() % 8 {
                0 => 0,
                _ => structure.as_mut_ptr().expose_provenance() as u64,
            },
            "ptr" if arg.name.contains("ependenc") => match input.byte() % 8 {
                0 => 0,
                _ => behind.as_mut_ptr().expose_provenance() as u64,
            },
            "ptr" if copies && args.len() > 2 => match input.byte() % 4 {
                0 => 0,
                1 => {
                    small = true;
                    world.host + input.byte() * 64
                }
                // For an unknown address the driver trusts the program that there is memory.
                _ => input.one(world.handles.get("ptr").map_or(&[][..], Vec::as_slice)),
            },
            "ptr" if HANDLES.contains(&arg.name) => {
                world.any(["ptr", "array", "pool", "host"][(input.byte() % 4) as usize], input)
            }
            "ptr" => match input.byte() % 8 {
                0 => 0,
                _ => behind.as_mut_ptr().expose_provenance() as u64,
            },
            shape @ ("stream" | "event" | "graph" | "graphexec" | "node") => {
                world.any(shape, input)
            }
            _ => 0,
        };
    }
    // A size for memory of the program is trusted: the driver does not know that memory.
    let limited = small || (copies && sizes > 1);
    numbers(world, row, (&mut words, &mut outputs), limited, list, input);
    let given = outputs;
    let lacked = lacking();
    // SAFETY: handles are looked up, pointers lead to places of ours or of the device.
    let status = unsafe { call(*address, &words) };
    for (name, count) in lacking() {
        let said = runtime::needs(*index).iter().any(|need| DRIVER_NAMES[*need as usize] == name);
        assert!(said || lacked.contains(&(name, count)), "{} comes to {name}", row.identifier);
    }
    if status != 0 {
        if TELL_WHY.iter().any(|start| row.name.starts_with(start)) {
            return;
        }
        assert_eq!(outputs, given, "{} answered {status} and wrote: {words:x?}", row.identifier);
        assert!(
            behind == before && structure == [0; WORDS],
            "{} answered {status} and wrote behind: {words:x?}",
            row.identifier
        );
        return;
    }
    keep(world, row, &words, &outputs, &given);
}
