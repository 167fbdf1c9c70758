//! The CPU accelerator beside C: see `scripts/bench-cpu`, which builds the kernels and the C code, and runs this.
//!
//!     cpu_bench KERNELS.ptx STRICT.so FAST.so
//!
//! Prints tables in Markdown. Figures are the least of several rounds, in each of which every candidate has its turn: the
//! machine may be doing other things.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::ffi::{CString, c_void};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use vcuda::accelerator::{
    Accelerator, Code, Dispatch, Image, ImageKind, MemoryKind, Packet, Queue, Signal, Work, cpu,
};

/// A CPU accelerator with the kernels loaded, and memory for them.
struct Side {
    cpu: cpu::Cpu,
    code: Arc<dyn Code>,
    queue: Arc<dyn Queue>,
    /// The input, the output, and sums of blocks.
    input: u64,
    output: u64,
    sums: u64,
}

/// An argument's bytes.
enum Arg {
    P(u64),
    I(u32),
    F(f32),
}
use Arg::{F, I, P};

impl Side {
    fn new(threads: usize, how: &str, ptx: &str, bytes: usize) -> Side {
        // SAFETY: the accelerators' threads read no environment, and there are no others.
        unsafe {
            std::env::set_var("CUSHIM_CPU_THREADS", threads.to_string());
            std::env::set_var("CUSHIM_CPU", how);
        }
        let cpu = cpu::new();
        let code = load(&cpu, ptx);
        let queue = cpu.queue(0, 0).unwrap();
        let get = |bytes| cpu.allocate(0, MemoryKind::Device, bytes, 4096).unwrap();
        let (input, output, sums) = (get(bytes), get(bytes), get(bytes / 16 + (1 << 16)));
        let side = Side { cpu, code, queue, input, output, sums };
        for (k, v) in side.floats(input, bytes / 4).iter_mut().enumerate() {
            *v = 0.25 + (k as u32).wrapping_mul(0x9e37_79b9) as f32 / 4e9;
        }
        side.floats(output, bytes / 4).fill(0.0);
        side.floats(side.sums, bytes / 64).fill(0.0);
        side
    }

    /// Device memory as the host sees it.
    #[allow(clippy::mut_from_ref)]
    fn floats(&self, at: u64, n: usize) -> &mut [f32] {
        // SAFETY: allocated, and no kernel runs while the host looks.
        unsafe { std::slice::from_raw_parts_mut(at as *mut f32, n) }
    }

    fn launch(&self, name: &str, grid: [u32; 3], block: [u32; 3], args: &[Arg]) {
        launch(&self.code, &*self.queue, name, grid, block, args);
    }
}

fn load(cpu: &cpu::Cpu, ptx: &str) -> Arc<dyn Code> {
    let parts = [ptx.as_bytes()];
    let image = Image { kind: ImageKind::Ptx, parts: &parts, externals: &|_| None, managed: None };
    cpu.load(0, &image).unwrap_or_else(|e| panic!("{e}"))
}

fn launch(
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
        dynamic_shared: 0,
        arguments: bytes.into(),
        cooperative: false,
    };
    let done = Signal::new();
    let work = Work::Dispatch(Box::new(dispatch));
    queue.submit(Packet { work, waits: Vec::new(), done: done.clone() });
    if let Some(failure) = done.wait().failure {
        panic!("{name}: {failure}");
    }
}

/// The C code, built in one way.
struct Native(*mut c_void);

impl Native {
    fn new(path: &str) -> Native {
        let path = CString::new(path).unwrap();
        // SAFETY: a path; the library has no constructors.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        assert!(!handle.is_null(), "{path:?} cannot be opened");
        Native(handle)
    }

    fn address(&self, name: &str) -> usize {
        let name = CString::new(name).unwrap();
        // SAFETY: a handle that was opened.
        let at = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!at.is_null(), "{name:?} is missing");
        at as usize
    }
}

