//! What the server needs of whoever runs the kernels, and what it gives back.
//!
//! Must not know: ports' turns, what an opcode means.

use crate::error::{Fault, Stop};
use crate::files::Streams;
use crate::port::Port;

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
    Fault(Fault),
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
}
