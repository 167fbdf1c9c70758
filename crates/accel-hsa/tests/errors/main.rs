//! Each call of AMD's runtime fails once: each failure becomes an error, nothing leaks or hangs.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::expect_used)]

mod mock;

use std::alloc::Layout;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use cushim_accel::{
    Accelerator, Code, Copy, Dispatch, Failure, Fill, Image, ImageKind, MemoryKind, Packet, Queue,
    Signal, Work,
};
use cushim_accel_hsa::Hsa;
use cushim_accel_hsa::api::Api;
use cushim_accel_hsa::ffi::*;
use mock::{BAD, GIVE_BACK, NOWHERE, State, WILD, state};

/// One runtime for all tests of this process.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    *state() = State { object: 1, ..State::default() };
    guard
}

fn api() -> Api {
    // SAFETY: functions with the signatures of their names.
    unsafe { Api::from(mock::find) }.unwrap()
}

/// An ELF file with the metadata alone: a code object with one kernel `k` of one parameter.
fn object() -> Vec<u8> {
    fn text(to: &mut Vec<u8>, text: &str) {
        to.push(0xa0 | text.len() as u8);
        to.extend(text.as_bytes());
    }
    let mut note = vec![0x81];
    text(&mut note, "amdhsa.kernels");
    note.extend([0x91, 0x83]);
    for (key, value) in [(".name", "k"), (".symbol", "k.kd")] {
        text(&mut note, key);
        text(&mut note, value);
    }
    text(&mut note, ".args");
    note.extend([0x91, 0x83]);
    for (key, value) in [(".offset", 0), (".size", 8)] {
        text(&mut note, key);
        note.push(value);
    }
    text(&mut note, ".value_kind");
    text(&mut note, "by_value");
    let mut elf = vec![0_u8; 64 + 56];
    elf[..9].copy_from_slice(b"\x7fELF\x02\x01\x01\x40\x03");
    elf[16..20].copy_from_slice(&[3, 0, 224, 0]);
    elf[20] = 1;
    elf[32] = 64;
    elf[48] = 0x3f;
    (elf[52], elf[54], elf[56], elf[58]) = (64, 56, 1, 64);
    let size = (12 + 8 + note.len()).next_multiple_of(4) as u64;
    elf[64] = 4;
    for (at, value) in [(64 + 8, 120), (64 + 32, size), (64 + 40, size), (64 + 48, 4)] {
        elf[at..at + 8].copy_from_slice(&u64::to_le_bytes(value));
    }
    for number in [7, note.len() as u32, 32] {
        elf.extend(number.to_le_bytes());
    }
    elf.extend(b"AMDGPU\0\0");
    elf.extend(note);
    elf.resize(120 + size as usize, 0);
    elf
}

fn load(hsa: &Hsa) -> Result<Arc<dyn Code>, Failure> {
    let object = object();
    let image = Image {
        kind: ImageKind::CodeObject,
        parts: &[&object],
        externals: &|_| None,
        managed: None,
        optimised: true,
    };
    let code = hsa.load(0, &image)?;
    match &code.kernels()[0].refused {
        Some(why) => Err(Failure::NotSupported(why.clone())),
        None => Ok(code),
    }
}

fn launch(code: &Arc<dyn Code>, at: u64) -> Work {
    Work::Dispatch(Box::new(Dispatch {
        tag: 0,
        code: code.clone(),
        kernel: 0,
        grid: [3, 1, 1],
        block: [64, 2, 1],
        dynamic_shared: 0,
        arguments: at.to_le_bytes().into(),
        cluster: None,
        cooperative: false,
        call: 0,
        trail: None,
        stream: None,
        graph: None,
    }))
}

fn row_of(to: u64, from: u64, width: usize) -> Work {
    Work::Copy(Copy::line(to, from, width))
}

/// Submits work and returns its completion signal.
fn submit(queue: &Arc<dyn Queue>, work: Work, waits: &[&Signal]) -> Signal {
    let done = Signal::new();
    let waits = waits.iter().map(|signal| (*signal).clone()).collect();
    queue.submit(Packet { work, waits, done: done.clone() });
    done
}

