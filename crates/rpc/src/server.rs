//! The loop that answers the device while kernels run.
//!
//! Owns: which port is next, sleeping while nobody asks, how it ends. Must not know: what an opcode means.

use std::time::{Duration, Instant};

use crate::files::Streams;
use crate::port::{Line, Port};
use crate::{Stop, ops};

/// So long nobody asks before the server sleeps.
const BUSY: Duration = Duration::from_micros(25);
/// So long it sleeps at a time.
const SLEEP: Duration = Duration::from_micros(250);

/// What reaches outside of the program: refused unless the user allows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allow {
    /// Opening, removing and renaming files.
    pub files: bool,
    /// Running commands.
    pub system: bool,
}

/// What the server needs of whoever runs the kernels. All is called by the thread that serves.
pub trait Host {
    /// Device memory; 0 where there is none. It must not wait for a kernel.
    fn allocate(&mut self, bytes: u64) -> u64;
    /// Gives memory back; false where [`Host::allocate`] did not give it. It must not wait for a kernel.
    fn free(&mut self, address: u64) -> bool;
    /// Calls the function that the device knows by this address, with a copy of the arguments; none where there is no
    /// such function.
    fn call(&mut self, function: u64, arguments: &mut [u8]) -> Option<u64>;
    /// Serves an opcode that a user registered; none for another. What was not received stays unreceived.
    fn user(&mut self, port: &mut Port<'_>) -> Option<Result<(), Stop>>;
}

/// How serving ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The kernels ended, and everything they asked for was done.
    Done,
    /// The program called exit.
    Exit(i32),
    /// The program called abort.
    Abort,
    /// The device did what it must not.
    Fault(crate::Fault),
}

/// Answers the device.
#[derive(Debug)]
pub struct Server<H> {
    pub(crate) host: H,
    pub(crate) streams: Streams,
    pub(crate) allow: Allow,
}

impl<H: Host> Server<H> {
    /// A server that does what `allow` says.
    pub fn new(host: H, streams: Streams, allow: Allow) -> Self {
        Server { host, streams, allow }
    }

    /// Serves until [`Line::end`] was called and nothing is left to do, or the program ends itself.
    pub fn serve(&mut self, line: &Line) -> End {
        let mut start = 0;
        let mut idle: Option<Instant> = None;
        loop {
            // Before the look at the ports, so that nothing that came before the end is missed.
            let ended = line.has_ended();
            let Some(index) = line.asked(start) else {
                if ended {
                    return End::Done;
                }
                if line.is_shared() && idle.get_or_insert_with(Instant::now).elapsed() < BUSY {
                    std::thread::yield_now();
                } else {
                    line.pause(SLEEP);
                }
                continue;
            };
            idle = None;
            start = index + 1;
            let mut port = line.open(index);
            match ops::serve(self, &mut port) {
                Ok(()) => port.close(),
                // Whoever asked is no more; others may have asked for what can still be done.
                Err(Stop::Gone) => {}
                Err(Stop::Exit(status)) => return End::Exit(status),
                Err(Stop::Abort) => return End::Abort,
                Err(Stop::Fault(fault)) => return End::Fault(fault),
            }
        }
    }
}
