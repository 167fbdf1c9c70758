//! The thread that a message names when a kernel touches unmapped memory: every kind of access, under a branch and
//! under a guard, by the interpreter and by both code generators.
//!
//! Of the active lanes whose own access fails, the message names the lowest, with its address.

use cushim_ptx::exec::{BadAddress, Cause, Fault, Host, KernelLaunch, Memory};
use cushim_ptx::interp;
use cushim_ptx::ir::Module;
use cushim_ptx_jit::{Arena, Kernel, Mapped};
use std::fmt::Write as _;
use std::sync::Arc;

/// Bytes of each kind of memory before its end.
const ROOM: u64 = 2048;
const THREADS: u32 = 64;

/// An access: PTX with the address in `p` (`s`, 32 bits, for shared memory) and values in `v`, `w`, `x`.
struct Access {
    name: &'static str,
    text: &'static str,
    bytes: u64,
    space: &'static str,
}

const fn access(name: &'static str, space: &'static str, bytes: u64, text: &'static str) -> Access {
    Access { name, text, bytes, space }
}

const ACCESSES: [Access; 46] = [
    access("load1", "global", 1, "ld.global.u8 v0, [p];"),
    access("load2", "global", 2, "ld.global.s16 v0, [p];"),
    access("load4", "global", 4, "ld.global.u32 v0, [p];"),
    access("load4_generic", "global", 4, "ld.u32 v0, [p];"),
    access("load4_used", "global", 4, "ld.global.u32 v0, [p]; add.u32 v0, v0, v1;"),
    access("load4_summed", "global", 4, "ld.global.f32 f0, [p]; add.f32 f1, f0, f1;"),
    access("load8_followed", "global", 8, "ld.global.u64 x0, [p]; ld.global.u32 v0, [x0+4];"),
    access(
        "load8_indexed",
        "global",
        8,
        "ld.global.u64 x0, [p]; mad.wide.u32 x0, v1, 4, x0; ld.global.u32 v0, [x0];",
    ),
    access(
        "load4_added",
        "global",
        4,
        "ld.global.u32 v0, [p]; add.u32 v1, v1, v0; xor.b32 v0, v1, 3;",
    ),
    access("load4_nc", "global", 4, "ld.global.nc.f32 f0, [p];"),
    access("load8", "global", 8, "ld.global.u64 x0, [p];"),
    access("load8_vector", "global", 8, "ld.global.v2.u32 {v0, v1}, [p];"),
    access("load16_vector", "global", 16, "ld.global.v4.f32 {f0, f1, f2, f3}, [p];"),
    access("load16_wide", "global", 16, "ld.global.v2.u64 {x0, x1}, [p];"),
    access("load8_once", "global", 8, "ld.volatile.global.v2.u32 {v0, v1}, [p];"),
    access("load4_acquire", "global", 4, "ld.acquire.gpu.global.u32 v0, [p];"),
    access("load4_offset", "global", 4, "add.u64 p, p, -64; ld.global.u32 v0, [p+64];"),
    access("load4_const", "global", 4, "ld.const.u32 v0, [p];"),
    access("store1", "global", 1, "st.global.u8 [p], v0;"),
    access("store4", "global", 4, "st.global.u32 [p], v0;"),
    access("store4_generic", "global", 4, "st.f32 [p], f0;"),
    access("store8", "global", 8, "st.global.u64 [p], x0;"),
    access("store8_vector", "global", 8, "st.global.v2.u32 [p], {v0, v1};"),
    access("store16_vector", "global", 16, "st.global.v4.u32 [p], {v0, v1, v0, v1};"),
    access("store16_once", "global", 16, "st.volatile.global.v4.u32 [p], {v0, v1, v0, v1};"),
    access("store4_release", "global", 4, "st.release.gpu.global.u32 [p], v0;"),
    access("atom4", "global", 4, "atom.global.add.u32 v0, [p], v1;"),
    access("atom4_generic", "global", 4, "atom.min.s32 v0, [p], v1;"),
    access("atom8", "global", 8, "atom.global.exch.b64 x0, [p], x1;"),
    access("atom4_float", "global", 4, "atom.global.add.f32 f0, [p], f1;"),
    access("atom4_cas", "global", 4, "atom.global.cas.b32 v0, [p], v1, v0;"),
    access("atom8_vector", "global", 8, "atom.global.add.v2.f32 {f0, f1}, [p], {f2, f3};"),
    access("red4", "global", 4, "red.global.or.b32 [p], v1;"),
    access("copy4_from", "global", 4, "cp.async.ca.shared.global [room], [p], 4;"),
    access("copy16_from", "global", 16, "cp.async.cg.shared.global [room], [p], 16;"),
    access("copy4_to", "shared", 4, "cp.async.ca.shared.global [s], [there], 4;"),
    access("shared_load", "shared", 4, "ld.shared.u32 v0, [s];"),
    access("shared_load_generic", "shared", 4, "ld.u32 v0, [p];"),
    access("shared_vector", "shared", 16, "ld.shared.v4.u32 {v0, v1, v0, v1}, [s];"),
    access("shared_store", "shared", 4, "st.shared.u32 [s], v0;"),
    access("shared_atom", "shared", 4, "atom.shared.add.u32 v0, [s], v1;"),
    access("local_load", "local", 4, "ld.local.u32 v0, [p];"),
    access("local_store", "local", 8, "st.local.u64 [p], x0;"),
    access("local_generic", "local", 4, "ld.u32 v0, [p];"),
    access("param_load", "param", 4, "ld.param.u32 v0, [p];"),
    access("param_generic", "param", 4, "ld.u32 v0, [p];"),
];

