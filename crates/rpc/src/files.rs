//! The device's streams: the host's standard streams, and files that the device opened.
//!
//! Owns: the numbers by which the device refers to streams, which are no addresses; the C `FILE` of each. Must not
//! know: opcodes or packets. A number that was never issued, or was closed, is a fault.

use std::collections::HashMap;
use std::ffi::{CStr, c_int, c_long};

use libc::FILE;

/// The lowest two bits of a device's stream: 1 standard input, 2 output, 3 error; 0 for an opened file.
const TAG: u64 = 3;

unsafe extern "C" {
    static stdin: *mut FILE;
    static stdout: *mut FILE;
    static stderr: *mut FILE;
    // <stdio_ext.h>, which glibc and musl have: what a stream allows, and its last operation.
    fn __freadable(file: *mut FILE) -> c_int;
    fn __fwritable(file: *mut FILE) -> c_int;
    fn __freading(file: *mut FILE) -> c_int;
    fn __fwriting(file: *mut FILE) -> c_int;
}

/// A stream of C's library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream(*mut FILE);

/// Which standard stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standard {
    /// Tag 1.
    In,
    /// Tag 2.
    Out,
    /// Tag 3.
    Error,
}

/// All streams of a device.
#[derive(Debug)]
pub struct Streams {
    standard: [Stream; 3],
    files: HashMap<u64, Stream>,
    next: u64,
}

// SAFETY: C's streams have locks of their own.
unsafe impl Send for Streams {}

impl Streams {
    /// With the standard streams of this process.
    pub fn of_process() -> Self {
        // SAFETY: C's library sets them before main, and they are not changed here.
        unsafe { Streams::over([stdin, stdout, stderr]) }
    }

    /// With other streams for input, output and error.
    ///
    /// # Safety
    /// They are open and stay open.
    pub unsafe fn over(standard: [*mut FILE; 3]) -> Self {
        Streams { standard: standard.map(Stream), files: HashMap::new(), next: 0x1000 }
    }

    /// A standard stream.
    pub fn standard(&self, which: Standard) -> Stream {
        let [input, output, error] = self.standard;
        match which {
            Standard::In => input,
            Standard::Out => output,
            Standard::Error => error,
        }
    }

    /// The stream that the device calls `number`.
    pub fn find(&self, number: u64) -> Option<Stream> {
        match number & TAG {
            0 => self.files.get(&number).copied(),
            tag => self.standard.get(tag as usize - 1).copied(),
        }
    }

    /// Opens a file; 0 where C's library fails.
    pub fn open(&mut self, path: &CStr, mode: &CStr) -> u64 {
        // SAFETY: two strings.
        let file = unsafe { libc::fopen(path.as_ptr(), mode.as_ptr()) };
        if file.is_null() {
            return 0;
        }
        let number = self.next;
        // A number is never reused, so that a closed stream is recognised.
        self.next += TAG + 1;
        self.files.insert(number, Stream(file));
        number
    }

    /// Closes a file; a standard stream is only flushed, because the host continues to use it. `None` if there is
    /// no such stream.
    pub fn close(&mut self, number: u64) -> Option<c_int> {
        let stream = self.find(number)?;
        match self.files.remove(&number) {
            // SAFETY: it was open, and has no number any more.
            Some(Stream(file)) => Some(unsafe { libc::fclose(file) }),
            None => Some(stream.flush()),
        }
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        for (_, Stream(file)) in self.files.drain() {
            // SAFETY: it is open, and no longer used elsewhere.
            unsafe { libc::fclose(file) };
        }
    }
}

