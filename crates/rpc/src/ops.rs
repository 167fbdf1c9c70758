//! The implementation of each opcode.
//!
//! Owns: the order of each opcode's packets, and which opcodes need a permission. Must not know: how packets are
//! transferred. The order is that of LLVM's `rpc_server.h`.

use std::ffi::CString;

use crate::error::Stop;
use crate::files::{Standard, Stream};
use crate::host::{Host, Server};
use crate::layout::{OLD_CLIENT, Opcode, WORDS};
use crate::port::{Packet, Port};
use crate::print;

/// Serves one conversation.
///
/// # Errors
/// Why it ended before its end.
pub fn serve<H: Host>(server: &mut Server<H>, port: &mut Port<'_>) -> Result<(), Stop> {
    if port.mask() == 0 {
        return Err(Stop::fault(format!("opcode {:#x}: no lane asks for it", port.opcode())));
    }
    if let Some(served) = server.host.user(port) {
        return served;
    }
    let number = port.opcode();
    let Some(opcode) = Opcode::of(number) else {
        let old = if number < 0x1_0000 {
            format!(
                "; opcodes before LLVM 20, whose client is {OLD_CLIENT}, had no letter, and are not known"
            )
        } else {
            String::new()
        };
        return Err(Stop::fault(format!(
            "the program asks for opcode {number:#x}, which neither LLVM's C library has nor a library of --rpc{old}"
        )));
    };
    perform(server, port, opcode).map_err(|stop| match stop {
        Stop::Fault(fault) => Stop::fault(format!("{}: {fault}", opcode.name())),
        stop => stop,
    })
}

fn perform<H: Host>(
    server: &mut Server<H>,
    port: &mut Port<'_>,
    opcode: Opcode,
) -> Result<(), Stop> {
    use Opcode::*;
    match opcode {
        NOOP => port.packets().map(drop),
        EXIT => Err(Stop::Exit(ended(port)?)),
        ABORT => ended(port).and(Err(Stop::Abort)),
        WRITE_TO_STDOUT | WRITE_TO_STDOUT_NEWLINE => write(server, port, Standard::Out, opcode),
        WRITE_TO_STDERR => write(server, port, Standard::Error, opcode),
        WRITE_TO_STREAM => write_to_stream(server, port),
        READ_FROM_STREAM => read(server, port),
        READ_FGETS => read_line(server, port),
        OPEN_FILE => open(server, port),
        CLOSE_FILE => answer(port, |packet| match server.streams.close(packet[0]) {
            Some(status) => Ok(status as u64),
            None => Err(no_stream(packet[0])),
        }),
        MALLOC => answer(port, |packet| Ok(server.host.allocate(packet[0]))),
        FREE => free(server, port),
        HOST_CALL => call(server, port),
        FEOF => on_stream(server, port, 0, |stream, _| stream.at_end() as u64),
        FERROR => on_stream(server, port, 0, |stream, _| stream.has_error() as u64),
        CLEARERR => on_stream(server, port, 0, |stream, _| {
            stream.clear();
            0
        }),
        FSEEK => on_stream(server, port, 0, |stream, packet| {
            stream.seek(packet[1] as i64, packet[2] as i32) as u64
        }),
        FTELL => on_stream(server, port, 0, |stream, _| stream.tell() as u64),
        FFLUSH => on_stream(server, port, 0, |stream, _| stream.flush() as u64),
        UNGETC => {
            on_stream(server, port, 1, |stream, packet| stream.unget(packet[0] as i32) as u64)
        }
        PRINTF_TO_STDOUT => print::standard(server, port, Standard::Out, false),
        PRINTF_TO_STDERR => print::standard(server, port, Standard::Error, false),
        PRINTF_TO_STREAM => print::stream(server, port, false),
        PRINTF_TO_STDOUT_PACKED => print::standard(server, port, Standard::Out, true),
        PRINTF_TO_STDERR_PACKED => print::standard(server, port, Standard::Error, true),
        PRINTF_TO_STREAM_PACKED => print::stream(server, port, true),
        REMOVE => remove(server, port),
        RENAME => rename(server, port),
        SYSTEM => system(server, port),
    }
}