macro_rules! c {
    ($native:expr, $name:literal, ($($ty:ty),*) $(-> $out:ty)?) => {{
        // SAFETY: the function of native.c has this signature.
        unsafe { std::mem::transmute::<usize, unsafe extern "C" fn($($ty),*) $(-> $out)?>($native.address($name)) }
    }};
}

/// `part(k, from, to)` for equal parts of `total` on so many threads.
fn share(threads: usize, total: usize, part: &(dyn Fn(usize, i32, i32) + Sync)) {
    let at = |k: usize| (total * k / threads) as i32;
    std::thread::scope(|s| {
        for k in 1..threads {
            s.spawn(move || part(k, at(k), at(k + 1)));
        }
        part(0, at(0), at(1));
    });
}

/// A size of each case: full, or small for checks and for the interpreter.
#[derive(Clone, Copy)]
struct Size {
    saxpy: usize,
    reduce: usize,
    matmul: usize,
    nbody: usize,
    options: usize,
    histogram: usize,
    scan: usize,
    image: usize,
}

const FULL: Size = Size {
    saxpy: 32 << 20,
    reduce: 64 << 20,
    matmul: 1024,
    nbody: 8192,
    options: 4 << 20,
    histogram: 16 << 20,
    scan: 16 << 20,
    image: 4096,
};
const SMALL: Size = Size {
    saxpy: 1 << 18,
    reduce: 1 << 18,
    matmul: 256,
    nbody: 512,
    options: 1 << 14,
    histogram: 1 << 17,
    scan: 1 << 16,
    image: 256,
};

const CASES: [&str; 8] =
    ["saxpy", "reduce", "matmul", "nbody", "black_scholes", "histogram", "scan", "convolution"];

fn ours(side: &Side, case: &str, z: Size) {
    let (a, b, s) = (side.input, side.output, side.sums);
    let blocks = |n: usize| [n.div_ceil(256) as u32, 1, 1];
    let line = [256, 1, 1];
    match case {
        "saxpy" => {
            let n = z.saxpy;
            side.launch(case, blocks(n), line, &[I(n as u32), F(0.5), P(a), P(b)]);
        }
        "reduce" => side.launch(case, [512, 1, 1], line, &[I(z.reduce as u32), P(a), P(s)]),
        "matmul" => {
            let n = z.matmul;
            let (grid, second) = ((n / 32) as u32, a + 4 * (n * n) as u64);
            let args = [I(n as u32), P(a), P(second), P(b)];
            side.launch(case, [grid, grid, 1], [32, 32, 1], &args);
        }
        "nbody" => side.launch(case, blocks(z.nbody), line, &[I(z.nbody as u32), P(a), P(b)]),
        "black_scholes" => {
            let (n, step) = (z.options, 4 * z.options as u64);
            let args = [I(n as u32), P(a), P(a + step), P(a + 2 * step), P(b), P(b + step)];
            side.launch(case, blocks(n), line, &args);
        }
        "histogram" => side.launch(case, [512, 1, 1], line, &[I(z.histogram as u32), P(a), P(s)]),
        "scan" => {
            let n = z.scan;
            let (m, k) = (n.div_ceil(256), n.div_ceil(65536));
            let second = s + 4 * m as u64;
            let third = second + 4 * k as u64;
            side.launch(case, blocks(n), line, &[I(n as u32), P(a), P(b), P(s)]);
            side.launch(case, blocks(m), line, &[I(m as u32), P(s), P(s), P(second)]);
            side.launch(case, blocks(k), line, &[I(k as u32), P(second), P(second), P(third)]);
            side.launch("scan_add", blocks(m), line, &[I(m as u32), P(s), P(second)]);
            side.launch("scan_add", blocks(n), line, &[I(n as u32), P(b), P(s)]);
        }
        _ => {
            let n = z.image as u32;
            let grid = [n.div_ceil(32), n.div_ceil(8), 1];
            side.launch(case, grid, [32, 8, 1], &[I(n), I(n), P(a), P(b)]);
        }
    }
}

