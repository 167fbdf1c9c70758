//! The interface between the server and the code that runs the kernels.
//!
//! Must not know: ports, what an opcode means.

use crate::error::{Fault, Stop};
use crate::files::Streams;
use crate::port::Port;

/// Actions outside of the program: refused unless the user allows them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allow {
    /// Opening, removing and renaming files.
    pub files: bool,
    /// Running commands.
    pub system: bool,
}

/// The services that the server needs from the code that runs kernels. The serving thread calls all
/// of it.
pub trait Host {
    /// Device memory; 0 where there is none. It must not wait for a kernel.
    fn allocate(&mut self, bytes: u64) -> u64;
    /// Frees memory; false where it is not from [`Host::allocate`]. It must not wait for a kernel.
    fn free(&mut self, address: u64) -> bool;
    /// Calls the function that the device knows by this address, with a copy of the arguments; none where there is no
    /// such function.
    fn call(&mut self, function: u64, arguments: &mut [u8]) -> Option<u64>;
    /// Serves an opcode that a user registered; none for another, without receiving anything.
    fn user(&mut self, port: &mut Port<'_>) -> Option<Result<(), Stop>>;
}

/// How serving ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The kernels ended, and all their requests were served.
    Done,
    /// The program called exit.
    Exit(i32),
    /// The program called abort.
    Abort,
    /// The device violated the protocol.
    Fault(Fault),
}

/// Serves the device.
#[derive(Debug)]
pub struct Server<H> {
    pub(crate) host: H,
    pub(crate) streams: Streams,
    pub(crate) allow: Allow,
}

impl<H: Host> Server<H> {
    /// A server that only does what `allow` permits.
    pub fn new(host: H, streams: Streams, allow: Allow) -> Self {
        Server { host, streams, allow }
    }
}