/// Runs every kind of work on two queues that wait for each other; returns the first failure.
fn program() -> Result<(), Failure> {
    let hsa = Hsa::over(api())?;
    let mut own = [7_u32; 1024];
    let own_at = own.as_mut_ptr().expose_provenance() as u64;
    let device =
        hsa.allocate(0, MemoryKind::Device, Layout::from_size_align(4096, 512).unwrap())?;
    let rest = (|| {
        let host =
            hsa.allocate(0, MemoryKind::Host, Layout::from_size_align(4096, 64 << 10).unwrap())?;
        let seen: *mut u64 = std::ptr::with_exposed_provenance_mut(host as usize);
        // SAFETY: host memory with room for the rectangle, whose last row is written here.
        unsafe { seen.byte_add(2 * 128 + 32).write(0x1234_5678_9abc) };
        let result = work(&hsa, device, host, own_at);
        if result.is_ok() {
            // SAFETY: host memory that the rectangle was copied to.
            assert_eq!(unsafe { seen.byte_add(512).read() }, 0x1234_5678_9abc);
        }
        hsa.free(host);
        result
    })();
    hsa.free(device);
    rest?;
    assert_eq!(own[..3], [0x0101_0101 + 2 * 384, 0x0001_0101, 7]);
    Ok(())
}

fn work(hsa: &Hsa, device: u64, host: u64, own: u64) -> Result<(), Failure> {
    hsa.register_host(own, 4096)?;
    let result = (|| {
        let code = load(hsa)?;
        let (one, two) = (hsa.queue(0, 0)?, hsa.queue(0, -5)?);
        let fill = Fill { to: device, value: 1, size: 1, width: 7, height: 1, pitch: 7 };
        let mut all = vec![submit(&one, Work::Fill(fill), &[])];
        all.push(submit(&one, launch(&code, device), &[]));
        all.push(submit(&two, launch(&code, device), &[&all[1]]));
        let ended = Signal::new();
        all.push(submit(&two, row_of(host, device, 8), &[&ended]));
        ended.complete(Default::default());
        all.push(submit(&one, row_of(own, host, 7), &[&all[3]]));
        all.push(submit(&one, Work::Barrier, &[&all[2]]));
        all.push(submit(&two, row_of(device + 64, own, 64), &[&all[5]]));
        // Three planes of two rows; the last row is copied back.
        let (row, plane) = ([64, 32], [256, 128]);
        let size =
            Copy { to: device + 1024, from: host, width: 8, height: 2, depth: 3, row, plane };
        all.push(submit(&one, Work::Copy(size), &[&all[6]]));
        // One plane without a pitch; and rows that no DMA engine takes: the mock would fail on them.
        let size = Copy { to: device + 64, from: host, depth: 1, plane: [0; 2], ..size };
        all.push(submit(&one, Work::Copy(size), &[]));
        let odd = Copy { from: host + 1, width: 3, row: [64, 33], ..size };
        all.push(submit(&one, Work::Copy(odd), &[]));
        all.push(submit(&one, row_of(host + 512, device + 1024 + 512 + 64, 8), &[&all[7]]));
        let outcomes: Vec<_> = all.iter().map(Signal::wait).collect();
        hsa.copy_now(device + 8, own, 16)?;
        outcomes.into_iter().try_for_each(|outcome| outcome.failure.map_or(Ok(()), Err))
    })();
    hsa.unregister_host(own);
    result
}

