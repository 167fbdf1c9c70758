//! Computes the replies to requests of kernels, with CUDA's semantics.
//!
//! Owns the host's side of [`cushim_translate::abi::calls`]. Must not know: threads, when a kernel is running.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cushim_accel::printed;
use cushim_ptx::exec::printf;
use cushim_rpc::port::Packet;
use cushim_rpc::{Host, Port, Stop};
use cushim_translate::abi::calls;

use crate::heap::Heap;
use crate::memory::Memory;

/// Serves the kernels of one device.
pub struct Answers {
    memory: Arc<Memory>,
    heap: Arc<Heap>,
    asserted: Arc<AtomicBool>,
}

impl Answers {
    /// For kernels that allocate from this heap; `asserted` is set when an assertion fails.
    pub fn new(memory: &Arc<Memory>, heap: &Arc<Heap>, asserted: &Arc<AtomicBool>) -> Answers {
        let (memory, heap, asserted) = (memory.clone(), heap.clone(), asserted.clone());
        Answers { memory, heap, asserted }
    }
}

impl Host for Answers {
    fn allocate(&mut self, bytes: u64) -> u64 {
        self.heap.allocate(&self.memory, bytes)
    }

    fn free(&mut self, address: u64) -> bool {
        self.heap.free(address);
        true
    }

    fn call(&mut self, _: u64, _: &mut [u8]) -> Option<u64> {
        None
    }

    fn user(&mut self, port: &mut Port<'_>) -> Option<Result<(), Stop>> {
        match port.opcode() {
            calls::MALLOC => None,
            calls::PRINT => Some(print(port)),
            calls::ASSERT => {
                self.asserted.store(true, Ordering::Release);
                Some(assertion(port))
            }
            calls::FREE => Some(self.released(port)),
            other => Some(Err(Stop::fault(format!("opcode {other:#x}, which nobody answers")))),
        }
    }
}

impl Answers {
    fn released(&self, port: &mut Port<'_>) -> Result<(), Stop> {
        port.recv(|_, [address, ..]| {
            self.heap.free(address);
            Ok(())
        })?;
        port.send(|_| words(0, 0))
    }
}

fn words(first: u64, second: u64) -> Packet {
    [first, second, 0, 0, 0, 0, 0, 0]
}

/// A message up to its NUL.
fn text(message: &[u8]) -> &[u8] {
    message.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// The state of one lane's text.
#[derive(Default)]
struct Lane {
    format: Vec<u8>,
    arguments: Vec<u8>,
    strings: HashMap<u64, Vec<u8>>,
}

impl Lane {
    /// The text, the result of `vprintf`, how many bytes of arguments were read, and the missing
    /// strings.
    fn shown(&self) -> (Vec<u8>, u32, u64, Vec<u64>) {
        let (end, missing) = (Cell::new(0), RefCell::new(Vec::new()));
        let read = |at: u64, out: &mut [u8]| {
            let last = at.saturating_add(out.len() as u64);
            end.set(end.get().max(last));
            let given = self.arguments.get(at as usize..last as usize);
            given.inspect(|bytes| out.copy_from_slice(bytes)).is_some()
        };
        let string = |at: u64| {
            let known = self.strings.get(&at);
            if at != 0 && known.is_none() {
                missing.borrow_mut().push(at);
            }
            known.cloned().unwrap_or_default()
        };
        let (text, count) = printf(&self.format, 0, &read, &string);
        (text, count, end.get(), missing.into_inner())
    }
}

/// Prints all lanes' texts in order, once all strings that they need are there.
fn print(port: &mut Port<'_>) -> Result<(), Stop> {
    let format = |message: Vec<u8>| Lane { format: text(&message).to_vec(), ..Lane::default() };
    let mut lanes: Vec<Lane> = port.messages()?.into_iter().map(format).collect();
    let of =
        |lanes: &[Lane], lane: u32| lanes.get(lane as usize).map(Lane::shown).unwrap_or_default();
    port.send(|lane| words(of(&lanes, lane).2, 0))?;
    for (lane, message) in lanes.iter_mut().zip(port.messages()?) {
        lane.arguments = message;
    }
    loop {
        let wanted = |lane: u32| of(&lanes, lane).3.first().copied().unwrap_or(0);
        let all: HashMap<u32, u64> = port.lanes().map(|lane| (lane, wanted(lane))).collect();
        if all.values().all(|at| *at == 0) {
            break;
        }
        port.send(|lane| words(0, all.get(&lane).copied().unwrap_or(0)))?;
        for (n, message) in port.messages()?.into_iter().enumerate() {
            let at = all.get(&(n as u32)).copied().unwrap_or(0);
            if let (Some(lane), true) = (lanes.get_mut(n), at != 0) {
                lane.strings.insert(at, text(&message).to_vec());
            }
        }
    }
    let mut counts = HashMap::new();
    let mut whole = Vec::new();
    for lane in port.lanes() {
        let (text, count, ..) = of(&lanes, lane);
        whole.extend(text);
        counts.insert(lane, u64::from(count));
    }
    printed::push(&whole);
    port.send(|lane| words(counts.get(&lane).copied().unwrap_or(0), 0))
}

/// A message for each lane, as CUDA writes it.
fn assertion(port: &mut Port<'_>) -> Result<(), Stop> {
    let packets = port.packets()?;
    let (messages, files, functions) = (port.messages()?, port.messages()?, port.messages()?);
    for lane in port.lanes() {
        let n = lane as usize;
        let shown = |all: &[Vec<u8>]| {
            String::from_utf8_lossy(text(all.get(n).map_or(&[][..], Vec::as_slice))).into_owned()
        };
        let packet = packets.get(n).copied().unwrap_or_default();
        let word =
            |at: usize| packet.get(at / 2).map_or(0, |pair| (pair >> (32 * (at % 2))) as u32);
        let [line, bx, by, bz, tx, ty, tz] = [0, 1, 2, 3, 4, 5, 6].map(word);
        let (file, function, message) = (shown(&files), shown(&functions), shown(&messages));
        printed::assertion(&format!(
            "{file}:{line}: {function}: block: [{bx},{by},{bz}], thread: [{tx},{ty},{tz}] \
             Assertion `{message}` failed.\n"
        ));
    }
    port.send(|_| words(0, 0))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_are_those_that_others_have() {
        use cushim_rpc::layout::Opcode;
        assert_eq!(calls::MALLOC, Opcode::MALLOC.number());
        assert!(
            [calls::PRINT, calls::ASSERT, calls::FREE].iter().all(|n| Opcode::of(*n).is_none())
        );
    }

    #[test]
    fn a_lane_says_what_it_lacks() {
        let mut lane = Lane { format: b"%d %s|%s %f\n".to_vec(), ..Lane::default() };
        let (_, count, bytes, _) = lane.shown();
        assert_eq!((count, bytes), (4, 32));
        lane.arguments = [7u64, 0x1000, 0, 1.5f64.to_bits()].map(u64::to_le_bytes).concat();
        let (_, _, _, missing) = lane.shown();
        assert_eq!(missing, [0x1000]);
        lane.strings.insert(0x1000, b"text".to_vec());
        let (shown, count, _, missing) = lane.shown();
        assert_eq!((shown.as_slice(), count, missing.len()), (&b"7 text| 1.500000\n"[..], 4, 0));
    }
}
