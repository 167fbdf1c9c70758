//! Compressed output: a file whose name ends in `.zst`.
//!
//! Owns: the suffix, and that all flushed data can be read, even if the writer was killed afterwards. Must not know:
//! what is written.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer};

use crate::Error;

/// The compression level: three times as fast as JSON lines are made.
const LEVEL: i32 = 3;
const BUFFER: usize = 128 << 10;

/// Whether the name asks for compression.
pub fn is_named(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "zst")
}

/// The name without the ending `.zst`, by which a format is chosen.
pub fn plain(path: &Path) -> PathBuf {
    if is_named(path) { path.with_extension("") } else { path.to_owned() }
}

fn failed(code: usize) -> io::Error {
    io::Error::other(format!("zstd: {}", zstd_safe::get_error_name(code)))
}

/// Compresses what is written to it.
pub struct Compressed<W: Write> {
    to: W,
    context: CCtx<'static>,
    room: Vec<u8>,
    /// The end is written.
    over: bool,
}

impl<W: Write> Compressed<W> {
    /// Compresses into `to`.
    pub fn new(to: W) -> Result<Self, Error> {
        let mut context = CCtx::create();
        let set = context.set_parameter(CParameter::CompressionLevel(LEVEL));
        set.map_err(|code| Error::io("write", Path::new("the output"), failed(code)))?;
        Ok(Compressed { to, context, room: Vec::with_capacity(BUFFER), over: false })
    }

    /// Writes the end, and gives back what it was written to.
    pub fn finish(mut self) -> io::Result<W>
    where
        W: Default,
    {
        self.end(zstd_safe::zstd_sys::ZSTD_EndDirective::ZSTD_e_end)?;
        self.over = true;
        Ok(std::mem::take(&mut self.to))
    }

    fn step(
        &mut self,
        input: &mut InBuffer<'_>,
        how: zstd_safe::zstd_sys::ZSTD_EndDirective,
    ) -> io::Result<usize> {
        self.room.clear();
        let mut out = OutBuffer::around(&mut self.room);
        let left = self.context.compress_stream2(&mut out, input, how).map_err(failed)?;
        self.to.write_all(&self.room)?;
        Ok(left)
    }

    fn end(&mut self, how: zstd_safe::zstd_sys::ZSTD_EndDirective) -> io::Result<()> {
        while self.step(&mut InBuffer::around(&[]), how)? > 0 {}
        self.to.flush()
    }
}

impl<W: Write> Write for Compressed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut input = InBuffer::around(bytes);
        while input.pos < bytes.len() {
            self.step(&mut input, zstd_safe::zstd_sys::ZSTD_EndDirective::ZSTD_e_continue)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end(zstd_safe::zstd_sys::ZSTD_EndDirective::ZSTD_e_flush)
    }
}

impl<W: Write> Drop for Compressed<W> {
    fn drop(&mut self) {
        if !self.over {
            let _ = self.end(zstd_safe::zstd_sys::ZSTD_EndDirective::ZSTD_e_end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cushim_analysis::expand;

    #[test]
    fn names_tell() {
        assert!(is_named(Path::new("a.jsonl.zst")) && !is_named(Path::new("a.jsonl")));
        assert_eq!(plain(Path::new("d/a.jsonl.zst")), Path::new("d/a.jsonl"));
        assert_eq!(plain(Path::new("d/a.txt")), Path::new("d/a.txt"));
    }

    #[test]
    fn what_is_flushed_can_be_read_and_all_of_it_comes_back() {
        let line = b"{\"event\":\"launch\",\"kernel\":\"step<float>\"}\n";
        let mut packed = Vec::new();
        let mut out = Compressed::new(&mut packed).unwrap();
        for _ in 0..20_000 {
            out.write_all(line).unwrap();
        }
        out.flush().unwrap();
        drop(out);
        assert!(packed.len() < line.len() * 200, "{}", packed.len());
        let mut back = Vec::new();
        expand(&packed[..], &mut back).unwrap();
        assert!(back == line.repeat(20_000));
        let mut part = Vec::new();
        let cut = expand(&packed[..packed.len() / 2], &mut part);
        assert_eq!(cut.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(line.repeat(20_000).starts_with(&part));
    }
}
