//! Events, memory and packets as AMD's runtime uses them.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use cushim_amdgpu::memory::{Checked, Memory, Range};
use cushim_kfd::queue::aql::{Packet, parse};
use cushim_kfd::queue::machine::Machine;
use cushim_kfd::queue::sdma;
use cushim_kfd::{Status, event, memory};

struct Event(*mut u8);

// SAFETY: the table of events guards the memory behind the pointer.
unsafe impl Send for Event {}
// SAFETY: the table of events guards the memory behind the pointer.
unsafe impl Sync for Event {}

fn create(manual: bool) -> Event {
    let mut at = std::ptr::null_mut();
    // SAFETY: `at` is a place for a pointer.
    let status = unsafe { event::create(0, manual, false, memory::mailboxes(), &mut at) };
    assert_eq!(status, Status::Success);
    Event(at)
}

fn wait(event: &Event, milliseconds: u32) -> Status {
    // SAFETY: `create` made the event.
    unsafe { event::wait(&event.0, 1, false, milliseconds) }
}

fn set(event: &Event) {
    // SAFETY: `create` made the event.
    assert_eq!(unsafe { event::set(event.0) }, Status::Success);
}

#[test]
fn an_event_that_nobody_waited_for_is_kept_once() {
    let event = create(false);
    assert_eq!(wait(&event, 0), Status::WaitTimeout);
    set(&event);
    set(&event);
    assert_eq!(wait(&event, 0), Status::Success);
    assert_eq!(wait(&event, 1), Status::WaitTimeout);
    let manual = create(true);
    set(&manual);
    assert_eq!((wait(&manual, 0), wait(&manual, 0)), (Status::Success, Status::Success));
    // SAFETY: `create` made the event, and nothing uses it afterwards.
    assert_eq!(unsafe { event::destroy(event.0) }, Status::Success);
}

#[test]
fn all_who_wait_are_woken_by_one_raising() {
    let event = create(false);
    let (ready, woken) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                ready.fetch_add(1, Ordering::SeqCst);
                if wait(&event, 20_000) == Status::Success {
                    woken.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        while ready.load(Ordering::SeqCst) < 4 {
            std::thread::yield_now();
        }
        // The threads are about to wait; give them a moment.
        std::thread::sleep(Duration::from_millis(100));
        set(&event);
    });
    assert_eq!(woken.load(Ordering::SeqCst), 4);
}

fn allocate(bytes: u64, flags: u32) -> u64 {
    let mut at = 0;
    // SAFETY: `at` is a place for an address.
    assert_eq!(unsafe { memory::allocate(1, bytes, flags, &mut at) }, Status::Success);
    at
}

#[test]
fn only_what_is_mapped_is_found() {
    let at = allocate(8192, 0x40);
    assert_eq!(memory::find(1, at), None);
    assert_eq!(memory::map(at, 8192, memory::ALL), Status::Success);
    assert_eq!(memory::find(1, at + 8191), Some(Range { start: at, end: at + 8192, write: true }));
    assert_eq!(memory::unmap(at), Status::Success);
    assert_eq!(memory::find(1, at), None);
    assert_eq!(
        memory::map(4096, 4096, memory::ALL),
        Status::InvalidParameter,
        "nothing that was allocated"
    );
    assert_eq!(memory::map(at, 4096, memory::ALL), Status::Success);
    assert_eq!((memory::free(at), memory::free(at)), (Status::Success, Status::InvalidParameter));
    assert_eq!(memory::find(1, at), None, "freed memory is not mapped");
    let fixed = allocate(4096, 0x48);
    assert_eq!(memory::map(fixed, 4096, memory::ALL), Status::Success);
    assert!(!memory::find(1, fixed).unwrap().write, "read-only");
}

#[test]
fn a_block_that_is_freed_stays_while_work_goes_on() {
    let at = allocate(4096, 0x40);
    let busy = memory::Busy::begin();
    assert_eq!(memory::free(at), Status::Success);
    // SAFETY: the memory is freed only when nothing is busy.
    unsafe { (at as *mut u64).write_volatile(5) };
    drop(busy);
}

/// The packet words of an SDMA engine.
fn perform(machine: &Machine<'_>, words: &[u32]) -> bool {
    let (command, taken) = sdma::parse(words).unwrap();
    assert_eq!(taken, words.len());
    sdma::perform(&mut Checked::new(machine), &command).unwrap()
}

