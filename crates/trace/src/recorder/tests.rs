//! Events read back are those that were written.

use super::*;
use crate::event::{Body, Payload};
use crate::meta::{Api, Metadata};
use crate::reader::TraceFile;

/// A name in a folder of the test's own, which goes with the first of the two.
pub(super) fn scratch() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    (folder, path)
}

pub(super) fn launch(
    recorder: &Recorder,
    buffer: &mut Buffer,
    kernel: u32,
    args: &[u8],
    done: bool,
) {
    let count = slots(LAUNCH_ARGS + args.len());
    let Some(slots) = buffer.reserve(recorder, count, true) else { return };
    let begin = recorder.ticks();
    // SAFETY: `count` slots were reserved for these bytes.
    unsafe {
        slots.store_head(EventHead { api: 1, begin, ..EventHead::default() });
        slots.at::<LaunchBody>(32).write(LaunchBody {
            kernel,
            grid: [1, 2, 3],
            block: [4, 5, 6],
            arg_bytes: args.len() as u32,
            ..LaunchBody::default()
        });
        slots.at::<u8>(LAUNCH_ARGS).copy_from_nonoverlapping(args.as_ptr(), args.len());
        slots.publish(EVENT_LAUNCH, count);
        if done {
            slots.finish(recorder.ticks(), 7);
        }
    }
}

/// Thread, kernel, status, arguments.
pub(super) type Seen = (u32, u32, Option<i32>, Vec<u8>);

pub(super) fn read(path: &Path, last: bool) -> (Vec<Seen>, TraceFile) {
    let mut file = TraceFile::open(path).unwrap();
    let mut seen = Vec::new();
    file.poll(last, &mut |_: &Metadata, e| {
        let Body::Launch(l) = &e.body else { panic!("{e:?}") };
        assert_eq!((l.grid, l.block), ([1, 2, 3], [4, 5, 6]));
        seen.push((e.tid, l.kernel, e.status, l.args.to_vec()));
    })
    .unwrap();
    (seen, file)
}

