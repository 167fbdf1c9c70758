//! The conversation of printf: the format, then the arguments, then each string that an argument points to.
//!
//! Owns the order of its packets. Must not know: what formats mean ([`format`](crate::format)), or how values are
//! printed.

use crate::error::Stop;
use crate::files::{Standard, Stream};
use crate::format::{self, Part, Value};
use crate::host::{Host, Server};
use crate::ops::{streams, word};
use crate::port::Port;
use crate::render::render;

/// Prints to a standard stream. `packed`: arguments are not aligned.
pub(crate) fn standard<H: Host>(
    server: &mut Server<H>,
    port: &mut Port<'_>,
    which: Standard,
    packed: bool,
) -> Result<(), Stop> {
    let stream = server.streams.standard(which);
    print(port, &[Some(stream); 64], packed)
}

/// Prints to the stream that each lane names first.
pub(crate) fn stream<H: Host>(
    server: &mut Server<H>,
    port: &mut Port<'_>,
    packed: bool,
) -> Result<(), Stop> {
    let streams = streams(server, port)?;
    print(port, &streams, packed)
}

/// The text of one lane.
#[derive(Default)]
struct Lane<'a> {
    parts: Vec<Part<'a>>,
    values: Vec<Value>,
    /// Addresses of strings on the device, in order; 0 for a null pointer.
    addresses: Vec<u64>,
    strings: Vec<Option<Vec<u8>>>,
}

fn print(port: &mut Port<'_>, to: &[Option<Stream>; 64], packed: bool) -> Result<(), Stop> {
    let formats = port.messages()?;
    let mut lanes: Vec<Lane<'_>> = (0..64).map(|_| Lane::default()).collect();
    for lane in port.lanes() {
        let lane = lane as usize;
        lanes[lane].parts = format::parse(&formats[lane]).map_err(Stop::fault)?;
    }
    port.send(|lane| word(format::size(&lanes[lane as usize].parts, packed)))?;
    let arguments = port.messages()?;
    for index in port.lanes() {
        let lane = &mut lanes[index as usize];
        let given = &arguments[index as usize];
        lane.values = format::values(&lane.parts, given, packed).ok_or_else(|| {
            let expected = format::size(&lane.parts, packed);
            Stop::fault(format!("{} bytes of arguments, expected {expected}", given.len()))
        })?;
        lane.addresses = addresses(lane);
    }
    strings(port, &mut lanes)?;
    let mut answers = [0; 64];
    let mut left = port.most() as usize;
    for lane in port.lanes() {
        let Lane { parts, values, strings, .. } = &lanes[lane as usize];
        let text = render(parts, values, strings, left).map_err(Stop::fault)?;
        left -= text.len();
        let written = to[lane as usize].map_or(0, |stream| stream.write(&text));
        // C: the number of bytes, or a negative one where they were not written.
        answers[lane as usize] = if written == text.len() as u64 { written } else { u64::MAX };
    }
    port.send(|lane| word(answers[lane as usize]))
}

/// The addresses of a lane's strings.
fn addresses(lane: &Lane<'_>) -> Vec<u64> {
    let mut values = lane.values.iter();
    let mut addresses = Vec::new();
    for spec in format::specs(&lane.parts) {
        let stars = [spec.width, spec.precision];
        for _ in stars.into_iter().filter(|count| *count == format::Count::Star) {
            values.next();
        }
        if spec.letter == b'%' {
            continue;
        }
        if let (Some(Value::Long(address)), b's') = (values.next(), spec.letter) {
            addresses.push(*address);
        }
    }
    addresses
}

/// Requests the strings: the first of all lanes, then the second, and so on. For a lane without
/// more strings, address 0 is requested, and it sends nothing.
fn strings(port: &mut Port<'_>, lanes: &mut [Lane<'_>]) -> Result<(), Stop> {
    // Bytes of all messages of this printf; each message has its own limit.
    let mut sum = 0u64;
    loop {
        let mut wanted = [0; 64];
        for lane in port.lanes() {
            let Lane { addresses, strings, .. } = &mut lanes[lane as usize];
            while addresses.get(strings.len()) == Some(&0) {
                strings.push(None);
            }
            wanted[lane as usize] = addresses.get(strings.len()).copied().unwrap_or(0);
        }
        if wanted == [0; 64] {
            return Ok(());
        }
        port.send(|lane| {
            let mut packet = word(0);
            packet[1] = wanted[lane as usize];
            packet
        })?;
        let messages = port.messages()?;
        for (lane, message) in messages.into_iter().enumerate() {
            if wanted[lane] != 0 {
                sum += message.len() as u64;
                lanes[lane].strings.push(Some(message));
            }
        }
        if sum > port.most() {
            return Err(Stop::fault(format!("strings of {sum} bytes in one printf")));
        }
    }
}
