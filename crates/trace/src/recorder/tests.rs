//! What was written is what is read.

use super::*;
use crate::event::Body;
use crate::meta::{Api, Metadata};
use crate::reader::TraceFile;

pub(super) fn scratch(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("cushim-trace-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&dir);
    dir
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
    let path = scratch("threads");
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
    // A thread that comes later goes on in a buffer that another left.
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
    let path = scratch("open");
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
    let path = scratch("limit");
    let recorder = Recorder::create(&path, 200 << 10, None, &Process::default()).unwrap();
    let mut buffer = recorder.attach(1).unwrap();
    for kernel in 0..10_000 {
        launch(&recorder, &mut buffer, kernel, &[0; 8], true);
    }
    let (seen, file) = read(&path, true);
    assert_eq!(seen.len() as u64 + file.header().lost[Lost::Limit as usize], 10_000);
    assert!(seen.len() > 400 && std::fs::metadata(&path).unwrap().len() <= 200 << 10);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn an_existing_file_or_link_is_not_touched() {
    let path = scratch("link");
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
    let path = scratch("hostile");
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