#[test]
fn threads_and_many_chunks() {
    let (_folder, path) = scratch();
    let recorder = Recorder::create(&path, 1 << 30, None, &Process::default()).unwrap();
    assert!(recorder.write_meta(&Api::encode(1, "f", "launch", "")));
    std::thread::scope(|scope| {
        for tid in 1..=4 {
            let recorder = &recorder;
            scope.spawn(move || {
                let mut buffer = recorder.attach(tid).unwrap();
                for kernel in 0..20_000 {
                    let args = vec![tid as u8; (kernel % 150) as usize];
                    launch(recorder, &mut buffer, kernel, &args, true);
                }
                recorder.detach(buffer);
            });
        }
    });
    // A later thread continues in a buffer that another has left.
    let mut buffer = recorder.attach(99).unwrap();
    launch(&recorder, &mut buffer, 5, &[1], true);
    recorder.close();
    let (seen, file) = read(&path, true);
    assert_eq!(seen.len(), 80_001);
    for tid in 1..=4u32 {
        let kernels: Vec<_> = seen.iter().filter(|e| e.0 == tid).collect();
        assert_eq!(kernels.len(), 20_000);
        for (i, e) in kernels.iter().enumerate() {
            assert_eq!((e.1, e.2, e.3.len()), (i as u32, Some(7), i % 150));
            assert!(e.3.iter().all(|&b| b == tid as u8));
        }
    }
    assert_eq!(seen.iter().filter(|e| e.0 == 99).count(), 1);
    assert!(file.header().closed);
    assert_eq!((file.damaged(), file.header().lost), (0, [0; LOST_KINDS]));
    assert_eq!(file.metadata().apis[&1].name, "f");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn an_open_call_waits_and_is_shown_at_the_end() {
    let (_folder, path) = scratch();
    let recorder = Recorder::create(&path, 1 << 30, None, &Process::default()).unwrap();
    let mut buffer = recorder.attach(1).unwrap();
    launch(&recorder, &mut buffer, 1, &[], true);
    launch(&recorder, &mut buffer, 2, &[], false);
    launch(&recorder, &mut buffer, 3, &[], true);
    assert_eq!(read(&path, false).0.len(), 1);
    let (seen, _) = read(&path, true);
    assert_eq!(seen.iter().map(|e| e.2).collect::<Vec<_>>(), [Some(7), None, Some(7)]);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn the_limit_is_kept_and_counted() {
    let (_folder, path) = scratch();
    let recorder = Recorder::create(&path, 200 << 10, None, &Process::default()).unwrap();
    let mut buffer = recorder.attach(1).unwrap();
    for kernel in 0..10_000 {
        launch(&recorder, &mut buffer, kernel, &[0; 8], true);
    }
    assert!(std::fs::metadata(&path).unwrap().len() <= 200 << 10);
    // What events refer to is written all the same.
    for number in 0..20_000 {
        assert!(recorder.write_meta(&crate::meta::encode_name(number, "a name of some length")));
    }
    let (seen, file) = read(&path, true);
    assert_eq!(seen.len() as u64 + file.header().lost[Lost::Limit as usize], 10_000);
    assert!(seen.len() > 400 && file.metadata().names.len() == 20_000);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn an_existing_file_or_link_is_not_touched() {
    let (_folder, path) = scratch();
    std::os::unix::fs::symlink("/nowhere/at/all", &path).unwrap();
    assert!(Recorder::create(&path, 1 << 20, None, &Process::default()).is_err());
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "mine").unwrap();
    assert!(Recorder::create(&path, 1 << 20, None, &Process::default()).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn hostile_bytes_are_counted_never_believed() {
    let (_folder, path) = scratch();
    let recorder = Recorder::create(&path, 1 << 30, None, &Process::default()).unwrap();
    let mut buffer = recorder.attach(1).unwrap();
    for kernel in 0..100 {
        launch(&recorder, &mut buffer, kernel, &[9; 100], true);
    }
    recorder.close();
    let good = std::fs::read(&path).unwrap();
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..300 {
        let mut bad = good.clone();
        for _ in 0..20 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let at = (random >> 20) as usize % bad.len();
            bad[at] = (random >> 11) as u8;
        }
        bad.truncate(bad.len() - (random >> 33) as usize % 5000);
        std::fs::write(&path, &bad).unwrap();
        if let Ok(mut file) = TraceFile::open(&path) {
            let _ = file.poll(true, &mut |_, _| {});
        }
    }
    std::fs::remove_file(path).unwrap();
}

/// A generator of numbers for tests: the same at every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % end
    }
    fn word(&mut self) -> u64 {
        self.below(1 << 31) << 33 | self.below(1 << 31)
    }
    fn bytes(&mut self, size: usize) -> Vec<u8> {
        (0..size).map(|_| self.below(256) as u8).collect()
    }
}

/// What an event is to be read as.
#[derive(Debug, PartialEq)]
struct Expected {
    tid: u32,
    api: u16,
    depth: u8,
    status: Option<i32>,
    body: String,
}

// A table: for each kind of event what is stored, and what is to be read.
/// Stores one event of a random kind; answers what is to be read.
fn store(
    recorder: &Recorder,
    buffer: &mut Buffer,
    random: &mut Random,
    n: u32,
) -> Option<Expected> {
    let kinds = [
        EVENT_LAUNCH,
        EVENT_CALL,
        EVENT_MARK,
        EVENT_GPU,
        EVENT_RANGE,
        EVENT_REGION,
        EVENT_MAP,
        EVENT_SHORT_REGION,
        EVENT_SHORT_MAP,
    ];
    let kind = kinds[random.below(kinds.len() as u64) as usize];
    let (api, depth) = (random.below(2000) as u16, random.below(3) as u8);
    let status = random.below(10_000) as i32 - 5_000;
    let done = random.below(20) != 0;
    let (size, content) = match kind {
        EVENT_LAUNCH => {
            let most = if random.below(10) == 0 { ARGS_MAX as u64 } else { 200 };
            let args = random.below(most + 1) as usize;
            (LAUNCH_ARGS + args, random.bytes(args))
        }
        EVENT_CALL => {
            let words = random.below(17) as usize;
            (CALL_WORDS + words * 8 + 8, random.bytes(words * 8))
        }
        EVENT_GPU => match random.below(9) as usize * 8 {
            0 => (GPU_COUNTERS, Vec::new()),
            size => (GPU_COUNTERS + 8 + size, random.bytes(size)),
        },
        EVENT_REGION | EVENT_MAP => {
            let args = random.below(MAPPED_MOST as u64 + 1) as usize * size_of::<MappedArg>();
            (MAPPED_ARGS + args, random.bytes(args))
        }
        EVENT_SHORT_REGION | EVENT_SHORT_MAP => {
            let args = random.below(256) as usize * size_of::<ShortMappedArg>();
            (SHORT_MAPPED_ARGS + args, random.bytes(args))
        }
        EVENT_RANGE => {
            let text = format!("range {n} {}", "é".repeat(random.below(100) as usize));
            (RANGE_TEXT + text.len(), text.into_bytes())
        }
        _ => {
            let text = format!("mark {n} {}", "é".repeat(random.below(300) as usize));
            (40 + text.len(), text.into_bytes())
        }
    };
    let is_linked =
        matches!(kind, EVENT_LAUNCH | EVENT_CALL | EVENT_REGION) && random.below(2) == 1;
    let link = if is_linked { random.word() + 1 } else { 0 };
    let flags = match kind {
        _ if is_linked => EVENT_LINKED,
        EVENT_GPU if !content.is_empty() => EVENT_COUNTED,
        _ => 0,
    };
    let count = slots(size + if is_linked { 8 } else { 0 });
    let at = buffer.reserve(recorder, count, true)?;
    let dims = |random: &mut Random| [0; 3].map(|_| random.below(u64::from(u32::MAX)) as u32);
    // SAFETY: `count` slots hold `size` bytes, which is what is stored below.
    let body = unsafe {
        let begin = recorder.ticks();
        at.store_head(EventHead { api, depth, flags, begin, ..EventHead::default() });
        if is_linked {
            at.at::<u64>(count * SLOT - 8).write(link);
        }
        match kind {
            EVENT_LAUNCH => {
                let (grid, block) = (dims(random), dims(random));
                let stored = LaunchBody {
                    kernel: n,
                    shared: random.below(1 << 20) as u32,
                    stream: random.word(),
                    grid,
                    arg_bytes: content.len() as u32,
                    block,
                    cluster: [1, 2, random.below(9) as u8],
                    flags: random.below(32) as u8,
                    context: random.word(),
                };
                at.at::<LaunchBody>(32).write(stored);
                at.at::<u8>(LAUNCH_ARGS).copy_from_nonoverlapping(content.as_ptr(), content.len());
                format!("{:?}", crate::event::LaunchEvent { stored, args: &content })
            }
            EVENT_CALL => {
                let outs = random.below(1 << 16) as u16;
                let words = (content.len() / 8) as u8;
                at.at::<CallBody>(32).write(CallBody { kernel: n, outs, words, texts: 1 });
                at.at::<u8>(CALL_WORDS).copy_from_nonoverlapping(content.as_ptr(), content.len());
                let text = CALL_WORDS + content.len();
                at.at::<[u8; 8]>(text).write([3, 0, 4, 0, b't', b'e', b'x', b't']);
                format!("{n} {outs} {content:?} text")
            }
            EVENT_GPU => {
                let start_ns = random.word() >> 20;
                let stored = GpuBody {
                    what: GPU_KERNEL + random.below(3) as u8,
                    direction: random.below(11) as u8,
                    device: random.below(16) as u32,
                    context: 1,
                    stream: random.below(99) as u32,
                    kernel: n,
                    name: n + 1,
                    link: random.word(),
                    start_ns,
                    end_ns: start_ns + random.below(1 << 30),
                    bytes: random.word(),
                    graph_node: random.word(),
                    grid: dims(random),
                    block: dims(random),
                    shared: random.below(1 << 20) as u32,
                    correlation: random.below(1 << 32) as u32,
                    reserved: 0,
                };
                at.at::<GpuBody>(32).write(stored);
                if !content.is_empty() {
                    at.at::<[u32; 2]>(GPU_COUNTERS).write([n, content.len() as u32 / 8]);
                    let to = at.at::<u8>(GPU_COUNTERS + 8);
                    to.copy_from_nonoverlapping(content.as_ptr(), content.len());
                }
                let ns = stored.end_ns - start_ns;
                format!("{start_ns} {ns} {stored:?} {content:?}")
            }
            EVENT_RANGE => {
                let stored = RangeBody {
                    what: RANGE_PUSH + random.below(5) as u8,
                    payload_type: random.below(8) as u8,
                    text: content.len() as u16,
                    domain: random.below(9) as u32,
                    id: random.word(),
                    payload: random.word(),
                    category: n,
                    color: random.below(1 << 32) as u32,
                };
                at.at::<RangeBody>(32).write(stored);
                at.at::<u8>(RANGE_TEXT).copy_from_nonoverlapping(content.as_ptr(), content.len());
                let bits = stored.payload;
                let payload = match stored.payload_type {
                    PAYLOAD_U64 => Some(Payload::Whole(bits.into())),
                    PAYLOAD_I64 => Some(Payload::Whole((bits as i64).into())),
                    PAYLOAD_F64 => Some(Payload::Real(f64::from_bits(bits))),
                    PAYLOAD_U32 => Some(Payload::Whole((bits & 0xffff_ffff).into())),
                    PAYLOAD_I32 => Some(Payload::Whole((bits as u32 as i32).into())),
                    PAYLOAD_F32 => Some(Payload::Real(f32::from_bits(bits as u32).into())),
                    _ => None,
                };
                let text = &String::from_utf8_lossy(&content);
                let range = crate::event::Range { stored, text };
                // As text: no two NaN are equal.
                assert_eq!(format!("{:?}", range.payload()), format!("{payload:?}"));
                format!("{range:?}")
            }
            EVENT_REGION | EVENT_MAP => {
                let kept = content.len() / size_of::<MappedArg>();
                let is_map = kind == EVENT_MAP;
                let stored = MappedBody {
                    kernel: n,
                    place: random.below(99) as u32,
                    device: random.word() as i64,
                    trip_count: random.word(),
                    flags: random.word(),
                    teams: dims(random),
                    threads: dims(random),
                    shared: random.below(1 << 20) as u32,
                    version: random.below(7) as u16,
                    what: if is_map { MAP_BEGIN + random.below(3) as u8 } else { 0 },
                    fallback: random.below(7) as u8,
                    count: random.below(1 << 32) as u32,
                    kept: kept as u16,
                    bits: random.below(4) as u16,
                };
                at.at::<MappedBody>(32).write(stored);
                at.at::<u8>(MAPPED_ARGS).copy_from_nonoverlapping(content.as_ptr(), content.len());
                let args = content.get(..kept * size_of::<MappedArg>()).unwrap();
                let args = crate::event::MappedArgs::new(args);
                let mapped = crate::event::Mapped { stored, args };
                format!("{mapped:?}")
            }
            EVENT_SHORT_REGION | EVENT_SHORT_MAP => {
                let is_map = kind == EVENT_SHORT_MAP;
                let stored = ShortMappedBody {
                    kernel: n,
                    place: random.below(99) as u32,
                    trip_count: random.word() as u32,
                    teams: random.below(3) as u32,
                    threads: random.word() as u32,
                    device: random.word() as i16,
                    count: (content.len() / size_of::<ShortMappedArg>()) as u8,
                    flags: random.word() as u8,
                    version: random.below(7) as u8,
                    what: if is_map { MAP_BEGIN + random.below(3) as u8 } else { 0 },
                    fallback: random.below(7) as u8,
                    bits: random.below(4) as u8,
                };
                at.at::<ShortMappedBody>(32).write(stored);
                at.at::<u8>(SHORT_MAPPED_ARGS)
                    .copy_from_nonoverlapping(content.as_ptr(), content.len());
                let args = crate::event::MappedArgs::of_short(&content);
                let mapped = crate::event::Mapped { stored: stored.long(), args };
                format!("{mapped:?}")
            }
            _ => {
                at.at::<u32>(32).write(content.len() as u32);
                at.at::<u8>(40).copy_from_nonoverlapping(content.as_ptr(), content.len());
                String::from_utf8_lossy(&content).into_owned()
            }
        }
    };
    // SAFETY: the slots are filled.
    unsafe {
        at.publish(kind, count);
        if done {
            at.finish(recorder.ticks(), status);
        }
    }
    let (mut status, mut api, mut depth) = (done.then_some(status), api, depth);
    if kind == EVENT_GPU {
        // It has no call: nothing was called, nothing is open.
        (status, api, depth) = (Some(0), 0, 0);
    }
    Some(Expected { tid: buffer.tid(), api, depth, status, body: format!("{body} link {link}") })
}

/// Events of every kind, with every field at random, from buffers that change hands; kept whole or in a
/// ring.
#[test]
fn what_was_written_is_what_is_read() {
    for seed in 0..24u64 {
        let (_folder, path) = scratch();
        let keep = seed.is_multiple_of(2).then_some(128 << 10);
        let tsc = !seed.is_multiple_of(3) && clock::has_invariant_tsc();
        let settings = Settings { keep, tsc, ..Settings::default() };
        let recorder = Recorder::open(&path, &settings, &Process::default()).unwrap();
        let mut random = Random(seed);
        let mut expected = Vec::new();
        for turn in 0..10 {
            let tid = 100 + turn % 3;
            let mut buffer = recorder.attach(tid).unwrap();
            for n in 0..random.below(200) as u32 {
                expected.extend(store(&recorder, &mut buffer, &mut random, n));
            }
            recorder.detach(buffer);
        }
        let mut file = TraceFile::open(&path).unwrap();
        let mut found = Vec::new();
        file.poll(true, &mut |_, event| {
            let body = match &event.body {
                Body::Launch(launch) => format!("{launch:?}"),
                Body::Call(call) => {
                    let words: Vec<u8> = call.words.iter().flat_map(u64::to_le_bytes).collect();
                    let text = call.texts.get(3).unwrap_or_default();
                    format!("{} {} {words:?} {text}", call.kernel, call.outs)
                }
                Body::Mark(text) => text.to_string(),
                Body::Gpu(gpu) => {
                    let (begin, ns) = (event.begin_ns, event.call_ns.unwrap());
                    let counters: Vec<u8> =
                        gpu.counters.iter().flat_map(u64::to_le_bytes).collect();
                    format!("{begin} {ns} {:?} {counters:?}", gpu.stored)
                }
                Body::Range(range) => format!("{range:?}"),
                Body::Mapped(mapped) => format!("{mapped:?}"),
            };
            let body = format!("{body} link {}", event.link);
            let &crate::event::Event { tid, api, depth, status, .. } = event;
            found.push(Expected { tid, api, depth, status, body });
        })
        .unwrap();
        let overwritten = file.header().overwritten as usize;
        assert_eq!(found.len() + overwritten, expected.len(), "seed {seed}");
        assert!(keep.is_some() || overwritten == 0);
        assert_eq!(found, expected[overwritten..], "seed {seed}");
        assert_eq!((file.damaged(), file.header().lost), (0, [0; LOST_KINDS]));
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_link_stands_at_the_end_of_its_event() {
    let (_folder, path) = scratch();
    let recorder = Recorder::create(&path, 1 << 20, None, &Process::default()).unwrap();
    let mut buffer = recorder.attach(1).unwrap();
    for (flags, link) in [(0, 0x1234u64), (EVENT_LINKED, 0x5678)] {
        let count = slots(LAUNCH_ARGS + size_of::<u64>());
        let slots = buffer.reserve(&recorder, count, true).unwrap();
        // SAFETY: `count` slots were reserved for head, body and the eight bytes at their end.
        unsafe {
            slots.store_head(EventHead { api: 1, flags, ..EventHead::default() });
            slots.at::<LaunchBody>(32).write(LaunchBody::default());
            slots.at::<u64>(count * SLOT - size_of::<u64>()).write(link);
            slots.publish(EVENT_LAUNCH, count);
            slots.finish(recorder.ticks(), 0);
        }
    }
    let mut file = TraceFile::open(&path).unwrap();
    let mut links = Vec::new();
    file.poll(true, &mut |_: &Metadata, event| links.push(event.link)).unwrap();
    assert_eq!(links, [0, 0x5678]);
    std::fs::remove_file(path).unwrap();
}
