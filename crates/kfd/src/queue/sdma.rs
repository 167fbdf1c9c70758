//! SDMA packets: copies, fills, fences.
//!
//! Owns: decoding and executing the packets of a copy engine. Must not know: who writes them.
//!
//! Layouts: sdma_registers.h of AMD's runtime, for gfx9; lengths are in words.

use cushim_amdgpu::memory::{Checked, Fault, Memory};

use super::machine::Machine;
use super::shared::{Patience, Shared};
use crate::memory::Busy;
use crate::status::say;
use crate::{event, topology};

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Nothing.
    Nop,
    /// Copies bytes.
    Copy {
        /// How many.
        bytes: u64,
        /// From.
        from: u64,
        /// To.
        to: u64,
    },
    /// Rows of bytes.
    Rectangle(Rectangle),
    /// A word is stored.
    Fence {
        /// Where.
        to: u64,
        /// What.
        value: u32,
    },
    /// An event is raised.
    Trap(u32),
    /// Waits for a word.
    Poll {
        /// Where.
        at: u64,
        /// Its bits.
        mask: u32,
        /// What is compared with.
        value: u32,
        /// 0 always, 1 less, 2 not more, 3 equal, 4 not equal, 5 not less, 6 more.
        condition: u32,
    },
    /// 64 bits are added.
    Add {
        /// Where.
        to: u64,
        /// What.
        value: u64,
    },
    /// Words are stored.
    Fill {
        /// Where.
        to: u64,
        /// The word.
        value: u32,
        /// How many bytes.
        bytes: u64,
    },
    /// The time is stored.
    Time(u64),
}

/// A 3-D copy: sizes in bytes, rows, planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rectangle {
    /// The first byte, read and written.
    pub at: [u64; 2],
    /// From row to row.
    pub pitch: [u64; 2],
    /// From plane to plane.
    pub slice: [u64; 2],
    /// Bytes of a row, rows, planes.
    pub size: [u64; 3],
}

impl Command {
    /// How many memory accesses it makes and how many bytes they move, which determine its time.
    pub fn work(&self) -> (u64, u64) {
        match *self {
            Command::Rectangle(r) => {
                let rows = r.size[1] * r.size[2];
                (rows, rows * r.size[0])
            }
            Command::Copy { bytes, .. } => (1, bytes),
            Command::Fill { bytes, .. } => (bytes.div_ceil(64), bytes),
            _ => (1, 8),
        }
    }
}

/// Why words are not a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// They end within it.
    Short,
    /// Not known: the first word.
    Unknown(u32),
}

/// Reads the command at the start of `words`, and how many words it takes.
pub fn parse(words: &[u32]) -> Result<(Command, usize), Error> {
    let first = *words.first().ok_or(Error::Short)?;
    let word = |at: usize| words.get(at).copied().unwrap_or(0);
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 1)) << 32;
    let (op, sub) = (first & 0xff, first >> 8 & 0xff);
    let need = match (op, sub) {
        (0, _) => 1 + (first >> 16 & 0x3fff) as usize,
        (1, 0) => 7,
        (1, 4) => 13,
        (5, _) => 4,
        (6, _) => 2,
        (8, _) => 6,
        (10, _) => 8,
        (11, _) => 5,
        (13, _) => 3,
        (17, _) => 5,
        _ => return Err(Error::Unknown(first)),
    };
    if words.len() < need {
        return Err(Error::Short);
    }
    let command = match (op, sub) {
        (1, 0) => Command::Copy {
            bytes: u64::from(word(1) & 0x3fff_ffff) + 1,
            from: long(3),
            to: long(5),
        },
        (1, _) => Command::Rectangle(rectangle(words)),
        (5, _) => Command::Fence { to: long(1), value: word(3) },
        (6, _) => Command::Trap(word(1) & 0xfff_ffff),
        // Without memory it polls a register for the write-back of caches.
        (8, _) if first >> 31 == 0 => Command::Nop,
        (8, _) => {
            Command::Poll { at: long(1), value: word(3), mask: word(4), condition: first >> 28 & 7 }
        }
        (10, _) if first >> 25 == 47 => Command::Add { to: long(1), value: long(3) },
        (10, _) => return Err(Error::Unknown(first)),
        (11, _) => {
            Command::Fill { to: long(1), value: word(3), bytes: u64::from(word(4) & 0x3f_fffc) + 4 }
        }
        (13, _) => Command::Time(long(1)),
        _ => Command::Nop,
    };
    Ok((command, need))
}

fn rectangle(words: &[u32]) -> Rectangle {
    let word = |at: usize| words.get(at).copied().unwrap_or(0);
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 1)) << 32;
    let element = word(0) >> 29;
    let part = |at: usize, low: u32, bits: u32| u64::from(word(at) >> low & ((1 << bits) - 1));
    // Address, position in elements, pitches less one in elements: the same five words for both ends.
    let end = |at: usize| {
        let pitch = (part(at + 3, 13, 19) + 1) << element;
        let slice = (u64::from(word(at + 4) & 0x0fff_ffff) + 1) << element;
        let (x, y, z) = (part(at + 2, 0, 14) << element, part(at + 2, 16, 14), part(at + 3, 0, 11));
        let first =
            long(at).wrapping_add(x).wrapping_add(y * pitch).wrapping_add(z.wrapping_mul(slice));
        (first, pitch, slice)
    };
    let (from, to) = (end(1), end(6));
    Rectangle {
        at: [from.0, to.0],
        pitch: [from.1, to.1],
        slice: [from.2, to.2],
        size: [(part(11, 0, 14) + 1) << element, part(11, 16, 14) + 1, part(12, 0, 11) + 1],
    }
}

