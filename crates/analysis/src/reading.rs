//! Trace files: found, opened, expanded.
//!
//! Must not know: their contents.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use cushim_trace::reader::TraceFile;
use zstd_safe::{DCtx, InBuffer, OutBuffer, ResetDirective};

use crate::error::Error;

/// The first bytes of what zstd compressed (RFC 8878).
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const BUFFER: usize = 128 << 10;

/// Trace files, and those in folders: in the order of `paths`, those of a folder by name.
///
/// # Errors
/// Where a folder cannot be read, or holds no trace file. Whether a file is one, [`open`] says.
pub fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let mut found = Vec::new();
        below(path, &mut found)?;
        if found.is_empty() {
            return Err(Error::NoTrace(path.clone()));
        }
        found.sort();
        files.append(&mut found);
    }
    Ok(files)
}

/// Trace files in `folder` and the folders below it, links aside.
fn below(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Error> {
    let read = failed("read the folder", folder);
    for entry in fs::read_dir(folder).map_err(&read)? {
        let entry = entry.map_err(&read)?;
        let path = entry.path();
        match entry.file_type().map_err(&read)? {
            kind if kind.is_dir() => below(&path, found)?,
            kind if kind.is_file() && is_named(&path) => found.push(path),
            _ => {}
        }
    }
    Ok(())
}

/// `*.cushim`, `*.cushim.zst`.
fn is_named(path: &Path) -> bool {
    let name = path.as_os_str().as_encoded_bytes();
    [&b".cushim"[..], b".cushim.zst"].iter().any(|ending| name.ends_with(ending))
        && path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b".cushim"))
}

fn failed(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> Error {
    move |source| Error::Io { doing, path: path.to_owned(), source }
}

/// Whether the file begins as what zstd compressed does.
fn is_compressed(path: &Path) -> bool {
    let mut head = [0; 4];
    let mut options = fs::File::options();
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
    let read = options.open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok_and(|()| head == MAGIC)
}

/// Opens a trace, also one that the user compressed: that is expanded into a file without a name first, in the folder for
/// such things ($TMPDIR, /tmp).
///
/// # Errors
/// Where the file cannot be read or expanded, or is no trace of a version that is known.
pub fn open(path: &Path) -> Result<TraceFile, Error> {
    if !is_compressed(path) {
        return Ok(TraceFile::open(path)?);
    }
    let folder = std::env::temp_dir();
    let mut expanded = nameless(&folder).map_err(failed("make a file in", &folder))?;
    let packed = fs::File::open(path).map_err(failed("open", path))?;
    expand(packed, &mut expanded).map_err(failed("expand", path))?;
    Ok(TraceFile::of(expanded, path)?)
}

fn nameless(folder: &Path) -> io::Result<fs::File> {
    let mut options = fs::File::options();
    options.read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE);
    match options.open(folder) {
        Ok(file) => Ok(file),
        // A file system that cannot: a name that is gone at once. Files are opened on several threads.
        Err(_) => {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let next = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = folder.join(format!(".cushim-{}-{next}", std::process::id()));
            let mut options = fs::File::options();
            let file = options.read(true).write(true).create_new(true).mode(0o600).open(&name)?;
            fs::remove_file(name)?;
            Ok(file)
        }
    }
}

/// Decompresses all of `from` into `to`.
///
/// # Errors
/// What is not zstd's, or is cut off; whatever reading and writing answer.
pub fn expand(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let failed = |code| io::Error::other(format!("zstd: {}", zstd_safe::get_error_name(code)));
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
    fn files_below_folders_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("b/c")).unwrap();
        for name in ["b/c/2.cushim", "b/1.cushim.zst", "b/x.zst", "b/.cushim", "b/a.cushim.txt"] {
            fs::write(at(name), "").unwrap();
        }
        std::os::unix::fs::symlink(at("b"), at("b/c/again")).unwrap();
        let found = find(&[at("not there"), at("b")]).unwrap();
        assert_eq!(found, [at("not there"), at("b/1.cushim.zst"), at("b/c/2.cushim")]);
        fs::create_dir(at("empty")).unwrap();
        assert!(matches!(find(&[at("empty")]), Err(Error::NoTrace(_))));
    }
}