/// How addresses differ between lanes: relative to the base, each lane's is `rank` values further than lane 0's.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Uniform,
    Affine,
    Scaled,
    Scattered,
}

const SHAPES: [Shape; 4] = [Shape::Uniform, Shape::Affine, Shape::Scaled, Shape::Scattered];

impl Shape {
    fn rank(self, thread: u32) -> u64 {
        u64::from(match self {
            Shape::Uniform => 0,
            Shape::Affine => thread,
            Shape::Scaled => 3 * thread + 2,
            Shape::Scattered => (thread * 37) & 63,
        })
    }

    /// PTX that computes the address in `p`.
    fn text(self, bytes: u64) -> String {
        match self {
            Shape::Uniform => String::new(),
            Shape::Affine => format!("mad.wide.u32 p, i, {bytes}, p;"),
            Shape::Scaled => format!("mad.lo.u32 j, i, 3, 2; mad.wide.s32 p, j, {bytes}, p;"),
            Shape::Scattered => {
                format!("mul.lo.u32 j, i, 37; and.b32 j, j, 63; mad.wide.u32 p, j, {bytes}, p;")
            }
        }
    }
}

/// How the kernel selects its active lanes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Branch,
    Guard,
    /// A called function contains the access.
    Call,
}

const WAYS: [Way; 3] = [Way::Branch, Way::Guard, Way::Call];

fn name(access: &Access, shape: Shape, way: Way) -> String {
    format!("{}_{shape:?}_{way:?}", access.name)
}

const REGISTERS: &str =
    ".reg .u64 p, x<2>, there; .reg .u32 i, j, k, n, m, v<2>, s; .reg .f32 f<4>; .reg .pred q;
  mov.u32 v0, 1; mov.u32 v1, 2; mov.u64 x0, 3; mov.u64 x1, 4;
  mov.f32 f0, 0f3F800000; mov.f32 f1, f0; mov.f32 f2, f0; mov.f32 f3, f0;";

