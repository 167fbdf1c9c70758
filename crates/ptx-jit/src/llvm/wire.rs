//! The protocol between a program and the process with LLVM's library.
//!
//! Owns the messages as bytes: each is its length, and that many bytes. First the process reports its build and
//! library; then it receives a processor's name and LLVM IR, and answers with an object file or an error. Must not know
//! how either runs.

use std::ffi::CStr;
use std::io::{Error, ErrorKind, Read, Result, Write};

/// Identifies the sources of both processes.
pub(super) const BUILD: &str = env!("CUSHIM_JIT_SOURCES");
/// The argument that makes `cushim` the other process.
pub(super) const ARGUMENT: &CStr = c"__llvm";
/// The most bytes of a message.
const MOST: usize = 64 << 20;

/// The LLVM library in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Major, minor, patch.
    pub version: [u32; 3],
    /// Its path.
    pub path: String,
}

/// LLVM's output for one kernel.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Made {
    /// An object file.
    pub(super) object: Vec<u8>,
    /// Stack bytes of its function.
    pub(super) stack: u32,
}

type Answer<T> = std::result::Result<T, String>;

/// Sends one message.
pub(super) fn send(to: &mut impl Write, message: &[u8]) -> Result<()> {
    to.write_all(&(message.len() as u64).to_le_bytes())?;
    to.write_all(message)?;
    to.flush()
}

/// Waits for one message.
pub(super) fn receive(from: &mut impl Read) -> Result<Vec<u8>> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > MOST {
        return Err(Error::new(ErrorKind::InvalidData, "a message that is too long"));
    }
    let mut message = Vec::new();
    from.take(length as u64).read_to_end(&mut message)?;
    match message.len() == length {
        true => Ok(message),
        false => Err(ErrorKind::UnexpectedEof.into()),
    }
}

/// An answer as bytes: 0 and its bytes, or 1 and the error.
fn answer(bytes: Answer<Vec<u8>>) -> Vec<u8> {
    let (first, rest) = match bytes {
        Ok(bytes) => (0, bytes),
        Err(why) => (1, why.into_bytes()),
    };
    [vec![first], rest].concat()
}

fn answered(message: &[u8]) -> Answer<&[u8]> {
    match message.split_first() {
        Some((0, rest)) => Ok(rest),
        Some((1, why)) => Err(String::from_utf8_lossy(why).into_owned()),
        _ => Err("an answer that is none".into()),
    }
}

/// The process's first message: its build, and its library.
pub(super) fn hello(build: &str, library: Answer<&Library>) -> Vec<u8> {
    answer(library.map(|Library { version: [a, b, c], path }| {
        format!("{build}\n{a}\n{b}\n{c}\n{path}").into_bytes()
    }))
}

/// Reads [`hello`]'s message.
///
/// # Errors
/// Why there is no library, or that the process is of another build.
pub(super) fn read_hello(build: &str, message: &[u8]) -> Answer<Library> {
    let text = String::from_utf8_lossy(answered(message)?).into_owned();
    let mut lines = text.splitn(5, '\n');
    if lines.next() != Some(build) {
        return Err("the program `cushim` beside the library is of another build".into());
    }
    let mut number = || lines.next()?.parse::<u32>().ok();
    let version = (|| Some([number()?, number()?, number()?]))();
    match (version, lines.next()) {
        (Some(version), Some(path)) => Ok(Library { version, path: path.into() }),
        _ => Err("an answer without a version".into()),
    }
}

/// The answer to a request.
pub(super) fn made(made: Answer<Made>) -> Vec<u8> {
    answer(made.map(|made| [&made.stack.to_le_bytes()[..], &made.object].concat()))
}

/// Reads [`made`]'s message.
///
/// # Errors
/// LLVM's error.
pub(super) fn read_made(message: &[u8]) -> Answer<Made> {
    let (stack, object) =
        answered(message)?.split_first_chunk().ok_or("an answer without an object file")?;
    Ok(Made { object: object.to_vec(), stack: u32::from_le_bytes(*stack) })
}

/// Reads arbitrary bytes as messages; they only cause errors.
#[doc(hidden)]
pub fn read_any(bytes: &[u8]) {
    let mut from = bytes;
    while let Ok(message) = receive(&mut from) {
        let _ = read_hello("build", &message);
        let _ = read_made(&message);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_read() {
        let library = Library { version: [19, 1, 7], path: "/a b/lib\nLLVM.so".into() };
        let object = Made { object: vec![1, 2, 3], stack: 77 };
        let again = Made { object: vec![1, 2, 3], stack: 77 };
        let mut bytes = Vec::new();
        send(&mut bytes, &hello("build", Ok(&library))).unwrap();
        send(&mut bytes, &made(Ok(object))).unwrap();
        send(&mut bytes, &made(Err("no".into()))).unwrap();
        let mut from = &bytes[..];
        assert_eq!(read_hello("build", &receive(&mut from).unwrap()), Ok(library.clone()));
        assert_eq!(read_made(&receive(&mut from).unwrap()), Ok(again));
        assert_eq!(read_made(&receive(&mut from).unwrap()), Err("no".into()));
        assert!(receive(&mut from).is_err());
        let other = read_hello("other", &hello("build", Ok(&library)));
        assert!(other.is_err_and(|why| why.contains("another build")));
        assert_eq!(read_hello("build", &hello("build", Err("none".into()))), Err("none".into()));
        // A truncated message is refused, and its length allocates no memory.
        (0..bytes.len()).for_each(|end| read_any(&bytes[..end]));
        assert!(receive(&mut &[0xff; 64][..]).is_err());
        assert!(receive(&mut &[5, 0, 0, 0, 0, 0, 0, 0, 1][..]).is_err());
    }
}