/// The objects that are still alive after waiting for the runtime's threads to end.
fn left() -> Vec<(&'static str, i64)> {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let alive: Vec<_> =
            state().alive.iter().filter(|(_, n)| **n != 0).map(|(k, n)| (*k, *n)).collect();
        if alive.is_empty() || Instant::now() > until {
            return alive;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Calls whose failure the program survives: names of a device, times of work, texts, access to a
/// pool, and copies of rows, which the host then does.
const DONE_WITHOUT: [&str; 7] = [
    "hsa_amd_memory_async_copy_rect",
    "hsa_status_string",
    "hsa_agent_get_info",
    "hsa_amd_profiling_get_dispatch_time",
    "hsa_amd_profiling_get_async_copy_time",
    "hsa_system_get_info",
    "hsa_executable_symbol_get_info",
];

#[test]
fn each_call_fails_once_with_each_kind_of_status() {
    let _alone = alone();
    program().unwrap();
    assert_eq!(left(), []);
    let calls = state().calls.clone();
    let silent = Api::NAMES.iter().filter(|name| !calls.contains_key(*name));
    let silent: Vec<_> =
        silent.filter(|name| name.starts_with("hsa_") && !name.contains("index")).collect();
    // The mock does not count these, or the library calls them only after a failure.
    let known = ["hsa_status_string", "hsa_signal_load_scacquire", "hsa_signal_store_relaxed"];
    let known =
        known.into_iter().chain(["hsa_signal_store_screlease", "hsa_signal_wait_scacquire"]);
    let known: Vec<_> = known.chain(["hsa_amd_profiling_get_async_copy_time"]).collect();
    assert!(silent.iter().all(|name| known.contains(*name)), "not called: {silent:?}");
    let mut errors = 0;
    for (name, count) in calls {
        for number in 1..=count {
            for status in [ERROR, OUT_OF_RESOURCES, INVALID_CODE_OBJECT, 0x1001] {
                *state() =
                    State { object: 1, fail: Some((name, number, status)), ..State::default() };
                let ended = program();
                let case = format!("call {number} of {name} answers {status:#x}: {ended:?}");
                assert_eq!(left(), [], "{case}");
                if !state().failed {
                    // Several threads work: the number of these calls differs between runs.
                    continue;
                }
                match &ended {
                    Err(Failure::Device(text)) => assert!(text.contains("it failed"), "{case}"),
                    Err(_) => {}
                    Ok(()) => {
                        let handler =
                            name == "hsa_amd_register_system_event_handler" && status == ERROR;
                        let smaller = name == "hsa_queue_create" && status == OUT_OF_RESOURCES;
                        let known = GIVE_BACK.contains(&name) || DONE_WITHOUT.contains(&name);
                        assert!(known || handler || smaller, "{case}");
                    }
                }
                errors += usize::from(ended.is_err());
            }
        }
    }
    assert!(errors > 200, "{errors}");
}

/// Runs a kernel that stops its queue with this status, or touches [`NOWHERE`].
fn broken(object: u64, says: Status) -> (Failure, Failure) {
    *state() = State { object, says, ..State::default() };
    let hsa = Hsa::over(api()).unwrap();
    let device =
        hsa.allocate(0, MemoryKind::Device, Layout::from_size_align(64, 64).unwrap()).unwrap();
    let code = load(&hsa).unwrap();
    let queue = hsa.queue(0, 0).unwrap();
    let first = submit(&queue, launch(&code, device), &[]);
    let second = submit(&queue, launch(&code, device), &[]);
    let failures = [first, second].map(|signal| signal.wait().failure.unwrap());
    // Work submitted later fails alike.
    let later = submit(&queue, launch(&code, device), &[]).wait().failure;
    assert_eq!(later.as_ref(), Some(&failures[0]));
    if object == BAD {
        // A new stream has a new queue.
        state().object = 1;
        let code = load(&hsa).unwrap();
        let queue = hsa.queue(0, 0).unwrap();
        assert_eq!(submit(&queue, launch(&code, device), &[]).wait().failure, None);
    }
    hsa.free(device);
    let [one, two] = failures;
    (one, two)
}

#[test]
fn a_queue_that_stops_fails_everything_in_it() {
    let _alone = alone();
    for status in (ERROR..=0x1026).chain(40..=44) {
        let (one, two) = broken(BAD, status);
        let expected = match status {
            MEMORY_FAULT | APERTURE_VIOLATION => matches!(one, Failure::IllegalAddress(_)),
            _ => matches!(one, Failure::Launch(_)),
        };
        assert!(expected && one == two, "{status:#x}: {one:?}, {two:?}");
        assert!(one.to_string().starts_with("kernel k: "), "{one}");
        assert_eq!(left(), [], "{status:#x}");
    }
}

#[test]
fn a_memory_fault_names_kernel_and_address() {
    let _alone = alone();
    let (one, two) = broken(WILD, 0);
    let text = format!("kernel k touched {NOWHERE:#x}: nothing is mapped there");
    assert_eq!((&one, &two), (&Failure::IllegalAddress(text), &one));
    assert_eq!(left(), []);
}

#[test]
fn work_that_the_device_cannot_do_is_refused_when_it_is_asked_for() {
    let _alone = alone();
    let hsa = Hsa::over(api()).unwrap();
    let code = load(&hsa).unwrap();
    let Work::Dispatch(fits) = launch(&code, 64) else { unreachable!() };
    assert_eq!(hsa.check(&fits), Ok(()));
    // More blocks than are resident on the GPU at once.
    let together = Dispatch { cooperative: true, grid: [1 << 20, 1, 1], ..(*fits).clone() };
    assert!(matches!(hsa.check(&together), Err(Failure::NotSupported(_))));
    let wide = Dispatch { grid: [1 << 27, 1, 1], ..(*fits).clone() };
    assert!(matches!(hsa.check(&wide), Err(Failure::NotSupported(_))));
    assert!(matches!(hsa.copy_now(64, 4096, 8), Err(Failure::InvalidAddress(64))));
    let device =
        hsa.allocate(0, MemoryKind::Device, Layout::from_size_align(64, 64).unwrap()).unwrap();
    assert_eq!(hsa.copy_now(device + 60, device, 8), Err(Failure::InvalidAddress(device + 60)));
    let gone = 0x7000_0000_0000;
    assert_eq!(hsa.copy_now(device, gone, 8), Err(Failure::InvalidAddress(gone)));
    hsa.free(device);
    drop((code, fits, together, wide, hsa));
    assert_eq!(left(), []);
}