fn text() -> String {
    let mut out =
        ".version 8.1\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 room[2048];\n"
            .to_string();
    for access in &ACCESSES {
        for (shape, way) in SHAPES.iter().flat_map(|s| WAYS.map(|w| (*s, w))) {
            let generic = access.name.ends_with("generic");
            let own = matches!(access.space, "local" | "param") && way == Way::Call;
            if own {
                continue; // a function's parameters are its local memory, which has another size
            }
            let to_generic = match (access.space, generic) {
                ("shared", true) => "add.u64 p, p, 0x810000000000;",
                ("local", true) => "add.u64 p, p, 0x820000000000;",
                ("param", true) => "add.u64 p, p, 0x830000000000;",
                _ => "",
            };
            let address = format!("{}{to_generic} cvt.u32.u64 s, p;", shape.text(access.bytes));
            let name = name(access, shape, way);
            let act = access.text;
            if way == Way::Call {
                writeln!(out, ".func f_{name}(.reg .u64 p, .reg .u32 s, .reg .u64 there) {{ .reg .u64 x<2>; .reg .u32 v<2>; \
                    .reg .f32 f<4>; {act} ret; }}").unwrap();
            }
            writeln!(out, ".entry {name}(.param .u64 from, .param .u32 low, .param .u32 mask, .param .u64 safe, \
                .param .align 16 .b8 rest[2024]) {{ .local .align 16 .b8 mine[2048]; {REGISTERS}
              ld.param.u64 p, [from]; ld.param.u32 n, [low]; ld.param.u32 m, [mask]; ld.param.u64 there, [safe];
              mov.u32 i, %tid.z; mov.u32 j, %ntid.y; mov.u32 k, %tid.y; mad.lo.u32 i, i, j, k;
              mov.u32 j, %ntid.x; mov.u32 k, %tid.x; mad.lo.u32 i, i, j, k;
              {address} xor.b32 j, i, n; and.b32 j, j, m; setp.eq.u32 q, j, 0; setp.ge.and.u32 q, i, n, q;").unwrap();
            match way {
                Way::Branch => writeln!(out, "@!q bra END;\n{act}\nEND: st.shared.u32 [room], v0; ret; }}"),
                Way::Call => writeln!(out, "@!q bra END;\ncall f_{name}, (p, s, there);\nEND: st.shared.u32 [room], v0; ret; }}"),
                Way::Guard => {
                    // Guards each instruction that accesses memory, but no address computation.
                    let guarded = act.split_inclusive(';').map(|i| match i.contains('[') {
                        true => format!("@q {i} "),
                        false => format!("{i} "),
                    });
                    writeln!(out, "{}\nst.shared.u32 [room], v0; ret; }}", guarded.collect::<String>())
                }
            }
            .unwrap();
        }
    }
    out
}

/// Device memory whose upper half is not mapped.
struct Half(Arena);

impl Mapped for Half {
    fn holds(&self, address: u64, bytes: u64) -> bool {
        address >= self.0.base() && address + bytes <= self.0.base() + self.0.size() / 2
    }
}

impl Memory for Half {
    fn load(&self, address: u64, bytes: &mut [u8]) -> Result<(), BadAddress> {
        if self.holds(address, bytes.len() as u64) {
            self.0.load(address, bytes)
        } else {
            Err(BadAddress)
        }
    }
    fn store(&self, address: u64, bytes: &[u8]) -> Result<(), BadAddress> {
        if self.holds(address, bytes.len() as u64) {
            self.0.store(address, bytes)
        } else {
            Err(BadAddress)
        }
    }
    fn update(
        &self,
        address: u64,
        bytes: u32,
        new: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, BadAddress> {
        if self.holds(address, bytes.into()) {
            self.0.update(address, bytes, new)
        } else {
            Err(BadAddress)
        }
    }
    fn update_pair(
        &self,
        address: u64,
        new: &mut dyn FnMut([u64; 2]) -> [u64; 2],
    ) -> Result<[u64; 2], BadAddress> {
        if self.holds(address, 16) { self.0.update_pair(address, new) } else { Err(BadAddress) }
    }
}

struct Quiet;

impl Host for Quiet {
    fn print(&self, _: &[u8]) {}
    fn allocate(&self, _: u64) -> u64 {
        0
    }
    fn free(&self, _: u64) {}
    fn nanoseconds(&self) -> u64 {
        0
    }
}

struct Device {
    memory: Half,
    module: Arc<Module>,
}

impl Device {
    fn new() -> Device {
        let text = text();
        let module = cushim_ptx::parse(&text).and_then(|m| cushim_ptx::check(&m));
        let module = module.unwrap_or_else(|e| {
            let line = e.pos().line as usize;
            panic!("{e}\n{}", text.lines().nth(line - 1).unwrap_or(""))
        });
        let size = 1usize << 20;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_NONE, flags, -1, 0) };
        assert_ne!(base, libc::MAP_FAILED);
        // SAFETY: inside the mapping made above.
        unsafe { libc::mprotect(base, size / 2, libc::PROT_READ | libc::PROT_WRITE) };
        // SAFETY: the mapping is ours and never unmapped.
        let arena = unsafe { Arena::new(base as u64, size as u64) }.unwrap();
        Device { memory: Half(arena), module: Arc::new(module) }
    }

    /// Fills the memory with pointers to mapped memory, which loads then find.
    fn fill(&self) {
        let (base, end) = (self.memory.0.base(), self.end());
        (1..=8192 / 8).for_each(|n| self.memory.0.store(end - 8 * n, &base.to_le_bytes()).unwrap());
    }

    fn end(&self) -> u64 {
        self.memory.0.base() + self.memory.0.size() / 2
    }
}

/// A launch: its active threads, and the first thread with a wrong address.
#[derive(Debug, Clone, Copy)]
struct Case {
    low: u32,
    mask: u32,
    /// The thread whose address is the first unmapped one.
    edge: u32,
    block: [u32; 3],
    grid: [u32; 3],
}

impl Case {
    fn active(&self, thread: u32) -> bool {
        thread >= self.low && (thread ^ self.low) & self.mask == 0
    }

    fn expected(&self, shape: Shape) -> Option<u32> {
        (0..THREADS).find(|t| self.active(*t) && shape.rank(*t) >= shape.rank(self.edge))
    }
}

