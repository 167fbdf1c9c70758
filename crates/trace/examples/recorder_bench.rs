//! Measures the recorder, and makes large traces to measure readers with. For `scripts/bench-recorder`.
//!
//! ```text
//! recorder_bench cost FOLDER           ns per launch event standing alone, one and two threads
//! recorder_bench write FILE EVENTS     a trace with so many launches of kernels with four arguments
//! ```

use std::path::Path;
use std::time::Instant;

use cushim_trace::clock;
use cushim_trace::layout::*;
use cushim_trace::meta::{Api, Kernel, Process};
use cushim_trace::recorder::{Buffer, Recorder};

/// Parameters of a kernel with three pointers and a number, as nvcc lays them out.
const PARAMS: [(u32, u32); 4] = [(0, 8), (8, 8), (16, 8), (24, 4)];
const ARG_BYTES: usize = 28;
/// Events that each thread times one by one.
const TIMED: usize = 2_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["cost", folder] => cost(Path::new(folder)),
        ["write", file, events] => {
            write(Path::new(file), events.parse().expect("a number of events"))
        }
        _ => eprintln!("usage: recorder_bench cost FOLDER | write FILE EVENTS"),
    }
}

fn create(path: &Path) -> Recorder {
    let process = Process { pid: std::process::id(), ..Process::default() };
    let recorder =
        Recorder::create(path, 1 << 40, None, &process).unwrap_or_else(|e| panic!("{e}"));
    recorder.write_meta(&Api::encode(1, "cudaLaunchKernel", "launch", ""));
    for number in 1..=8 {
        let mangled = format!("_Z{}kernel_{number}PfS_S_i", 8 + number.to_string().len() - 1);
        let kernel = Kernel { mangled, params: Ok(PARAMS.to_vec()), ..Kernel::default() };
        recorder.write_meta(&kernel.encode(number));
    }
    recorder
}

/// Stores a launch as the library does: before the call and after it.
#[inline(always)]
fn launch(recorder: &Recorder, buffer: &mut Buffer, number: u64) {
    let count = slots(LAUNCH_ARGS + ARG_BYTES);
    let begin = recorder.ticks();
    let Some(slots) = buffer.reserve(recorder, count, true) else { return };
    // SAFETY: `count` slots hold head, body and the arguments.
    unsafe {
        slots.store_head(EventHead { api: 1, begin, ..EventHead::default() });
        slots.at::<LaunchBody>(32).write(LaunchBody {
            kernel: 1 + number as u32 % 8,
            grid: [number as u32 % 64 + 1, 1, 1],
            block: [256, 1, 1],
            arg_bytes: ARG_BYTES as u32,
            ..LaunchBody::default()
        });
        for at in [0, 8, 16] {
            slots.at::<u64>(LAUNCH_ARGS + at).write_unaligned(0x7f00_0000_0000 + number * 64);
        }
        slots.at::<u32>(LAUNCH_ARGS + 24).write_unaligned(number as u32);
        slots.publish(EVENT_LAUNCH, count);
        slots.finish(recorder.ticks(), 0);
    }
}

fn write(path: &Path, events: u64) {
    let recorder = create(path);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let recorder = &recorder;
            scope.spawn(move || {
                let Some(mut buffer) = recorder.attach(thread + 1) else { return };
                for number in 0..events / 2 {
                    launch(recorder, &mut buffer, number);
                }
            });
        }
    });
    recorder.close();
    let (took, size) = (begun.elapsed(), std::fs::metadata(path).map_or(0, |m| m.len()));
    println!("{} launches in {:.2} s, {} bytes", events / 2 * 2, took.as_secs_f64(), size);
}

/// The cost per event, by the time-stamp counter, minus the cost of its two readings.
fn cost(folder: &Path) {
    let first = clock::calibrate(true);
    std::thread::sleep(std::time::Duration::from_millis(200));
    let line = clock::Timeline::new(first, clock::calibrate(true));
    let mut empty: Vec<u64> = (0..TIMED).map(|_| clock::tsc().abs_diff(clock::tsc())).collect();
    let nothing = at(&mut empty, 0.5);
    for threads in [1, 2] {
        let path = folder.join(format!("cost-{}-{threads}.cushim", std::process::id()));
        let recorder = create(&path);
        let mut all: Vec<u64> = Vec::new();
        std::thread::scope(|scope| {
            let work = |tid| {
                let recorder = &recorder;
                move || {
                    let mut took = Vec::with_capacity(TIMED);
                    let Some(mut buffer) = recorder.attach(tid) else { return took };
                    for number in 0..TIMED as u64 {
                        let before = clock::tsc();
                        launch(recorder, &mut buffer, number);
                        took.push((clock::tsc() - before).saturating_sub(nothing));
                    }
                    took
                }
            };
            let running: Vec<_> = (1..=threads).map(|tid| scope.spawn(work(tid))).collect();
            for thread in running {
                all.extend(thread.join().unwrap_or_default());
            }
        });
        let ns = |ticks| line.span_ns(0, ticks * 1000) as f64 / 1000.0;
        let (median, high) = (ns(at(&mut all, 0.5)), ns(at(&mut all, 0.999)));
        let (higher, worst) = (ns(at(&mut all, 0.9999)), ns(at(&mut all, 1.0)));
        println!(
            "{threads} thread{}: median {median:.1} ns, p99.9 {high:.0} ns, p99.99 {higher:.0} ns, max {worst:.0} ns \
             (of {} events; two readings of the counter around it, taken off: {:.1} ns)",
            if threads == 1 { "" } else { "s" },
            all.len(),
            ns(nothing),
        );
        let _ = std::fs::remove_file(path);
    }
}

fn at(values: &mut [u64], share: f64) -> u64 {
    let place = ((values.len() - 1) as f64 * share) as usize;
    *values.select_nth_unstable(place).1
}
