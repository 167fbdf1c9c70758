//! Tests the flight recorder, control and marks.

use super::tests::{launch, read, scratch};
use super::*;
use crate::control::{Remote, State};
use crate::event::Body;
use crate::reader::TraceFile;

fn ring(keep: u64) -> ((tempfile::TempDir, PathBuf), Recorder) {
    let (folder, path) = scratch();
    let settings = Settings { keep: Some(keep), ..Settings::default() };
    // The process that holds the file is this one.
    let process = Process { pid: std::process::id(), ..Process::default() };
    let recorder = Recorder::open(&path, &settings, &process).unwrap();
    ((folder, path), recorder)
}

#[test]
fn the_latest_are_kept_and_the_others_counted() {
    let ((_folder, path), recorder) = ring(256 << 10);
    let mut buffer = recorder.attach(1).unwrap();
    const ALL: u32 = 50_000;
    for kernel in 0..ALL {
        launch(&recorder, &mut buffer, kernel, &kernel.to_le_bytes(), true);
    }
    let (seen, file) = read(&path, true);
    assert_eq!(file.header().keep, Some(256 << 10));
    assert_eq!(seen.len() as u64 + file.header().overwritten, u64::from(ALL));
    let first = ALL - seen.len() as u32;
    for (event, kernel) in seen.iter().zip(first..) {
        assert_eq!((event.1, &event.3[..]), (kernel, &kernel.to_le_bytes()[..]));
    }
    assert!(seen.len() > 1500, "{}", seen.len());
    assert_eq!((file.damaged(), file.header().lost), (0, [0; LOST_KINDS]));
    assert!(std::fs::metadata(&path).unwrap().len() <= 320 << 10);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_chunk_with_an_open_call_is_not_used_again() {
    let ((_folder, path), recorder) = ring(64 << 10);
    let mut buffer = recorder.attach(1).unwrap();
    let outer = buffer.reserve(&recorder, 1, true).unwrap();
    // SAFETY: one slot was reserved; a call without words fits.
    unsafe {
        outer.store_head(EventHead { api: 7, begin: recorder.ticks(), ..EventHead::default() });
        outer.publish(EVENT_CALL, 1);
    }
    for _ in 0..5_000 {
        // Nested: never idle.
        let inner = buffer.reserve(&recorder, 1, false).unwrap();
        // SAFETY: one slot was reserved; a call without words fits.
        unsafe {
            let head =
                EventHead { api: 8, depth: 1, begin: recorder.ticks(), ..EventHead::default() };
            inner.store_head(head);
            inner.publish(EVENT_CALL, 1);
            inner.finish(recorder.ticks(), 0);
        }
    }
    // SAFETY: its chunk is still this buffer's.
    unsafe { outer.finish(recorder.ticks(), 3) };
    let mut file = TraceFile::open(&path).unwrap();
    let mut apis = [0, 0];
    file.poll(true, &mut |_, event| {
        apis[usize::from(event.api == 8)] += 1;
        if event.api == 7 {
            assert_eq!(event.status, Some(3));
        }
    })
    .unwrap();
    assert_eq!((apis, file.header().overwritten), ([1, 5_000], 0));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn many_threads_and_a_reader_beside_them() {
    let ((_folder, path), recorder) = ring(512 << 10);
    const EACH: u32 = 20_000;
    std::thread::scope(|scope| {
        for tid in 1..=4u32 {
            let recorder = &recorder;
            scope.spawn(move || {
                let mut buffer = recorder.attach(tid).unwrap();
                for n in 0..EACH {
                    let args = [tid.to_le_bytes(), n.to_le_bytes()].concat();
                    launch(recorder, &mut buffer, n, &args, true);
                }
                recorder.detach(buffer);
            });
        }
        for _ in 0..20 {
            let (seen, file) = read(&path, true);
            for (tid, kernel, _, args) in &seen {
                let expected = [tid.to_le_bytes(), kernel.to_le_bytes()].concat();
                // A launch that is being stored now is published whole.
                assert_eq!(&expected, args);
            }
            assert_eq!(file.damaged(), 0);
        }
    });
    let (seen, file) = read(&path, true);
    assert_eq!(seen.len() as u64 + file.header().overwritten, 4 * u64::from(EACH));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn following_a_ring_hands_out_nothing_twice() {
    let ((_folder, path), recorder) = ring(128 << 10);
    let mut buffer = recorder.attach(1).unwrap();
    let mut file = TraceFile::open(&path).unwrap();
    let mut seen = Vec::new();
    for kernel in 0..20_000 {
        launch(&recorder, &mut buffer, kernel, &[], true);
        if kernel % 700 == 0 {
            file.poll(false, &mut |_, event| {
                if let Body::Launch(launch) = &event.body {
                    seen.push(launch.kernel);
                }
            })
            .unwrap();
        }
    }
    assert!(seen.len() > 18_000 && seen.windows(2).all(|two| two[0] < two[1]), "{}", seen.len());
    std::fs::remove_file(path).unwrap();
}

#[test]
fn marks_and_switches_from_outside() {
    let ((_folder, path), recorder) = ring(64 << 10);
    let remote = Remote::of_file(&path).unwrap();
    assert_eq!(remote.pid(), std::process::id());
    assert_eq!((remote.state(), recorder.control()), (State::On, 0));
    assert_eq!((remote.off(), recorder.control()), (State::Off, CONTROL_OFF));
    assert_eq!((remote.on(), recorder.control()), (State::On, 0));
    let texts: Vec<String> = (0..MAIL_SLOTS).map(|n| format!("mark {n} é")).collect();
    for text in &texts {
        remote.mark(text).unwrap();
    }
    assert!(remote.mark("one too many").is_err());
    assert!(remote.mark(&"x".repeat(MAIL_TEXT + 1)).is_err());
    let marks = |last: bool| {
        let mut file = TraceFile::open(&path).unwrap();
        let mut marks = Vec::new();
        file.poll(last, &mut |_, event| {
            if let Body::Mark(text) = event.body {
                marks.push(text.to_owned());
            }
        })
        .unwrap();
        marks
    };
    assert_eq!(marks(true), texts);
    assert_eq!(recorder.control(), CONTROL_MAIL);
    // One that follows the file sees each once, wherever it stands.
    let mut follower = TraceFile::open(&path).unwrap();
    let mut followed = 0;
    follower.poll(false, &mut |_, _| followed += 1).unwrap();
    recorder.take_mail();
    assert_eq!(recorder.control(), 0);
    follower.poll(false, &mut |_, _| followed += 1).unwrap();
    assert_eq!(followed, texts.len());
    assert_eq!(marks(false), texts);
    remote.mark("later").unwrap();
    assert_eq!(marks(true).last().map(String::as_str), Some("later"));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn windows_end_by_on() {
    let (_folder, path) = scratch();
    let settings = Settings { control: CONTROL_OFF | CONTROL_WINDOW, ..Settings::default() };
    let process = Process { pid: std::process::id(), ..Process::default() };
    let recorder = Recorder::open(&path, &settings, &process).unwrap();
    let remote = Remote::of_process(std::process::id());
    // Several tests of this process may have files mapped: any of them is found.
    assert!(remote.is_ok());
    let remote = Remote::of_file(&path).unwrap();
    assert_eq!((remote.state(), remote.on(), remote.on()), (State::Off, State::Window, State::On));
    drop(recorder);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_trace_that_nobody_writes_is_not_controlled() {
    let (_folder, path) = scratch();
    let process = Process { pid: 1, ..Process::default() };
    drop(Recorder::create(&path, 1 << 20, None, &process).unwrap());
    assert!(Remote::of_file(&path).is_err());
    std::fs::write(&path, "no trace").unwrap();
    assert!(Remote::of_file(&path).is_err());
    std::fs::remove_file(path).unwrap();
}