fn halves(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

#[test]
fn copy_engines_copy_fill_and_store() {
    let stop = AtomicBool::new(false);
    let machine = Machine { stop: &stop, node: 1 };
    let at = allocate(8192, 0x40);
    assert_eq!(memory::map(at, 8192, memory::ALL), Status::Success);
    let word = |offset: u64| {
        let mut words = [0; 16];
        Checked::new(&machine).load(at + offset, 4, &mut words).unwrap();
        words[0]
    };
    let [a, b] = [halves(at), halves(at + 4096)];
    assert!(perform(&machine, &[11 | 2 << 30, a[0], a[1], 0xabcd_1234, 60]), "64 bytes");
    assert_eq!((word(0), word(60), word(64)), (0xabcd_1234, 0xabcd_1234, 0));
    assert!(perform(&machine, &[1, 15, 0, a[0], a[1], b[0], b[1]]), "16 bytes");
    assert_eq!((word(4096), word(4108), word(4112)), (0xabcd_1234, 0xabcd_1234, 0));
    assert!(perform(&machine, &[5, a[0], a[1], 7]));
    assert!(perform(&machine, &[10 | 47 << 25, b[0], b[1], 1, 0, 0, 0, 0]));
    assert_eq!((word(0), word(4096), word(4100)), (7, 0xabcd_1235, 0xabcd_1234));
    let poll = |value: u32| [8 | 3 << 28 | 1 << 31, a[0], a[1], value, u32::MAX, 0];
    assert!(!perform(&machine, &poll(8)));
    assert!(perform(&machine, &poll(7)));
    let far = sdma::parse(&[1, 15, 0, a[0], a[1], 0x1000, 0]).unwrap().0;
    assert_eq!(sdma::perform(&mut Checked::new(&machine), &far).unwrap_err().address, 0x1000);
    assert!(sdma::parse(&[99]).is_err() && sdma::parse(&[1, 2]).is_err());
    assert!(machine.find(at).is_some());
}

#[test]
fn boxes_are_copied_row_by_row() {
    let stop = AtomicBool::new(false);
    let machine = Machine { stop: &stop, node: 1 };
    let at = allocate(4096, 0x40);
    assert_eq!(memory::map(at, 4096, memory::ALL), Status::Success);
    for i in 0..64u64 {
        let mut words = [0; 16];
        words[0] = i as u32;
        Checked::new(&machine).store(at + 4 * i, 4, &words).unwrap();
    }
    // 3 by 2 elements of 4 bytes, from (1, 1) in rows of 8 to (0, 0) in rows of 5.
    let (from, to) = (halves(at), halves(at + 2048));
    let mut words = vec![1 | 4 << 8 | 2 << 29, from[0], from[1], 1 | 1 << 16, 7 << 13, 63];
    words.extend([to[0], to[1], 0, 4 << 13, 39, 2 | 1 << 16, 0]);
    assert!(perform(&machine, &words));
    let mut out = [0; 16];
    Checked::new(&machine).load(at + 2048, 32, &mut out).unwrap();
    assert_eq!(out[..8], [9, 10, 11, 0, 0, 17, 18, 19]);
}

#[test]
fn packets_say_what_the_runtime_wrote() {
    let mut words = [0; 16];
    words[0] = 0x1402 | 2 << 16;
    words[1] = 64 | 2 << 16;
    words[3..6].copy_from_slice(&[1000, 10, 0]);
    words[6..8].copy_from_slice(&[16, 4096]);
    words[8..12].copy_from_slice(&[0x1000, 1, 0x2000, 2]);
    words[14] = 0x30;
    let Packet::Dispatch(dispatch, done) = parse(&words) else { panic!("a dispatch") };
    assert_eq!((dispatch.group, dispatch.grid), ([64, 2, 1], [1000, 10, 1]));
    assert_eq!((dispatch.private, dispatch.lds), (16, 4096));
    assert_eq!((dispatch.kernel, dispatch.arguments, done), (0x1_0000_1000, 0x2_0000_2000, 0x30));
    words[0] = 0x1503;
    assert_eq!(
        parse(&words),
        Packet::And([0x3e8_0000_0000, 0xa, 0x1000_0000_0010, 0x1_0000_1000, 0x2_0000_2000], 0x30)
    );
    words[0] = 1;
    assert_eq!(parse(&words), Packet::None);
    words[0] = 0x0007;
    assert_eq!(parse(&words), Packet::Unknown(7));
}
