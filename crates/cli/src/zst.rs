//! Compressed output: what is written to a file whose name ends in `.zst`.
//!
//! Owns: the ending, and that whatever was flushed can be read, also where the writer was killed then. Must not know:
//! what is written.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use cushim_trace::reader::TraceFile;
use zstd_safe::{CCtx, CParameter, DCtx, InBuffer, OutBuffer, ResetDirective};

use crate::Error;

/// The first bytes of what zstd compressed (RFC 8878).
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// So hard it tries: three times as fast as a JSON line is made.
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
    /// Before `to`.
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

/// Whether the file begins as what zstd compressed does.
pub fn is_compressed(path: &Path) -> bool {
    let mut head = [0; 4];
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
    let mut options = std::fs::File::options();
    std::os::unix::fs::OpenOptionsExt::custom_flags(options.read(true), flags)
        .open(path)
        .and_then(|mut file| file.read_exact(&mut head))
        .is_ok_and(|()| head == MAGIC)
}

/// Opens a trace, also one that the user compressed: that is expanded into a file without a name first, in the folder for
/// such things ($TMPDIR, /tmp).
pub fn open(path: &Path) -> Result<TraceFile, Error> {
    if !is_compressed(path) {
        return Ok(TraceFile::open(path)?);
    }
    let failed = |what: &'static str| move |e| Error::io(what, path, e);
    let folder = std::env::temp_dir();
    let mut expanded = nameless(&folder).map_err(|e| Error::io("make a file in", &folder, e))?;
    let packed = std::fs::File::open(path).map_err(failed("open"))?;
    expand(packed, &mut expanded).map_err(failed("expand"))?;
    Ok(TraceFile::of(expanded, path)?)
}

fn nameless(folder: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::File::options();
    options.read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE);
    match options.open(folder) {
        Ok(file) => Ok(file),
        // A file system that cannot: a name that is gone at once.
        Err(_) => {
            let name = folder.join(format!(".cushim-{}", std::process::id()));
            let mut options = std::fs::File::options();
            let file = options.read(true).write(true).create_new(true).mode(0o600).open(&name)?;
            std::fs::remove_file(name)?;
            Ok(file)
        }
    }
}

/// Decompresses all of `from` into `to`. Errors: what is not zstd's, or is cut off.
pub fn expand(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut context = DCtx::create();
    context.reset(ResetDirective::SessionOnly).map_err(failed)?;
    let (mut bytes, mut room) = (vec![0; BUFFER], Vec::with_capacity(BUFFER));
    let mut left = 0;
    loop {
        let got = from.read(&mut bytes)?;
        if got == 0 {
            return if left == 0 { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        let mut input = InBuffer::around(&bytes[..got]);
        while input.pos < got {
            room.clear();
            let mut out = OutBuffer::around(&mut room);
            left = context.decompress_stream(&mut out, &mut input).map_err(failed)?;
            to.write_all(&room)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(packed.starts_with(&MAGIC) && packed.len() < line.len() * 200, "{}", packed.len());
        let mut back = Vec::new();
        expand(&packed[..], &mut back).unwrap();
        assert!(back == line.repeat(20_000));
        let mut part = Vec::new();
        let cut = expand(&packed[..packed.len() / 2], &mut part);
        assert_eq!(cut.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(line.repeat(20_000).starts_with(&part));
    }
}
