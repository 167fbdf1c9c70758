//! What a program and the process that has LLVM's library say to each other.
//!
//! Owns the messages as bytes: each is its length, and so many. First the other process says what it is, then it is given a
//! processor's name and a text, and answers with an object file; or why it does not. Must not know how either runs.

use std::ffi::CStr;
use std::io::{Error, ErrorKind, Read, Result, Write};

/// What both processes are built of.
pub(super) const BUILD: &str = env!("CUSHIM_JIT_SOURCES");
/// The argument that makes `cushim` the other process.
pub(super) const ARGUMENT: &CStr = c"__llvm";
/// The most bytes of a message.
const MOST: usize = 64 << 20;

/// The library that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Major, minor, patch.
    pub version: [u32; 3],
    /// Its file.
    pub path: String,
}

/// What LLVM made of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Made {
    /// An object file.
    pub(super) object: Vec<u8>,
    /// Bytes of the stack that its function takes.
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

/// An answer as bytes: whether it is one, and its bytes, or the reason.
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

/// What the other process is: its build, and its library.
pub(super) fn hello(build: &str, library: Answer<&Library>) -> Vec<u8> {
    answer(library.map(|Library { version: [a, b, c], path }| {
        format!("{build}\n{a}\n{b}\n{c}\n{path}").into_bytes()
    }))
}

/// Reads that.
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

/// What was made of a text.
pub(super) fn made(made: Answer<Made>) -> Vec<u8> {
    answer(made.map(|made| [&made.stack.to_le_bytes()[..], &made.object].concat()))
}

/// Reads that.
///
/// # Errors
/// What LLVM said.
pub(super) fn read_made(message: &[u8]) -> Answer<Made> {
    let (stack, object) =
        answered(message)?.split_first_chunk().ok_or("an answer without an object file")?;
    Ok(Made { object: object.to_vec(), stack: u32::from_le_bytes(*stack) })
}

/// Reads bytes as whatever may be sent; nothing comes of them but errors.
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
        // Whatever is cut off is no message, and no answer of which memory is taken.
        (0..bytes.len()).for_each(|end| read_any(&bytes[..end]));
        assert!(receive(&mut &[0xff; 64][..]).is_err());
        assert!(receive(&mut &[5, 0, 0, 0, 0, 0, 0, 0, 1][..]).is_err());
    }
}