/// The same in C, on the memory of `side`.
fn native(native: &Native, side: &Side, case: &str, z: Size, threads: usize) {
    let (a, b, s) = (side.input, side.output, side.sums);
    match case {
        "saxpy" => {
            let f = c!(native, "saxpy", (i32, i32, f32, u64, u64));
            // SAFETY: arrays of that size, here and below; threads have parts of their own.
            share(threads, z.saxpy, &|_, from, to| unsafe { f(from, to, 0.5, a, b) });
        }
        "reduce" => {
            let f = c!(native, "reduce", (i32, i32, u64) -> f32);
            share(threads, z.reduce, &|k, from, to| {
                // SAFETY: as above.
                let sum = unsafe { f(from, to, a) };
                // SAFETY: a word for each thread.
                unsafe { (s as *mut f32).add(k).write(sum) };
            });
        }
        "matmul" => {
            let f = c!(native, "matmul", (i32, i32, i32, u64, u64, u64));
            let (n, second) = (z.matmul as i32, a + 4 * (z.matmul * z.matmul) as u64);
            // SAFETY: as above.
            share(threads, z.matmul, &|_, from, to| unsafe { f(from, to, n, a, second, b) });
        }
        "nbody" => {
            let f = c!(native, "nbody", (i32, i32, i32, u64, u64));
            // SAFETY: as above.
            share(threads, z.nbody, &|_, from, to| unsafe { f(from, to, z.nbody as i32, a, b) });
        }
        "black_scholes" => {
            let f = c!(native, "black_scholes", (i32, i32, u64, u64, u64, u64, u64));
            let step = 4 * z.options as u64;
            share(threads, z.options, &|_, from, to| {
                // SAFETY: as above.
                unsafe { f(from, to, a, a + step, a + 2 * step, b, b + step) }
            });
        }
        "histogram" => {
            let f = c!(native, "histogram", (i32, i32, u64, u64));
            // SAFETY: bins of its own for each thread.
            share(threads, z.histogram, &|k, from, to| unsafe {
                f(from, to, a, s + 1024 * k as u64);
            });
        }
        "scan" => {
            let f = c!(native, "scan", (i32, i32, i32, u64, u64) -> i32);
            let total = c!(native, "total", (i32, i32, u64) -> i32);
            let parts: Vec<std::sync::atomic::AtomicI32> =
                (0..=threads).map(|_| Default::default()).collect();
            use std::sync::atomic::Ordering::Relaxed;
            if threads > 1 {
                share(threads, z.scan, &|k, from, to| {
                    // SAFETY: as above.
                    parts[k + 1].store(unsafe { total(from, to, a) }, Relaxed);
                });
                for k in 1..=threads {
                    let sum = parts[k].load(Relaxed).wrapping_add(parts[k - 1].load(Relaxed));
                    parts[k].store(sum, Relaxed);
                }
            }
            share(threads, z.scan, &|k, from, to| {
                // SAFETY: as above.
                unsafe { f(from, to, parts[k].load(Relaxed), a, b) };
            });
        }
        _ => {
            let f = c!(native, "convolution", (i32, i32, i32, i32, u64, u64));
            let n = z.image as i32;
            // SAFETY: as above.
            share(threads, z.image, &|_, from, to| unsafe { f(from, to, n, n, a, b) });
        }
    }
}