fn copy<M: Memory + ?Sized>(
    checked: &mut Checked<'_, M>,
    from: u64,
    to: u64,
    bytes: u64,
) -> Result<(), Fault> {
    let source = checked.at(from, bytes, false)?;
    let target = checked.at(to, bytes, true)?;
    // SAFETY: both ranges were checked, and stay while the queue is busy.
    unsafe { std::ptr::copy(source, target, bytes as usize) };
    Ok(())
}

/// Performs a command without waiting. Returns whether it is done: a poll may not be.
pub fn perform<M: Memory + ?Sized>(
    checked: &mut Checked<'_, M>,
    command: &Command,
) -> Result<bool, Fault> {
    let mut words = [0; 16];
    match *command {
        Command::Nop => {}
        Command::Copy { bytes, from, to } => copy(checked, from, to, bytes)?,
        Command::Rectangle(r) => {
            for plane in 0..r.size[2] {
                // A copy of 32 million rows takes seconds: a queue that is destroyed does not wait
                // for it.
                if checked.memory.stopped() {
                    break;
                }
                for row in 0..r.size[1] {
                    let at = |first: u64, slice: u64, pitch: u64| {
                        first
                            .wrapping_add(plane.wrapping_mul(slice))
                            .wrapping_add(row.wrapping_mul(pitch))
                    };
                    let from = at(r.at[0], r.slice[0], r.pitch[0]);
                    let to = at(r.at[1], r.slice[1], r.pitch[1]);
                    copy(checked, from, to, r.size[0])?;
                }
            }
        }
        Command::Fence { to, value } => {
            std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
            words[0] = value;
            checked.store(to, 4, &words)?;
        }
        Command::Trap(event) => event::raise(event),
        Command::Poll { at, mask, value, condition } => {
            checked.load(at, 4, &mut words)?;
            let now = words[0] & mask;
            return Ok(match condition & 7 {
                1 => now < value,
                2 => now <= value,
                3 => now == value,
                4 => now != value,
                5 => now >= value,
                6 => now > value,
                _ => true,
            });
        }
        Command::Add { to, value } => drop(checked.update64(to, |old| old.wrapping_add(value))?),
        Command::Fill { to, value, bytes } => {
            checked.at(to, bytes, true)?;
            words = [value; 16];
            for at in (0..bytes).step_by(64) {
                checked.store(to + at, (bytes - at).min(64) as usize, &words)?;
            }
        }
        Command::Time(to) => {
            let now = topology::now();
            words[0] = now as u32;
            words[1] = (now >> 32) as u32;
            checked.store(to, 8, &words)?;
        }
    }
    Ok(true)
}

/// Processes a ring of `bytes` until the queue is stopped.
pub(super) fn work(shared: &Shared, machine: &Machine<'_>, ring: u64, bytes: u64) {
    let (mut read, mut patience) = (0u64, Patience::new());
    while !shared.stopped() {
        let end = shared.doorbell() as u64;
        if read >= end {
            patience.wait();
            continue;
        }
        patience = Patience::new();
        // The longest command is 13 words; the words that a NOP skips are not read.
        let count = ((end - read) / 4).min(16) as usize;
        let mut words = [0u32; 16];
        for (i, word) in words.iter_mut().enumerate().take(count) {
            let at = ring + ((read + 4 * i as u64) & (bytes - 1));
            // SAFETY: a word of the ring, which lives as long as the queue.
            *word = unsafe { (at as *const u32).read_volatile() };
        }
        let nop = words[0] & 0xff == 0;
        let parsed = if nop {
            Ok((Command::Nop, 1 + (words[0] >> 16 & 0x3fff) as usize))
        } else {
            parse(words.get(..count).unwrap_or(&words))
        };
        let (command, taken) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => return lost(shared, &format!("a copy engine's packet: {error:x?}")),
        };
        loop {
            let busy = Busy::begin();
            let done = perform(&mut Checked::new(machine), &command);
            drop(busy);
            match done {
                Ok(true) => break,
                Ok(false) if shared.stopped() => return,
                Ok(false) => patience.wait(),
                Err(fault) => {
                    event::fault(machine.node, fault.address, fault.present, fault.write);
                    return lost(
                        shared,
                        &format!(
                            "a copy engine's access to {:#x}, which is not mapped to the GPU",
                            fault.address
                        ),
                    );
                }
            }
        }
        read += 4 * taken as u64;
        shared.set_read(read);
    }
}

/// Reports that the queue has stopped.
fn lost(shared: &Shared, why: &str) {
    say(why);
    let mut patience = Patience::new();
    while !shared.stopped() {
        patience.wait();
    }
}