/// The device named an unknown stream.
pub(crate) fn no_stream(number: u64) -> Stop {
    Stop::fault(format!("the program has no open stream {number:#x}"))
}

/// A packet with this first word.
pub(crate) fn word(value: u64) -> Packet {
    let mut packet = [0; WORDS];
    packet[0] = value;
    packet
}

/// Receives a packet of each lane and replies to each with a word. Lanes are served in order, and all before any
/// reply.
fn answer(
    port: &mut Port<'_>,
    mut one: impl FnMut(&Packet) -> Result<u64, Stop>,
) -> Result<(), Stop> {
    let mut answers = [0; 64];
    port.recv(|lane, packet| {
        answers[lane as usize] = one(&packet)?;
        Ok(())
    })?;
    port.send(|lane| word(answers[lane as usize]))
}

fn on_stream<H: Host>(
    server: &mut Server<H>,
    port: &mut Port<'_>,
    field: usize,
    what: impl Fn(Stream, &Packet) -> u64,
) -> Result<(), Stop> {
    answer(port, |packet| {
        let stream = server.streams.find(packet[field]).ok_or_else(|| no_stream(packet[field]))?;
        Ok(what(stream, packet))
    })
}

/// Both sides synchronise first, so that everything before is done; then the first lane's status
/// counts.
fn ended(port: &mut Port<'_>) -> Result<i32, Stop> {
    port.packets()?;
    port.send(|_| word(0))?;
    let packets = port.packets()?;
    Ok(port.lanes().next().map_or(0, |lane| packets[lane as usize][0] as i32))
}

fn write<H: Host>(
    server: &mut Server<H>,
    port: &mut Port<'_>,
    which: Standard,
    opcode: Opcode,
) -> Result<(), Stop> {
    let stream = server.streams.standard(which);
    let messages = port.messages()?;
    port.send(|lane| {
        let mut written = stream.write(&messages[lane as usize]);
        if opcode == Opcode::WRITE_TO_STDOUT_NEWLINE {
            written += stream.write(b"\n");
        }
        word(written)
    })
}

fn write_to_stream<H: Host>(server: &mut Server<H>, port: &mut Port<'_>) -> Result<(), Stop> {
    let streams = streams(server, port)?;
    let messages = port.messages()?;
    port.send(|lane| {
        word(streams[lane as usize].map_or(0, |stream| stream.write(&messages[lane as usize])))
    })
}

/// A packet of each lane that names a stream.
pub(crate) fn streams<H: Host>(
    server: &Server<H>,
    port: &mut Port<'_>,
) -> Result<[Option<Stream>; 64], Stop> {
    let mut streams = [None; 64];
    port.recv(|lane, packet| {
        let stream = server.streams.find(packet[0]).ok_or_else(|| no_stream(packet[0]))?;
        streams[lane as usize] = Some(stream);
        Ok(())
    })?;
    Ok(streams)
}

/// A packet of each lane with a size and a stream; returns what `read` reads from it.
fn reads<H: Host>(
    server: &Server<H>,
    port: &mut Port<'_>,
    read: impl Fn(Stream, u64) -> Vec<u8>,
) -> Result<Vec<Vec<u8>>, Stop> {
    let mut all = vec![Vec::new(); 64];
    let (mut sum, bound) = (0u64, port.most());
    port.recv(|lane, packet| {
        let [size, number, ..] = packet;
        let stream = server.streams.find(number).ok_or_else(|| no_stream(number))?;
        sum = sum.saturating_add(size);
        if sum > bound {
            return Err(Stop::fault(format!("{size} bytes at once, expected at most {bound}")));
        }
        all[lane as usize] = read(stream, size);
        Ok(())
    })?;
    Ok(all)
}

fn read<H: Host>(server: &mut Server<H>, port: &mut Port<'_>) -> Result<(), Stop> {
    let all = reads(server, port, Stream::read)?;
    port.send_messages(&all)?;
    port.send(|lane| word(all[lane as usize].len() as u64))
}

fn read_line<H: Host>(server: &mut Server<H>, port: &mut Port<'_>) -> Result<(), Stop> {
    let all = reads(server, port, Stream::line)?;
    port.send_messages(&all)
}

