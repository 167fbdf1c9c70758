//! AQL packets: dispatches and barriers.
//!
//! Owns: decoding a packet's 64 bytes, and executing it. Must not know: how a kernel is executed.

use std::fmt::Write;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use cushim_amdgpu::decode::decode;
use cushim_amdgpu::exec::Stop;
use cushim_amdgpu::launch::{Dispatch, Failure, Worker, launch};
use cushim_amdgpu::memory::{Checked, Fault, Memory};
use cushim_amdgpu::target::{Isa, Target};

use super::machine::{Machine, Times, complete, set_signal, signal_value};
use super::shared::{Patience, Shared};
use crate::memory::Busy;
use crate::status::say;
use crate::{event, names, topology};

/// The type of an invalid packet.
const INVALID: u16 = 1;
/// Codes that the runtime finds in the signal of a queue that stopped.
const BAD_PACKET: u64 = 8;
const BAD_INSTRUCTION: u64 = 0x4000_0000;
const TRAP: u64 = 0x8000_0000;

/// The contents of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// No packet yet.
    None,
    /// A kernel.
    Dispatch(Dispatch, u64),
    /// Waits until all of these are zero, then the completion signal.
    And([u64; 5], u64),
    /// Waits until one of these is zero.
    Or([u64; 5], u64),
    /// Waits until a signal's masked value meets a condition.
    Value {
        /// The signal.
        signal: u64,
        /// The value to compare with.
        value: i64,
        /// Bits of the signal.
        mask: i64,
        /// 0 equal, 1 not equal, 2 less, 3 not less.
        condition: u32,
        /// The completion signal.
        done: u64,
    },
    /// Commands of the older kind; the runtime only uses those that flush caches.
    Commands(u64),
    /// An unknown type.
    Unknown(u16),
}

/// Reads a packet's words. The dispatch's own address, queue and number are left for the caller.
pub fn parse(words: &[u32; 16]) -> Packet {
    let word = |at: usize| words.get(at).copied().map_or(0, u64::from);
    let long = |at: usize| word(at) | word(at + 1) << 32;
    let signals = || [2, 4, 6, 8, 10].map(long);
    let done = long(14);
    match (words[0] & 0xff, words[0] >> 16) {
        (1, _) => Packet::None,
        (0, format) => match format & 0xff {
            1 => Packet::Commands(done),
            2 => Packet::Value {
                signal: long(2),
                value: long(4) as i64,
                mask: long(6) as i64,
                condition: words[8],
                done,
            },
            _ => Packet::Unknown(words[0] as u16),
        },
        (2, setup) => {
            let mut dispatch = Dispatch {
                grid: [words[3], words[4], words[5]],
                group: [words[1] & 0xffff, words[1] >> 16, words[2] & 0xffff],
                private: words[6],
                lds: words[7],
                kernel: long(8),
                arguments: long(10),
                ..Dispatch::default()
            };
            let sizes = dispatch.grid.iter_mut().zip(&mut dispatch.group);
            for (grid, group) in sizes.skip((setup & 3) as usize) {
                *grid = (*grid).max(1);
                *group = (*group).max(1);
            }
            Packet::Dispatch(dispatch, done)
        }
        (3, _) => Packet::And(signals(), done),
        (5, _) => Packet::Or(signals(), done),
        _ => Packet::Unknown(words[0] as u16),
    }
}

/// Why a queue stops.
enum Trouble {
    Memory(Fault),
    Kernel(Box<Failure>, u64),
    Packet(String),
    /// The queue is being destroyed.
    Cancelled,
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Trouble {
        Trouble::Memory(fault)
    }
}

/// Processes a ring of `slots` packets until the queue is stopped.
pub(super) fn work(
    shared: &Shared,
    machine: &Machine<'_>,
    isa: Isa,
    (ring, slots): (u64, u64),
    queue: u64,
) {
    let mut worker = Worker::new(isa);
    let mut patience = Patience::new();
    // SAFETY: the runtime keeps its amd_queue_t as long as the queue exists.
    let read_id = unsafe { AtomicU64::from_ptr((queue + 0x80) as *mut u64) };
    while !shared.stopped() {
        let id = read_id.load(Ordering::Acquire);
        let slot = ring + (id & (slots - 1)) * 64;
        // SAFETY: a slot of the ring, which stays for as long as the queue is there.
        let header = unsafe { AtomicU16::from_ptr(slot as *mut u16) };
        if id as i64 > shared.doorbell() || header.load(Ordering::Acquire) & 0xff == INVALID {
            patience.wait();
            continue;
        }
        patience = Patience::new();
        // SAFETY: a slot of the ring, which lives as long as the queue; a packet does not change
        // once its header is valid.
        let words = unsafe { (slot as *const [u32; 16]).read_unaligned() };
        match packet(machine, &words, slot, queue, id, &mut worker) {
            Ok(()) => {
                header.store(INVALID, Ordering::Release);
                read_id.store(id + 1, Ordering::Release);
            }
            Err(Trouble::Cancelled) => return,
            Err(trouble) => {
                give_up(machine, isa, queue, trouble);
                while !shared.stopped() {
                    patience.wait();
                }
            }
        }
    }
}

