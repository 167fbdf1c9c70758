//! One candidate of the benchmark: an accelerator with the kernels loaded, and memory for them.
//!
//! Owns launching. Must not know the cases.

use std::alloc::Layout;
use std::sync::Arc;

use cushim_accel::{
    Accelerator, Code, Dispatch, Image, ImageKind, MemoryKind, Packet, Queue, Signal, Work,
};

/// A CPU accelerator with the kernels loaded, and memory for them.
pub struct Side {
    pub cpu: cushim_accel_cpu::Cpu,
    pub code: Arc<dyn Code>,
    pub queue: Arc<dyn Queue>,
    /// The input, the output, and sums of blocks.
    pub input: u64,
    pub output: u64,
    pub sums: u64,
    /// Random words; a quarter as many bytes as the input.
    pub words: u64,
    /// A sparse matrix with this many rows ([`crate::more::sparse`]).
    pub sparse: u64,
    pub rows: usize,
}

/// The maximum number of elements in a row of the sparse matrix.
pub const SPARSE: u32 = 15;

/// An argument's bytes.
pub enum Arg {
    P(u64),
    I(u32),
    F(f32),
}
pub use Arg::{F, I, P};

impl Side {
    pub fn new(threads: usize, how: &str, ptx: &str, bytes: usize) -> Side {
        // SAFETY: the accelerators' threads read no environment, and there are no others.
        unsafe {
            std::env::set_var("CUSHIM_CPU_THREADS", threads.to_string());
            std::env::set_var("CUSHIM_CPU", how);
        }
        let cpu = cushim_accel_cpu::new();
        let code = load(&cpu, ptx);
        let queue = cpu.queue(0, 0).unwrap();
        let get = |bytes| {
            cpu.allocate(0, MemoryKind::Device, Layout::from_size_align(bytes, 4096).unwrap())
                .unwrap()
        };
        let (input, output, sums) = (get(bytes), get(bytes), get(bytes / 16 + (1 << 16)));
        let (words, rows) = (get(bytes / 4), bytes / 256);
        let matrix = crate::more::sparse(rows);
        let sparse = get(4 * matrix.len());
        let side = Side { cpu, code, queue, input, output, sums, words, sparse, rows };
        for (to, word) in side.floats(sparse, matrix.len()).iter_mut().zip(&matrix) {
            *to = f32::from_bits(*word);
        }
        let mut state = 1u32;
        for to in side.floats(words, bytes / 16) {
            // xorshift32, whose top bits are better.
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            *to = f32::from_bits(state);
        }
        for (k, v) in side.floats(input, bytes / 4).iter_mut().enumerate() {
            *v = 0.25 + (k as u32).wrapping_mul(0x9e37_79b9) as f32 / 4e9;
        }
        side.floats(output, bytes / 4).fill(0.0);
        side.floats(side.sums, bytes / 64).fill(0.0);
        side
    }

    /// Device memory as the host sees it.
    #[allow(clippy::mut_from_ref)]
    pub fn floats(&self, at: u64, n: usize) -> &mut [f32] {
        // SAFETY: allocated, and no kernel runs while the host reads.
        unsafe { std::slice::from_raw_parts_mut(at as *mut f32, n) }
    }

    pub fn launch(&self, name: &str, grid: [u32; 3], block: [u32; 3], args: &[Arg]) {
        launch(&self.code, &*self.queue, name, grid, block, args);
    }
}

pub fn load(cpu: &cushim_accel_cpu::Cpu, ptx: &str) -> Arc<dyn Code> {
    let parts = [ptx.as_bytes()];
    let image = Image {
        kind: ImageKind::Ptx,
        parts: &parts,
        externals: &|_| None,
        managed: None,
        optimised: true,
    };
    cpu.load(0, &image).unwrap_or_else(|e| panic!("{e}"))
}

pub fn launch(
    code: &Arc<dyn Code>,
    queue: &dyn Queue,
    name: &str,
    grid: [u32; 3],
    block: [u32; 3],
    args: &[Arg],
) {
    let kernel = code.kernels().iter().position(|k| k.name == name).expect(name);
    let mut bytes = vec![0; code.kernels()[kernel].params_size as usize];
    for (arg, (at, _)) in args.iter().zip(&code.kernels()[kernel].params) {
        let at = *at as usize;
        match arg {
            P(v) => bytes[at..at + 8].copy_from_slice(&v.to_le_bytes()),
            I(v) => bytes[at..at + 4].copy_from_slice(&v.to_le_bytes()),
            F(v) => bytes[at..at + 4].copy_from_slice(&v.to_le_bytes()),
        }
    }
    let dispatch = Dispatch {
        tag: 0,
        code: code.clone(),
        kernel,
        grid,
        block,
        cluster: None,
        dynamic_shared: 0,
        arguments: bytes.into(),
        cooperative: false,
        call: 0,
        trail: None,
        stream: None,
        graph: None,
    };
    let done = Signal::new();
    let work = Work::Dispatch(Box::new(dispatch));
    queue.submit(Packet { work, waits: Vec::new(), done: done.clone() });
    if let Some(failure) = done.wait().failure {
        panic!("{name}: {failure}");
    }
}
