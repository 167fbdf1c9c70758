//! Times kernels on the interpreter alone, by the processor's time:
//!
//!     kernels KERNELS.ptx [NAME]
//!
//! The kernels are those of `scripts/bench-cpu.d/kernels.cu`, at the small sizes of `scripts/bench-cpu`. Prints for each the
//! least time of five launches and a checksum of what it wrote, by which two versions of the interpreter can be compared.
#![allow(clippy::unwrap_used, clippy::panic)]

use cushim_ptx::interp::{self, BadAddress, Host, Launch, Memory};
use cushim_ptx::ir::{Module, Place};
use std::cell::Cell;

const BASE: u64 = 0x7000_0000_0000;
const BYTES: usize = 16 << 20;

/// Flat memory.
struct Flat(Vec<Cell<u8>>);

impl Flat {
    fn range(&self, address: u64, bytes: usize) -> Result<&[Cell<u8>], BadAddress> {
        let at = address.checked_sub(BASE).ok_or(BadAddress)? as usize;
        self.0.get(at..at + bytes).ok_or(BadAddress)
    }
}

impl Memory for Flat {
    fn load(&self, address: u64, bytes: &mut [u8]) -> Result<(), BadAddress> {
        let from = self.range(address, bytes.len())?;
        bytes.iter_mut().zip(from).for_each(|(to, from)| *to = from.get());
        Ok(())
    }

    fn store(&self, address: u64, bytes: &[u8]) -> Result<(), BadAddress> {
        let to = self.range(address, bytes.len())?;
        bytes.iter().zip(to).for_each(|(from, to)| to.set(*from));
        Ok(())
    }

    fn update(
        &self,
        address: u64,
        bytes: u32,
        new: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, BadAddress> {
        let mut raw = [0; 8];
        self.load(address, &mut raw[..bytes as usize])?;
        let old = u64::from_le_bytes(raw);
        self.store(address, &new(old).to_le_bytes()[..bytes as usize])?;
        Ok(old)
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
    module: Module,
    globals: Vec<u64>,
    memory: Flat,
}

/// An argument's bits.
#[derive(Clone, Copy)]
enum Arg {
    P(u64),
    I(usize),
    F(f32),
}
use Arg::{F, I, P};

impl Device {
    fn launch(&self, name: &str, grid: [usize; 3], block: [u32; 3], args: &[Arg]) {
        let kernel = self.module.function(name).unwrap_or_else(|| panic!("no kernel {name}"));
        let f = &self.module.functions[kernel as usize];
        let mut params = vec![0; f.params_size as usize];
        for (p, a) in f.params.iter().zip(args) {
            let Place::Memory(at) = p.place else { panic!("a parameter in a register") };
            let (bits, n) = match *a {
                P(v) => (v, 8),
                I(v) => (v as u64, 4),
                F(v) => (v.to_bits().into(), 4),
            };
            params[at as usize..at as usize + n].copy_from_slice(&bits.to_le_bytes()[..n]);
        }
        let launch = Launch {
            module: &self.module,
            kernel,
            globals: &self.globals,
            grid: grid.map(|n| n as u32),
            block,
            dynamic_shared: 0,
            params: &params,
            cooperative: false,
            workspace: 0,
            local_limit: 1 << 20,
        };
        interp::run(&launch, &self.memory, &Quiet).unwrap_or_else(|e| panic!("{e}"));
    }

    fn case(&self, name: &str) {
        let (a, b, s) = (BASE + 4096, BASE + (8 << 20), BASE + (14 << 20));
        let line = [256, 1, 1];
        let blocks = |n: usize| [n.div_ceil(256), 1, 1];
        match name {
            "saxpy" => self.launch(name, blocks(1 << 18), line, &[I(1 << 18), F(0.5), P(a), P(b)]),
            "reduce" => self.launch(name, [512, 1, 1], line, &[I(1 << 18), P(a), P(s)]),
            "matmul" => {
                let args = [I(256), P(a), P(a + (1 << 18)), P(b)];
                self.launch(name, [8, 8, 1], [32, 32, 1], &args);
            }
            "nbody" => self.launch(name, [2, 1, 1], line, &[I(512), P(a), P(b)]),
            "black_scholes" => {
                let at = |n: u64| P(a + (n << 16));
                let args = [I(1 << 14), at(0), at(1), at(2), P(b), P(b + (1 << 16))];
                self.launch(name, blocks(1 << 14), line, &args);
            }
            "histogram" => self.launch(name, [512, 1, 1], line, &[I(1 << 17), P(a), P(s)]),
            "scan" => {
                let (second, third) = (s + 1024, s + 1028);
                self.launch("scan", [256, 1, 1], line, &[I(1 << 16), P(a), P(b), P(s)]);
                self.launch("scan", [1, 1, 1], line, &[I(256), P(s), P(s), P(second)]);
                self.launch("scan", [1, 1, 1], line, &[I(1), P(second), P(second), P(third)]);
                self.launch("scan_add", [1, 1, 1], line, &[I(256), P(s), P(second)]);
                self.launch("scan_add", [256, 1, 1], line, &[I(1 << 16), P(b), P(s)]);
            }
            _ => {
                let args = [I(256), I(256), P(a), P(b)];
                self.launch("convolution", [8, 32, 1], [32, 8, 1], &args);
            }
        }
    }
}

/// Nanoseconds that the processor gave this thread.
fn processor_time() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1]).unwrap();
    let module = cushim_ptx::parse(&text).and_then(|m| cushim_ptx::check(&m)).unwrap();
    let globals = module.globals.iter().scan(BASE, |end, g| {
        let at = *end;
        *end += g.size.next_multiple_of(256);
        Some(at)
    });
    let globals = globals.collect();
    let d = Device { module, globals, memory: Flat((0..BYTES).map(|_| Cell::new(0)).collect()) };
    for n in 0..d.module.globals.len() as u32 {
        let bytes = interp::initial_bytes(&d.module, n, &d.globals);
        d.memory.store(d.globals[n as usize], &bytes).unwrap();
    }
    let names =
        ["saxpy", "reduce", "matmul", "nbody", "black_scholes", "histogram", "scan", "convolution"];
    for name in names.iter().filter(|n| args.get(2).is_none_or(|only| only == *n)) {
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            for k in 0..(BYTES - 4096) / 4 {
                let v = 0.25 + (k as u32).wrapping_mul(0x9e37_79b9) as f32 / 4e9;
                d.memory.store(BASE + 4096 + 4 * k as u64, &v.to_le_bytes()).unwrap();
            }
            let start = processor_time();
            d.case(name);
            best = best.min(processor_time() - start);
        }
        let hash = d.memory.0.iter().fold(0xcbf2_9ce4_8422_2325u64, |h, b| {
            (h ^ u64::from(b.get())).wrapping_mul(0x100_0000_01b3)
        });
        println!("{name:14} {:9.2} ms  {hash:016x}", best / 1e6);
    }
}
