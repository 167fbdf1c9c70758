//! Time periods for a file that is read while it is written.

use std::os::unix::fs::FileExt as _;

use super::tests::{launch, scratch};
use super::*;
use crate::reader::TraceFile;

/// The latest calibration may lie shortly behind the first one; a line through both is steep or flat by mistake.
#[test]
fn a_live_file_has_the_times_of_this_moment() {
    if !clock::has_invariant_tsc() {
        return;
    }
    let (_folder, path) = scratch();
    let settings = Settings { tsc: true, ..Settings::default() };
    let recorder = Recorder::open(&path, &settings, &Process::default()).unwrap();
    let mut buffer = recorder.attach(1).unwrap();
    // The first event takes a chunk, at which the recorder calibrates.
    launch(&recorder, &mut buffer, 1, &[], true);
    // As if the second reading of the clock had come too late: 10 ms between the two are called 20.
    std::thread::sleep(std::time::Duration::from_millis(10));
    let header = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let mut words = [0; 24];
    let [first, latest] =
        [std::mem::offset_of!(FileHeader, first), std::mem::offset_of!(FileHeader, latest)];
    header.read_exact_at(&mut words, first as u64).unwrap();
    let origin = u64::from_ne_bytes(words[8..16].try_into().unwrap());
    let now = clock::calibrate(true);
    let late = Calibration { monotonic_ns: 2 * now.monotonic_ns - origin, ..now };
    for (n, word) in [late.ticks, late.monotonic_ns, late.realtime_ns].into_iter().enumerate() {
        header.write_all_at(&word.to_ne_bytes(), (latest + n * 8) as u64).unwrap();
    }
    let before = clock::clock_ns(libc::CLOCK_MONOTONIC);
    launch(&recorder, &mut buffer, 1, &[], true);
    let after = clock::clock_ns(libc::CLOCK_MONOTONIC);

    let begun = |follow: bool| {
        let mut file = TraceFile::open(&path).unwrap();
        if follow {
            file.follow().unwrap();
        }
        let mut begun = 0;
        file.poll(true, &mut |_, event| begun = event.begin_ns).unwrap();
        begun
    };
    // The two clocks are compared to some microseconds at worst.
    let slack = 1_000_000;
    assert!(begun(false) > after + slack, "{} {after}", begun(false));
    assert!(
        (before - slack..after + slack).contains(&begun(true)),
        "{before} {} {after}",
        begun(true)
    );
    // What a process says when it ends counts.
    recorder.close();
    assert!((before - slack..after + slack).contains(&begun(true)));
}