fn open<H: Host>(server: &mut Server<H>, port: &mut Port<'_>) -> Result<(), Stop> {
    let paths = texts(port)?;
    let mut answers = [0; 64];
    port.recv(|lane, packet| {
        let path = &paths[lane as usize];
        permitted(server.allow.files, "files", &format!("opens {path:?}"))?;
        let bytes: Vec<u8> = packet.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mode = until_nul(&bytes);
        // C's library does more than open a file for other letters.
        let known = mode.to_bytes().iter().all(|byte| b"rwa+bxet".contains(byte));
        if !known || mode.is_empty() || mode.to_bytes().len() >= bytes.len() {
            return Err(Stop::fault(format!(
                "opens {path:?} with the mode {mode:?}, expected rwa+bx"
            )));
        }
        answers[lane as usize] = server.streams.open(path, &mode);
        Ok(())
    })?;
    port.send(|lane| word(answers[lane as usize]))
}

fn free<H: Host>(server: &mut Server<H>, port: &mut Port<'_>) -> Result<(), Stop> {
    port.recv(|_, [address, ..]| match address == 0 || server.host.free(address) {
        true => Ok(()),
        false => Err(Stop::fault(format!("{address:#x}, which malloc did not give, or was freed"))),
    })
}

fn call<H: Host>(server: &mut Server<H>, port: &mut Port<'_>) -> Result<(), Stop> {
    let mut arguments = port.messages()?;
    let mut answers = [0; 64];
    port.recv(|lane, [function, ..]| {
        let answer = server.host.call(function, &mut arguments[lane as usize]);
        answers[lane as usize] = answer.ok_or_else(|| {
            Stop::fault(format!("{function:#x} is no function that a library of --rpc gave"))
        })?;
        Ok(())
    })?;
    port.send(|lane| word(answers[lane as usize]))
}

fn permitted(is: bool, what: &str, does: &str) -> Result<(), Stop> {
    match is {
        true => Ok(()),
        false => Err(Stop::fault(format!("the program {does}, which --allow {what} would let it"))),
    }
}

fn until_nul(bytes: &[u8]) -> CString {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    // There is no NUL before the first one.
    CString::new(&bytes[..end]).unwrap_or_default()
}

/// A message of each lane, as a string.
fn texts(port: &mut Port<'_>) -> Result<Vec<CString>, Stop> {
    Ok(port.messages()?.iter().map(|message| until_nul(message)).collect())
}

fn remove<H: Host>(server: &mut Server<H>, port: &mut Port<'_>) -> Result<(), Stop> {
    let paths = texts(port)?;
    let mut answers = [0; 64];
    for lane in port.lanes() {
        let path = &paths[lane as usize];
        permitted(server.allow.files, "files", &format!("removes {path:?}"))?;
        // SAFETY: a string.
        answers[lane as usize] = unsafe { libc::remove(path.as_ptr()) } as u64;
    }
    port.send(|lane| word(answers[lane as usize]))
}

fn rename<H: Host>(server: &mut Server<H>, port: &mut Port<'_>) -> Result<(), Stop> {
    let (from, to) = (texts(port)?, texts(port)?);
    let mut answers = [0; 64];
    for lane in port.lanes() {
        let (from, to) = (&from[lane as usize], &to[lane as usize]);
        permitted(server.allow.files, "files", &format!("renames {from:?} to {to:?}"))?;
        // SAFETY: two strings.
        answers[lane as usize] = unsafe { libc::rename(from.as_ptr(), to.as_ptr()) } as u64;
    }
    port.send(|lane| word(answers[lane as usize]))
}

fn system<H: Host>(server: &mut Server<H>, port: &mut Port<'_>) -> Result<(), Stop> {
    let commands = texts(port)?;
    let mut answers = [0; 64];
    for lane in port.lanes() {
        let command = &commands[lane as usize];
        permitted(server.allow.system, "system", &format!("runs the command {command:?}"))?;
        // SAFETY: a string.
        answers[lane as usize] = unsafe { libc::system(command.as_ptr()) } as u64;
    }
    port.send(|lane| word(answers[lane as usize]))
}
