//! The loop that replies to the device while kernels run.
//!
//! Owns: which port is next, sleeping while there is no request, how the loop ends. Must not know: what an opcode
//! means.

use std::time::{Duration, Instant};

use crate::error::Stop;
use crate::host::{End, Host, Server};
use crate::ops;
use crate::port::Line;

/// How long the server polls without a request before it sleeps.
const BUSY: Duration = Duration::from_micros(25);
/// How long it sleeps at a time.
const SLEEP: Duration = Duration::from_micros(250);

impl<H: Host> Server<H> {
    /// Serves until [`Line::end`] was called and nothing is left to do, or the program ends itself.
    pub fn serve(&mut self, line: &Line) -> End {
        let mut start = 0;
        let mut idle: Option<Instant> = None;
        loop {
            // Read before the ports, so that no request before the end is missed.
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
                // The kernel that asked has ended; other requests may still be served.
                Err(Stop::Gone) => {}
                Err(Stop::Exit(status)) => return End::Exit(status),
                Err(Stop::Abort) => return End::Abort,
                Err(Stop::Fault(fault)) => return End::Fault(fault),
            }
        }
    }
}
