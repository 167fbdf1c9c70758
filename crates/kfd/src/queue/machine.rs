//! The machine that packets and kernels use: memory, signals, interrupts.
//!
//! Owns: amd_signal_t, and how its changes are announced. Must not know: packets.

use std::sync::atomic::{AtomicBool, Ordering};

use cushim_amdgpu::memory::{Checked, Fault, Memory, Range};

use crate::{event, memory, topology};

/// A queue's view of the process.
pub struct Machine<'a> {
    /// The queue is being destroyed.
    pub stop: &'a AtomicBool,
    /// Its GPU's node.
    pub node: u32,
}

// SAFETY: mapped blocks stay until nothing is `Busy`, and queues are while they process a packet;
// the program vouches for memory that it registered, as to the kernel driver.
unsafe impl Memory for Machine<'_> {
    fn find(&self, address: u64) -> Option<Range> {
        memory::find(self.node, address)
    }

    fn interrupt(&self, number: u32) {
        event::interrupt(number, memory::take_mail);
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Times of a packet's work.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// When it began.
    pub start: u64,
}

impl Times {
    /// It begins now.
    pub fn begin() -> Times {
        Times { start: topology::now() }
    }
}

/// Raises a signal's event, if it has one.
fn notify<M: Memory + ?Sized>(checked: &mut Checked<'_, M>, signal: u64) -> Result<(), Fault> {
    let mut words = [0; 16];
    checked.load(signal + 0x10, 12, &mut words)?;
    let mailbox = u64::from(words[0]) | u64::from(words[1]) << 32;
    if mailbox != 0 {
        let mut id = [0; 16];
        id[0] = words[2];
        checked.store(mailbox, 8, &id)?;
        event::raise(words[2]);
    }
    Ok(())
}

/// A packet is done: its signal's times and value.
pub fn complete<M: Memory + ?Sized>(
    checked: &mut Checked<'_, M>,
    signal: u64,
    times: Times,
) -> Result<(), Fault> {
    if signal == 0 {
        return Ok(());
    }
    for (at, value) in [(0x20, times.start), (0x28, topology::now())] {
        let mut words = [0; 16];
        words[0] = value as u32;
        words[1] = (value >> 32) as u32;
        checked.store(signal + at, 8, &words)?;
    }
    checked.update64(signal + 8, |value| value.wrapping_sub(1))?;
    notify(checked, signal)
}

/// Sets a signal's value and raises its event.
pub fn set_signal<M: Memory + ?Sized>(
    checked: &mut Checked<'_, M>,
    signal: u64,
    value: u64,
) -> Result<(), Fault> {
    if signal == 0 {
        return Ok(());
    }
    checked.update64(signal + 8, |_| value)?;
    notify(checked, signal)
}

/// A signal's value.
pub fn signal_value<M: Memory + ?Sized>(
    checked: &mut Checked<'_, M>,
    signal: u64,
) -> Result<i64, Fault> {
    let mut words = [0; 16];
    checked.load(signal + 8, 8, &mut words)?;
    Ok((u64::from(words[0]) | u64::from(words[1]) << 32) as i64)
}