fn packet(
    machine: &Machine<'_>,
    words: &[u32; 16],
    slot: u64,
    queue: u64,
    id: u64,
    worker: &mut Worker,
) -> Result<(), Trouble> {
    let times = Times::begin();
    let done = match parse(words) {
        Packet::None => 0,
        Packet::Commands(done) => done,
        Packet::Dispatch(dispatch, done) => {
            let dispatch = Dispatch { packet: slot, queue, number: id, ..dispatch };
            let _busy = Busy::begin();
            launch(machine, &dispatch, worker, topology::threads()).map_err(
                |failure| match failure.stop {
                    Stop::Cancelled => Trouble::Cancelled,
                    _ => Trouble::Kernel(Box::new(failure), dispatch.kernel),
                },
            )?;
            done
        }
        Packet::And(signals, done) => {
            for signal in signals.into_iter().filter(|signal| *signal != 0) {
                until(machine, || Ok(signal_value(&mut Checked::new(machine), signal)? == 0))?;
            }
            done
        }
        Packet::Or(signals, done) => {
            let some: Vec<u64> = signals.into_iter().filter(|signal| *signal != 0).collect();
            until(machine, || {
                for signal in &some {
                    if signal_value(&mut Checked::new(machine), *signal)? == 0 {
                        return Ok(true);
                    }
                }
                Ok(some.is_empty())
            })?;
            done
        }
        Packet::Value { signal, value, mask, condition, done } => {
            until(machine, || {
                let now = signal_value(&mut Checked::new(machine), signal)? & mask;
                Ok(match condition {
                    0 => now == value,
                    1 => now != value,
                    2 => now < value,
                    _ => now >= value,
                })
            })?;
            done
        }
        Packet::Unknown(header) => {
            return Err(Trouble::Packet(format!("a packet with the header {header:#x}")));
        }
    };
    let _busy = Busy::begin();
    complete(&mut Checked::new(machine), done, times)?;
    Ok(())
}

/// Waits for a condition, or for the queue's end.
fn until(
    machine: &Machine<'_>,
    mut condition: impl FnMut() -> Result<bool, Fault>,
) -> Result<(), Trouble> {
    let mut patience = Patience::new();
    loop {
        let busy = Busy::begin();
        if condition()? {
            return Ok(());
        }
        // Memory freed while a queue waits is released at once.
        drop(busy);
        if machine.stopped() {
            return Err(Trouble::Cancelled);
        }
        patience.wait();
    }
}

/// An internal error ended a queue's work: the runtime sees a bad packet.
pub(super) fn broken(machine: &Machine<'_>, queue: u64) {
    give_up(
        machine,
        Isa::default(),
        queue,
        Trouble::Packet("a queue stopped by an internal error".to_owned()),
    );
}

/// Reports to the runtime, and to the user, that a queue stopped.
fn give_up(machine: &Machine<'_>, isa: Isa, queue: u64, trouble: Trouble) {
    let code = match trouble {
        Trouble::Memory(fault) => {
            say(&format!("a packet's memory: {}", shown_fault(&fault)));
            return event::fault(machine.node, fault.address, fault.present, fault.write);
        }
        Trouble::Kernel(failure, kernel) => {
            say(&shown(&failure, isa, kernel));
            match failure.stop {
                Stop::Memory(fault) => {
                    return event::fault(machine.node, fault.address, fault.present, fault.write);
                }
                Stop::Trap { .. } => TRAP,
                _ => BAD_INSTRUCTION,
            }
        }
        Trouble::Packet(why) => {
            say(&why);
            BAD_PACKET
        }
        Trouble::Cancelled => return,
    };
    let mut checked = Checked::new(machine);
    // SAFETY: the runtime keeps its amd_queue_t as long as the queue exists.
    let inactive = unsafe { ((queue + 0xc0) as *const u64).read_unaligned() };
    if set_signal(&mut checked, inactive, code).is_err() {
        say("the queue's own signal is not mapped, so the program cannot learn that it stopped");
    }
}

fn shown_fault(fault: &Fault) -> String {
    let what = if fault.write { "write to" } else { "read of" };
    let why =
        if fault.present { "which the GPU may not do" } else { "which is not mapped to the GPU" };
    format!("{what} {:#x}, {why}", fault.address)
}

/// What stopped a kernel, in words: which kernel, where, and the instruction's bytes.
fn shown(failure: &Failure, isa: Isa, kernel: u64) -> String {
    let [x, y, z] = failure.group;
    let mut text = match &failure.stop {
        Stop::Memory(fault) => shown_fault(fault),
        Stop::Trap { number, .. } => format!("trap {number}"),
        Stop::Cancelled => "the queue was destroyed".to_owned(),
        Stop::Instruction { words, why, .. } => {
            let mut text = why.clone();
            for word in words {
                let _ = write!(text, " {word:08x}");
            }
            if let Ok(inst) = decode(Target { isa, wave32: isa == Isa::Rdna2 }, words) {
                let _ = write!(text, " ({inst})");
            }
            text
        }
    };
    let _ = match names::kernel(kernel) {
        Some(name) => write!(text, "; kernel {name}"),
        None => write!(text, "; kernel with descriptor {kernel:#x}"),
    };
    let at = failure.pc;
    let _ = write!(text, ", instruction at {at:#x}, workgroup {x},{y},{z}, wave {}", failure.wave);
    text
}
