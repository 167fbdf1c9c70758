//! Requests of kernels to their host: printf, malloc, free, assert.
//!
//! Owns the host-call buffer of a ring (LLVM's RPC protocol, [`cushim_rpc`]) and the thread that replies while
//! kernels that may make requests are running. The client is in device memory, because its locks need atomic
//! operations there; the buffer is in fine-grained host memory. Must not know: packets, streams.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex};

use cushim_accel::Failure;
use cushim_accel::locks::{lock, wait};
use cushim_accel::queue::spawn;
use cushim_rpc::files::Streams;
use cushim_rpc::layout::CLIENT_SIZE;
use cushim_rpc::{Allow, End, Line, Server, Shape};

use crate::answers::Answers;
use crate::flight::Flights;
use crate::heap::Heap;
use crate::memory::Memory;

/// The most waves that call the host at a time; others wait.
const PORTS: u32 = 256;

/// The buffer and the thread of one ring.
pub struct Calls {
    shared: Arc<Shared>,
}

struct Shared {
    memory: Arc<Memory>,
    heap: Arc<Heap>,
    /// The work under way in the ring: ended if its calls can no longer be served.
    flights: Arc<Flights>,
    /// An assertion has failed.
    asserted: Arc<AtomicBool>,
    line: Line,
    /// Memory of the host.
    buffer: u64,
    /// Memory of the device.
    client: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Kernels under way that may call the host.
    kernels: usize,
    started: bool,
    closed: bool,
    /// The thread is gone.
    ended: bool,
}

/// Exists as long as a kernel is under way that may call the host.
pub struct Asking {
    shared: Arc<Shared>,
}

impl Calls {
    /// A buffer for waves of this many lanes, without a thread yet.
    ///
    /// # Errors
    /// The runtime's.
    pub fn new(
        memory: &Arc<Memory>,
        heap: &Arc<Heap>,
        (device, lanes): (usize, u32),
        flights: &Arc<Flights>,
        asserted: &Arc<AtomicBool>,
    ) -> Result<Calls, Failure> {
        let odd = || Failure::Device(format!("a GPU with waves of {lanes} lanes"));
        let shape = Shape::new(PORTS, lanes).ok_or_else(odd)?;
        let buffer = memory.take(memory.fine(), shape.size() as u64)?;
        let client =
            memory.take_of(device, CLIENT_SIZE as u64).inspect_err(|_| memory.give(buffer))?;
        let place: *mut u8 = std::ptr::with_exposed_provenance_mut(buffer as usize);
        // SAFETY: host memory of at least that size, not used elsewhere, which lives as long as
        // `Shared`.
        let line = unsafe {
            place.write_bytes(0, shape.size());
            Line::new(place, shape)
        };
        let shared = Arc::new(Shared {
            memory: memory.clone(),
            heap: heap.clone(),
            flights: flights.clone(),
            asserted: asserted.clone(),
            line,
            buffer,
            client,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let bytes = shape.client(buffer);
        // The client is not in the table of memory.
        memory.write_device(client, &bytes)?;
        Ok(Calls { shared })
    }

    /// Starts serving; returns the address of the client for kernels.
    ///
    /// # Errors
    /// A thread could not be started.
    pub fn begin(&self) -> Result<(u64, Asking), Failure> {
        let shared = &self.shared;
        let mut state = lock(&shared.state);
        if !state.started {
            let own = shared.clone();
            state.started = spawn("cuda-calls", move || own.serve());
            if !state.started {
                return Err(Failure::OutOfMemory);
            }
        }
        state.kernels += 1;
        if state.kernels == 1 {
            shared.line.begin();
            shared.changed.notify_all();
        }
        Ok((shared.client, Asking { shared: shared.clone() }))
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let mut state = lock(&self.shared.state);
        state.kernels = state.kernels.saturating_sub(1);
        if state.kernels == 0 {
            self.shared.line.end();
        }
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        let shared = &self.shared;
        let mut state = lock(&shared.state);
        state.closed = true;
        shared.line.end();
        shared.changed.notify_all();
        // The runtime may be shut down next.
        while state.started && !state.ended {
            state = wait(&shared.changed, state);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.memory.give(self.client);
        self.memory.give(self.buffer);
    }
}

impl Shared {
    fn serve(self: Arc<Shared>) {
        let own = self.clone();
        let served = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| own.answer()));
        if served.is_err() {
            self.give_up("internal error in cushim's answers to kernels");
        }
        let mut state = lock(&self.state);
        state.ended = true;
        self.changed.notify_all();
        drop(state);
    }

    fn answer(&self) {
        let answers = Answers::new(&self.memory, &self.heap, &self.asserted);
        let mut server = Server::new(answers, Streams::of_process(), Allow::default());
        loop {
            let mut state = lock(&self.state);
            while state.kernels == 0 && !state.closed {
                state = wait(&self.changed, state);
            }
            if state.closed {
                return;
            }
            drop(state);
            match server.serve(&self.line) {
                End::Done => {}
                End::Fault(fault) => return self.give_up(&fault.to_string()),
                End::Exit(_) | End::Abort => return self.give_up("a kernel ends the program"),
            }
        }
    }

    /// Calls are no longer served: work under way in the ring cannot end by itself.
    fn give_up(&self, why: &str) {
        self.flights.fail(|_| Failure::Launch(format!("what a kernel asks of its host: {why}")));
    }
}
