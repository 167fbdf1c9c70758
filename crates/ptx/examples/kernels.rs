//! Times kernels in the interpreter alone, by processor time:
//!
//!     kernels KERNELS.ptx [NAME]
//!
//! The kernels are those of `scripts/bench-cpu.d/kernels.cu`, at the small sizes of `scripts/bench-cpu`. Prints for each the
//! minimum time of five launches and a checksum of its results, by which two versions of the interpreter can be compared.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../tests/common/device.rs"]
mod device;

use cushim_ptx::exec::Memory;
use device::Device;

const BYTES: usize = 16 << 20;

/// An argument's bits.
#[derive(Clone, Copy)]
enum Arg {
    P(u64),
    I(usize),
    F(f32),
}
use Arg::{F, I, P};

struct Kernels {
    device: Device,
    /// The address of their data.
    data: u64,
}

impl Kernels {
    fn launch(&self, name: &str, grid: [usize; 3], block: [u32; 3], args: &[Arg]) {
        let bits = args.iter().map(|a| match *a {
            P(v) => v,
            I(v) => v as u64,
            F(v) => v.to_bits().into(),
        });
        let args: Vec<u64> = bits.collect();
        let done = self.device.launch_with(name, grid.map(|n| n as u32), block, 0, false, &args);
        done.unwrap_or_else(|e| panic!("{e}"));
    }

    fn case(&self, name: &str) {
        let (a, b, s) = (self.data, self.data + (8 << 20), self.data + (14 << 20));
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

/// Processor time of this thread, in nanoseconds.
fn processor_time() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1]).unwrap();
    let device = Device::new(&text);
    let data = device.alloc(BYTES as u64);
    let kernels = Kernels { device, data };
    let names =
        ["saxpy", "reduce", "matmul", "nbody", "black_scholes", "histogram", "scan", "convolution"];
    for name in names.iter().filter(|n| args.get(2).is_none_or(|only| only == *n)) {
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            for k in 0..BYTES / 4 {
                let v = 0.25 + (k as u32).wrapping_mul(0x9e37_79b9) as f32 / 4e9;
                kernels.device.memory.store(data + 4 * k as u64, &v.to_le_bytes()).unwrap();
            }
            let start = processor_time();
            kernels.case(name);
            best = best.min(processor_time() - start);
        }
        let mut bytes = vec![0; BYTES];
        kernels.device.memory.load(data, &mut bytes).unwrap();
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |h, b| {
            (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3)
        });
        println!("{name:14} {:9.2} ms  {hash:016x}", best / 1e6);
    }
}