const CASES: [Case; 8] = [
    // A single thread, in either warp.
    Case { low: 5, mask: 63, edge: 0, block: [64, 1, 1], grid: [1, 1, 1] },
    Case { low: 42, mask: 63, edge: 3, block: [64, 1, 1], grid: [1, 1, 1] },
    // All threads; some have valid addresses.
    Case { low: 0, mask: 0, edge: 0, block: [64, 1, 1], grid: [1, 1, 1] },
    Case { low: 0, mask: 0, edge: 30, block: [64, 1, 1], grid: [1, 1, 1] },
    Case { low: 0, mask: 0, edge: 33, block: [64, 1, 1], grid: [3, 2, 1] },
    // The upper threads; every fourth thread.
    Case { low: 19, mask: 0, edge: 7, block: [8, 4, 2], grid: [1, 1, 1] },
    Case { low: 2, mask: 3, edge: 21, block: [64, 1, 1], grid: [1, 1, 1] },
    Case { low: 3, mask: 1, edge: 13, block: [3, 5, 4], grid: [2, 1, 2] },
];

fn run(device: &Device, access: &Access, shape: Shape, way: Way, failures: &mut Vec<String>) {
    let name = name(access, shape, way);
    let Some(number) = device.module.function(&name) else { return };
    let kernel = &device.module.functions[number as usize];
    let new = || Kernel::new(&device.module, number, [64, 1, 1]).unwrap();
    let (quick, best) = (new(), new());
    for case in CASES {
        let threads: u32 = case.block.iter().product();
        let end = match access.space {
            "global" => device.end(),
            "param" => kernel.params_size.into(),
            _ => ROOM,
        };
        let base = end.wrapping_sub(shape.rank(case.edge) * access.bytes);
        let mut params = base.to_le_bytes().to_vec();
        params.extend(case.low.to_le_bytes());
        params.extend(case.mask.to_le_bytes());
        params.extend((device.end() - 64).to_le_bytes());
        params.resize(kernel.params_size as usize, 0);
        let launch = KernelLaunch {
            module: &device.module,
            kernel: number,
            globals: &[],
            grid: case.grid,
            block: case.block,
            dynamic_shared: 0,
            params: &params,
            cluster: [1; 3],
            explicit_cluster: false,
            cooperative: false,
            workspace: 0,
            local_limit: 1 << 16,
        };
        let expected = case.expected(shape).filter(|t| *t < threads).map(|t| {
            let [x, y, _] = case.block;
            let address = base.wrapping_add(shape.rank(t) * access.bytes);
            ([t % x, t / x % y, t / x / y], address, access.bytes as u32, access.space)
        });
        let line = std::cell::Cell::new(None);
        let mut check = |by: &str, done: Result<(), Fault>| {
            if let Err(fault) = &done {
                // The interpreter knows the failing instruction.
                let pos = line.replace(fault.pos()).unwrap_or(fault.pos().unwrap_or_default());
                if fault.pos() != Some(pos) || fault.access.is_none() {
                    failures.push(format!("{by} {name} {case:?}: {fault}, expected PTX {pos}"));
                }
            }
            let found = done.as_ref().err().map(|f| match *f.cause {
                Cause::Address { address, bytes, space, .. } => {
                    assert_eq!((f.kernel.as_str(), f.block), (name.as_str(), [0; 3]), "{by}: {f}");
                    (f.thread, address, bytes, space)
                }
                ref other => panic!("{by} {name}: {other}"),
            });
            if found != expected {
                failures.push(format!("{by} {name} {case:?}: {found:x?}, expected {expected:x?}"));
            }
        };
        device.fill();
        check("interpreter", interp::run(&launch, &device.memory, &Quiet));
        let run = |kernel: &Kernel| {
            let next = std::cell::Cell::new(0u64);
            let total = case.grid.iter().map(|n| u64::from(*n)).product();
            let next = |_| {
                let n = next.replace(next.get() + 1);
                n..(n + 1).min(total).max(n)
            };
            kernel.run_blocks(&launch, &device.memory.0, &device.memory, &Quiet, &next)
        };
        device.fill();
        check("quick code", run(&quick));
        best.improve(case.block).unwrap();
        device.fill();
        check("best code", run(&best));
    }
}

fn all(way: Way) {
    let device = Device::new();
    let mut failures = Vec::new();
    for access in &ACCESSES {
        for shape in SHAPES {
            run(&device, access, shape, way, &mut failures);
        }
    }
    assert!(failures.is_empty(), "{} wrong:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn behind_a_branch_the_lowest_lane_is_named_whose_access_goes_wrong() {
    all(Way::Branch);
}

#[test]
fn under_a_guard_the_lowest_lane_is_named_whose_access_goes_wrong() {
    all(Way::Guard);
}

#[test]
fn in_a_function_that_the_kernel_calls_the_lowest_lane_is_named_whose_access_goes_wrong() {
    all(Way::Call);
}
