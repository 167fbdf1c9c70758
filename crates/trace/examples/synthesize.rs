//! Writes made-up traces with the recorder itself, of any size: inputs for benchmarks and checks of
//! readers and exporters.
//!
//!     cargo run --release -p cushim-trace --example synthesize -- FOLDER EVENTS [RANKS [THREADS]]
//!
//! Writes one file per rank with EVENTS events each, spread over THREADS threads: of 64 events 60 are
//! launches of a kernel with four arguments (8 kernels on 4 streams), two are copies, one is an
//! allocation and one waits for the device. Ranks differ in how long their calls take: rank 7 is slow.
//! Time is made up too: 5 µs from one event of a thread to the next.

use std::path::Path;

use cushim_trace::layout::*;
use cushim_trace::meta::{Api, Kernel, Process, encode_context};
use cushim_trace::recorder::{Buffer, Recorder, Settings};

const LAUNCH: u16 = 1;
const COPY: u16 = 2;
const ALLOCATE: u16 = 3;
const WAIT: u16 = 4;
const KERNELS: [&str; 8] = [
    "_Z6vecaddPKfS0_Pfi",
    "_Z5scalePKfS0_Pfi",
    "_Z3dotPKfS0_Pfi",
    "_Z4axpyPKfS0_Pfi",
    "_Z7softmaxPKfS0_Pfi",
    "_Z9layernormPKfS0_Pfi",
    "_Z4geluPKfS0_Pfi",
    "_Z5embedPKfS0_Pfi",
];
/// Time from one event of a thread to the next, ns.
const STEP: u64 = 5_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize, default: u64| args.get(n).map_or(Ok(default), |text| text.parse());
    let (Some(folder), events) = (args.first(), number(1, 0)?) else {
        return Err("synthesize FOLDER EVENTS [RANKS [THREADS]]".into());
    };
    for rank in 0..number(2, 1)? as u32 {
        let path = Path::new(folder).join(format!("made-up.{}.cushim", 1000 + rank));
        one(&path, rank, events, number(3, 2)? as u32)?;
        println!("{}", path.display());
    }
    Ok(())
}

fn one(path: &Path, rank: u32, events: u64, threads: u32) -> Result<(), cushim_trace::Error> {
    let pid = 1000 + rank;
    let process = Process {
        pid,
        ppid: 1,
        exe: "/usr/bin/made-up".into(),
        argv: vec!["made-up".into(), format!("--rank={rank}")],
        host: format!("node{}", rank / 8),
        rank: Some(rank),
        version: env!("CARGO_PKG_VERSION").into(),
    };
    // Nanoseconds as ticks: the run is too short to measure the counter's rate.
    let settings = Settings { limit: u64::MAX, tsc: false, ..Settings::default() };
    let recorder = Recorder::open(path, &settings, &process)?;
    let copy = "dst:ptr,src:ptr,count:size,kind:memcpykind,stream:stream";
    for (id, name, class, args) in [
        (LAUNCH, "cudaLaunchKernel", "launch", ""),
        (COPY, "cudaMemcpyAsync", "copy", copy),
        (ALLOCATE, "cudaMalloc", "memory", "devPtr:ptr,size:size"),
        (WAIT, "cudaDeviceSynchronize", "sync", ""),
    ] {
        recorder.write_meta(&Api::encode(id, name, class, args));
    }
    for (n, mangled) in KERNELS.iter().enumerate() {
        let kernel = Kernel {
            mangled: (*mangled).into(),
            address: 0x40_0000 + n as u64 * 16,
            owner: process.exe.clone(),
            params: Ok(vec![(0, 8), (8, 8), (16, 8), (24, 4)]),
            types: String::new(),
        };
        recorder.write_meta(&kernel.encode(n as u32 + 1));
    }
    recorder.write_meta(&encode_context(0xc0, (rank % 8) as i32, 0));
    let mut buffers: Vec<Buffer> =
        (0..threads).filter_map(|thread| recorder.attach(pid * 64 + thread)).collect();
    let start = recorder.ticks();
    for n in 0..events {
        let thread = (n % u64::from(threads.max(1))) as usize;
        let Some(buffer) = buffers.get_mut(thread) else { break };
        event(&recorder, buffer, start, n, thread as u64, rank);
    }
    recorder.close();
    Ok(())
}

/// Event `n` of the file.
fn event(recorder: &Recorder, buffer: &mut Buffer, start: u64, n: u64, thread: u64, rank: u32) {
    let begin = start + n * STEP + thread;
    let slow = if rank == 7 { 3 } else { 1 };
    let pointer = |n: u64| 0x7f00_0000_0000 + (n % 256) * 4096;
    let stream = 0x5000 + n % 4 * 16;
    let (api, took) = match n % 64 {
        0 => (WAIT, 2_000),
        1 => (ALLOCATE, 3_000),
        2 | 3 => (COPY, 1_500),
        _ => (LAUNCH, 900 + n * 7919 % 400),
    };
    let (kind, bytes, words): (u16, usize, &[u64]) = match api {
        COPY => (EVENT_CALL, 0, &[pointer(n), 0x60_0000, 4096 << (n / 64 % 8), 1, stream]),
        ALLOCATE => (EVENT_CALL, 0, &[pointer(n), 1 << 20]),
        LAUNCH => (EVENT_LAUNCH, 28, &[pointer(n), pointer(n + 1), pointer(n + 2), n % 4096]),
        _ => (EVENT_CALL, 0, &[]),
    };
    let size =
        if kind == EVENT_LAUNCH { LAUNCH_ARGS + bytes } else { CALL_WORDS + words.len() * 8 };
    let count = slots(size);
    let Some(slots) = buffer.reserve(recorder, count, true) else { return };
    let head = EventHead { api, begin, ..EventHead::default() };
    // SAFETY: `count` slots were reserved; all that is written lies inside them. Argument bytes end
    // inside the last slot (four words, of which 28 bytes count).
    unsafe {
        slots.store_head(head);
        if kind == EVENT_LAUNCH {
            let body = LaunchBody {
                kernel: (n / 3 % 8) as u32 + 1,
                stream,
                grid: [1 + (n % 16) as u32, 1, 1],
                block: [256, 1, 1],
                arg_bytes: bytes as u32,
                context: 0xc0,
                ..LaunchBody::default()
            };
            slots.at::<LaunchBody>(32).write(body);
            for (i, word) in words.iter().enumerate() {
                slots.at::<u64>(LAUNCH_ARGS + i * 8).write(*word);
            }
        } else {
            let body = CallBody { words: words.len() as u8, ..CallBody::default() };
            slots.at::<CallBody>(32).write(body);
            for (i, word) in words.iter().enumerate() {
                slots.at::<u64>(CALL_WORDS + i * 8).write(*word);
            }
        }
        slots.publish(kind, count);
        slots.finish(begin + took * slow, 0);
    }
}