/// The results of both, compared; panics where they differ by more than rounding.
fn check(side: &Side, c: &Native) {
    let z = SMALL;
    for case in CASES {
        let n = match case {
            "reduce" | "histogram" => 0,
            "matmul" => z.matmul * z.matmul,
            "nbody" => z.nbody * 4,
            "black_scholes" => z.options * 2,
            "scan" => z.scan,
            "convolution" => z.image * z.image,
            _ => z.saxpy,
        };
        let run = |f: &dyn Fn()| -> Vec<f64> {
            side.floats(side.output, n).fill(0.0);
            side.floats(side.sums, 1024).fill(0.0);
            f();
            let sums = side.floats(side.sums, 512);
            let out = side.floats(side.output, n);
            let whole = |v: &f32| f64::from(v.to_bits());
            match case {
                "reduce" => vec![sums.iter().map(|v| f64::from(*v)).sum()],
                "histogram" => sums[..256].iter().map(whole).collect(),
                "scan" => out.iter().map(whole).collect(),
                _ => out.iter().map(|v| f64::from(*v)).collect(),
            }
        };
        let got = run(&|| ours(side, case, z));
        let expected = run(&|| native(c, side, case, z, 1));
        for (k, (g, e)) in got.iter().zip(&expected).enumerate() {
            let close = (g - e).abs() <= 2e-3 * e.abs().max(1e-1);
            assert!(close, "{case}: element {k} is {g}, C has {e}");
        }
    }
}

/// Seconds that processors gave this process.
fn processor_time() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut now) };
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// Seconds, the least of some rounds, of each candidate: by the wall and of the processor, which what else the
/// machine does hardly changes.
fn least_of_both(rounds: usize, candidates: &[&dyn Fn()]) -> Vec<[f64; 2]> {
    let mut best = vec![[f64::INFINITY; 2]; candidates.len()];
    for _ in 0..rounds {
        for (best, candidate) in best.iter_mut().zip(candidates) {
            let (start, used) = (Instant::now(), processor_time());
            candidate();
            best[0] = best[0].min(start.elapsed().as_secs_f64());
            best[1] = best[1].min(processor_time() - used);
        }
    }
    best
}

/// Seconds by the wall.
fn least(rounds: usize, candidates: &[&dyn Fn()]) -> Vec<f64> {
    least_of_both(rounds, candidates).iter().map(|t| t[0]).collect()
}

