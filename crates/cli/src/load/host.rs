//! Host services for the program: memory, and functions of the user's libraries.
//!
//! Owns: the memory that host and device share, and the device's allocations. Must not know: opcodes.

use std::collections::HashSet;

use cushim_rpc::files::Streams;
use cushim_rpc::layout::{CLIENT, CLIENT_SIZE, OLD_CLIENT};
use cushim_rpc::{Allow, Host, Line, Port, Server, Shape, Stop};

use super::user::Users;
use crate::driver::{Driver, Module, Stream};
use crate::{Error, complain};

/// The host's end of the RPC connection.
#[derive(Debug)]
pub struct Client {
    /// The shared memory.
    pub line: Line,
}

impl Client {
    /// Connects the program; none where the image has no client.
    ///
    /// # Errors
    /// The driver's; a client of an unknown form.
    pub fn make(driver: &Driver, module: Module, shape: Shape) -> Result<Option<Self>, Error> {
        let mut found = None;
        for name in [CLIENT, OLD_CLIENT] {
            found = found.or(driver.variable(module, name)?.map(|place| (name, place)));
        }
        let Some((name, (at, size))) = found else { return Ok(None) };
        let at = match size {
            CLIENT_SIZE => at,
            // Older releases: a pointer to it.
            8 => match u64::from_le_bytes(driver.read(at, 8)?.try_into().unwrap_or_default()) {
                0 => return Err(Error::Usage(format!("{name} of the image points nowhere"))),
                pointer => pointer,
            },
            other => {
                return Err(Error::Usage(format!(
                    "{name} of the image has {other} bytes, expected {CLIENT_SIZE}, or a pointer"
                )));
            }
        };
        let base = driver.host_memory(shape.size())?;
        driver.write(at, &shape.client(base as u64))?;
        // SAFETY: the driver returned this many zeroed bytes, aligned to pages, which are never
        // freed.
        Ok(Some(Client { line: unsafe { Line::new(base, shape) } }))
    }
}

/// The services that the server needs from the host.
#[derive(Debug)]
pub struct LoadHost<'a> {
    driver: &'a Driver,
    stream: Stream,
    given: HashSet<u64>,
    users: Users,
}

/// A server with this process's streams.
///
/// # Errors
/// The driver's.
pub fn server<'a>(
    driver: &'a Driver,
    users: Users,
    allow: Allow,
) -> Result<Server<LoadHost<'a>>, Error> {
    // Not the stream of the kernel: an allocation would wait there until the kernel ends.
    let stream = driver.stream()?;
    let host = LoadHost { driver, stream, given: HashSet::new(), users };
    Ok(Server::new(host, Streams::of_process(), allow))
}

impl Host for LoadHost<'_> {
    fn allocate(&mut self, bytes: u64) -> u64 {
        match self.driver.allocate_meanwhile(bytes, self.stream) {
            Ok(Some(at)) => {
                self.given.insert(at);
                at
            }
            Ok(None) => 0,
            Err(error) => {
                complain(&format!("malloc of {bytes} bytes: {error}"));
                0
            }
        }
    }

    fn free(&mut self, address: u64) -> bool {
        if !self.given.remove(&address) {
            return false;
        }
        if let Err(error) = self.driver.free_meanwhile(address, self.stream) {
            complain(&format!("free of {address:#x}: {error}"));
        }
        true
    }

    fn call(&mut self, function: u64, arguments: &mut [u8]) -> Option<u64> {
        self.users.call(function, arguments)
    }

    fn user(&mut self, port: &mut Port<'_>) -> Option<Result<(), Stop>> {
        self.users.serve(port)
    }
}