macro_rules! asks {
    ($($(#[$doc:meta])* $name:ident = $function:ident -> $type:ty;)*) => {
        impl Stream {$(
            $(#[$doc])*
            pub fn $name(self) -> $type {
                // SAFETY: the stream is open: `Streams` only returns open ones.
                unsafe { libc::$function(self.0) }
            }
        )*}
    };
}

asks! {
    /// Whether its end was reached.
    at_end = feof -> c_int;
    /// Whether an error occurred.
    has_error = ferror -> c_int;
    /// Forgets both.
    clear = clearerr -> ();
    /// Its position.
    tell = ftell -> c_long;
    /// Writes buffered bytes.
    flush = fflush -> c_int;
}

impl Stream {
    /// C requires a positioning call between reading and writing (C17, 7.21.5.3, 7). A device may
    /// omit it, or put a byte back before the first write: then glibc would free the stream's
    /// buffer and still use it.
    fn turn(self, to_write: bool) {
        // SAFETY: an open stream.
        unsafe {
            let turns = match to_write {
                true => __freading(self.0) != 0 && __fwritable(self.0) != 0,
                false => __fwriting(self.0) != 0 && __freadable(self.0) != 0,
            };
            if turns {
                libc::fseek(self.0, 0, libc::SEEK_CUR);
            }
        }
    }

    /// Writes; returns how many bytes were written.
    pub fn write(self, bytes: &[u8]) -> u64 {
        self.turn(true);
        // SAFETY: an open stream and this many bytes.
        unsafe { libc::fwrite(bytes.as_ptr().cast(), 1, bytes.len(), self.0) as u64 }
    }

    /// Reads up to `size` bytes.
    pub fn read(self, size: u64) -> Vec<u8> {
        const STEP: usize = 64 << 10;
        self.turn(false);
        let mut bytes = Vec::new();
        loop {
            let begun = bytes.len();
            let step = usize::try_from(size).unwrap_or(usize::MAX).saturating_sub(begun).min(STEP);
            bytes.resize(begun + step, 0u8);
            let Some(to) = bytes.get_mut(begun..) else { return bytes };
            // SAFETY: an open stream and `step` bytes.
            let got = unsafe { libc::fread(to.as_mut_ptr().cast(), 1, step, self.0) };
            bytes.truncate(begun + got);
            if got < step || step == 0 {
                return bytes;
            }
        }
    }

    /// Reads a line of at most `size - 1` bytes, as fgets does, with a NUL after it; empty at the end.
    pub fn line(self, size: u64) -> Vec<u8> {
        self.turn(false);
        let mut bytes = Vec::new();
        while (bytes.len() as u64) + 1 < size && bytes.last() != Some(&b'\n') {
            // SAFETY: an open stream.
            match u8::try_from(unsafe { libc::fgetc(self.0) }) {
                Ok(byte) => bytes.push(byte),
                Err(_) => break,
            }
        }
        if !bytes.is_empty() || size == 1 {
            bytes.push(0);
        }
        bytes
    }

    /// Moves to another position, as fseek does.
    pub fn seek(self, to: i64, whence: i32) -> c_int {
        // SAFETY: an open stream; C's library checks the rest.
        unsafe { libc::fseek(self.0, to, whence) }
    }

    /// Puts a byte back; EOF for a stream that cannot be read, for which C's library has undefined
    /// behaviour.
    pub fn unget(self, byte: i32) -> c_int {
        // SAFETY: an open stream.
        if unsafe { __freadable(self.0) } == 0 {
            return libc::EOF;
        }
        self.turn(false);
        // SAFETY: an open stream, and one that can be read.
        unsafe { libc::ungetc(byte, self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that is closed at the end of the test's process.
    fn opened(path: &CStr, mode: &CStr) -> Stream {
        // SAFETY: two C strings.
        let file = unsafe { libc::fopen(path.as_ptr(), mode.as_ptr()) };
        assert!(!file.is_null());
        Stream(file)
    }

    #[test]
    fn a_byte_is_not_put_back_where_nothing_is_read() {
        let stream = opened(c"/dev/null", c"w");
        for _ in 0..3 {
            assert_eq!(stream.unget(65), libc::EOF);
            assert_eq!(stream.write(&[66; 10_000]), 10_000);
            assert_eq!(stream.flush(), 0);
        }
    }

    #[test]
    fn reading_and_writing_by_turns() {
        // SAFETY: takes nothing; makes a temporary file.
        let stream = Stream(unsafe { libc::tmpfile() });
        assert!(!stream.0.is_null());
        // fseek discards a byte that was put back before the first write, as C says.
        assert_eq!(stream.unget(65), 65);
        assert_eq!(stream.write(&[66; 10_000]), 10_000);
        assert_eq!(stream.read(1), []);
        assert_eq!(stream.seek(0, libc::SEEK_SET), 0);
        assert_eq!(stream.read(3), [66; 3]);
        assert_eq!(stream.write(b"cde"), 3);
        assert_eq!(stream.unget(70), 70);
        assert_eq!(stream.line(4), b"FBB\0");
        assert_eq!(stream.seek(0, libc::SEEK_SET), 0);
        assert_eq!(stream.read(8), *b"BBBcdeBB");
    }
}
