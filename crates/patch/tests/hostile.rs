//! Files whose symbols claim the same bytes again and again take time in proportion to their length. (Before, four
//! times the bytes took sixteen times as long.)

#[allow(dead_code)]
#[path = "../../cli/examples/hostile_bench/elf.rs"]
mod elf;

use cushim_testkit::patch;

/// Seconds of this thread's processor: other programs do not count.
fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The quicker of two runs.
fn seconds(data: &[u8], read: fn(&[u8])) -> f64 {
    let once = || {
        let begun = processor_time();
        read(data);
        processor_time() - begun
    };
    once().min(once())
}

#[test]
fn time_is_in_proportion() {
    type Case = (&'static str, fn(usize) -> Vec<u8>, fn(&[u8]), usize);
    let cases: [Case; 7] = [
        ("symbols", |n| elf::symbols(n, 62, 2, true), patch::object, 1 << 20),
        ("exports", |n| elf::symbols(n, 62, 11, true), patch::object, 1 << 20),
        ("one chain", elf::chain, patch::object, 1 << 18),
        ("versions", elf::versions, patch::object, 1 << 20),
        ("one place", elf::functions, patch::object, 1 << 18),
        ("relocations", elf::relocations, patch::archive, 1 << 18),
        ("upon each other", elf::upon, patch::archive, 1 << 17),
    ];
    for (name, make, read, bytes) in cases {
        let (small, large) = (seconds(&make(bytes), read), seconds(&make(4 * bytes), read));
        println!("{name}: {small:.4} {large:.4}");
        assert!(
            large < 0.2 || large < 8.0 * small,
            "{name}: {small} s, of four times as much {large} s"
        );
    }
}