/// A kernel of some thousand instructions: arithmetic, with a branch and a store at every fiftieth.
/// Each number's is another kernel, to the cache.
fn long_kernel(number: u32) -> String {
    let mut text = String::from(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry long (.param .u64 to) {\n\
         .reg .u64 %p; .reg .b32 %r<16>; .reg .f32 %f<16>; .reg .pred %q;\n\
         ld.param.u64 %p, [to]; mov.u32 %r0, %tid.x; mul.wide.u32 %p, %r0, 4; ld.param.u64 %p, [to];\n",
    );
    for k in 1..16 {
        let more = k + 100 * number;
        let _ = writeln!(text, "add.u32 %r{k}, %r0, {more}; cvt.rn.f32.u32 %f{k}, %r{k};");
    }
    text += "mov.f32 %f0, %f1;\n";
    for k in 0..976u32 {
        let (x, y, z) = (k % 16, (k * 7 + 3) % 16, (k * 5 + 1) % 16);
        let _ = match k % 50 {
            0 => writeln!(text, "setp.lt.u32 %q, %r{x}, %r{y}; @%q bra L{k};"),
            25 => writeln!(text, "st.global.f32 [%p+{}], %f{z}; L{}:", k * 4, k - 25),
            n if n % 3 == 0 => writeln!(text, "mad.lo.u32 %r{x}, %r{y}, %r{z}, %r{x};"),
            n if n % 3 == 1 => writeln!(text, "fma.rn.f32 %f{x}, %f{y}, %f{z}, %f{x};"),
            _ => writeln!(text, "xor.b32 %r{x}, %r{y}, %r{z};"),
        };
    }
    text + "st.global.u32 [%p], %r1; ret; }\n"
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let ([_, ptx, strict, fast], brief) = (match args.as_slice() {
        [_, _, _, _] => (&args[..], false),
        [head @ .., last] if args.len() == 5 && last == "launches" => (head, true),
        _ => (&args[..0], false),
    }) else {
        panic!("usage: cpu_bench KERNELS.ptx STRICT.so FAST.so [launches]")
    };
    let ptx = std::fs::read_to_string(ptx).unwrap();
    // Compiled kernels of this run only.
    let folder = std::env::temp_dir().join(format!("cpu-bench-{}", std::process::id()));
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("CUSHIM_CACHE_DIR", &folder) };
    let (strict, fast) = (Native::new(strict), Native::new(fast));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let one = Side::new(1, "", &ptx, 256 << 20);
    let all = Side::new(cores, "", &ptx, 256 << 20);
    check(&one, &strict);
    check(&all, &fast);

    println!(
        "| ms | ours, 1 core, processor time | C | C fast-math | of the faster | ours, {cores} cores, by the wall | C | C fast-math | of the faster |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    for case in CASES.into_iter().filter(|_| !brief) {
        let times = least_of_both(
            5,
            &[
                &|| ours(&one, case, FULL),
                &|| native(&strict, &one, case, FULL, 1),
                &|| native(&fast, &one, case, FULL, 1),
                &|| ours(&all, case, FULL),
                &|| native(&strict, &all, case, FULL, cores),
                &|| native(&fast, &all, case, FULL, cores),
            ],
        );
        // One core: the processor's time. All of them: the wall's.
        let ms: Vec<f64> =
            times.iter().enumerate().map(|(k, t)| t[usize::from(k < 3)] * 1e3).collect();
        println!(
            "| {case} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
            ms[0],
            ms[1],
            ms[2],
            ms[1].min(ms[2]) / ms[0],
            ms[3],
            ms[4],
            ms[5],
            ms[4].min(ms[5]) / ms[3],
        );
    }

    println!("\n| launch and wait, empty kernel | µs |\n|---|--:|");
    for (name, side, grid) in [("1 block, 1 core", &one, 1), ("1,024 blocks, 1 core", &one, 1024)] {
        let launch = || {
            for _ in 0..1000 {
                side.launch("empty", [grid, 1, 1], [32, 1, 1], &[]);
            }
        };
        launch();
        println!("| {name} | {:.2} |", least(5, &[&launch])[0] * 1e3);
    }

    let to = one.output;
    let run = |code: &Arc<dyn Code>| {
        let (start, busy) = (Instant::now(), processor_time());
        launch(code, &*one.queue, "long", [1, 1, 1], [32, 1, 1], &[P(to)]);
        (start.elapsed().as_secs_f64(), processor_time() - busy)
    };
    let (mut loads, mut firsts, mut kept, mut again) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for n in 0..5 {
        let text = long_kernel(n);
        let start = Instant::now();
        let code = load(&one.cpu, &text);
        loads.push(start.elapsed().as_secs_f64());
        firsts.push(run(&code));
        again.push(run(&code));
        // The file is written meanwhile; loaded again, the kernel comes from there.
        std::thread::sleep(std::time::Duration::from_secs(1));
        for _ in 0..4 {
            kept.push(run(&load(&one.cpu, &text)));
        }
    }
    let _ = std::fs::remove_dir_all(folder);
    let min = |v: &mut dyn Iterator<Item = f64>| v.fold(f64::INFINITY, f64::min) * 1e3;
    println!("\n| a kernel of 1,000 instructions | ms, wall | processor |\n|---|--:|--:|");
    println!("| parse and check | {:.2} | |", min(&mut loads.iter().copied()));
    for (name, times) in [
        ("first launch, which compiles", &firsts),
        ("first launch of a kernel that is kept", &kept),
        ("a later launch", &again),
    ] {
        let (wall, busy) = (times.iter().map(|t| t.0), times.iter().map(|t| t.1));
        println!("| {name} | {:.3} | {:.3} |", min(&mut { wall }), min(&mut { busy }));
    }
    if brief {
        return;
    }

    let slow = Side::new(1, "interpreter", &ptx, 16 << 20);
    println!("\n| ms, small sizes, 1 core | interpreter | compiled | times |\n|---|--:|--:|--:|");
    for case in CASES {
        let t = least(2, &[&|| ours(&slow, case, SMALL), &|| ours(&one, case, SMALL)]);
        println!("| {case} | {:.2} | {:.3} | {:.0} |", t[0] * 1e3, t[1] * 1e3, t[0] / t[1]);
    }
}
