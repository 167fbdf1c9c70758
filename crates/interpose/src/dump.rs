//! Writing the images that a program registers or loads into a folder (`CUSHIM_DUMP_IMAGES`).
//!
//! Owns the folder's files: each image once, unpacked, named by its content hash as `cushim ls` shows it,
//! and a line in `images.jsonl` for each time that one was met (docs/dump.md). A file appears whole or
//! not at all; processes may share a folder. Happens where CUDA learns of an image, never on the way of
//! a launch. Must not know: redirection, events.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cushim_image::Limits;
use cushim_image::inventory::{self, ImageKind};

use crate::config;
use crate::layouts::Code;
use crate::log::{self, Level};

static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();

/// The index beside the images.
pub const INDEX: &str = "images.jsonl";

/// The folder, if images are wanted.
fn folder() -> Option<&'static Path> {
    let folder = FOLDER.get_or_init(|| {
        let value = config::variable(c"CUSHIM_DUMP_IMAGES").filter(|v| !v.is_empty())?;
        let folder = PathBuf::from(String::from_utf8_lossy(&value).into_owned());
        match fs::create_dir_all(&folder) {
            Ok(()) => Some(folder),
            Err(error) => {
                let shown = folder.display();
                log::line(Level::Error, format_args!("images are not written: {shown}: {error}"));
                None
            }
        }
    });
    folder.as_deref()
}

/// Whether images are to be written.
pub fn wanted() -> bool {
    folder().is_some()
}

/// A content hash as everything here writes it: xxh3, 64 bits, hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(bytes))
}

/// The program gave `code` to `api`.
#[inline]
pub fn code(code: &Code, api: &str) {
    if folder().is_some()
        && let Some(bytes) = code.bytes()
    {
        image(bytes, &code.owner(), api);
    }
}

/// The program had `api` load a file.
pub fn file(path: &str, api: &str) {
    if folder().is_some()
        && let Ok(bytes) = fs::read(path)
    {
        image(&bytes, path, api);
    }
}

/// The program gave or got `size` bytes at `data` by `api`. They are not looked at where no images are
/// wanted.
///
/// # Safety
/// `api` has read or written so many bytes there, and said so.
pub unsafe fn memory(data: usize, size: usize, api: &str) {
    if folder().is_none() || data == 0 || isize::try_from(size).is_err() {
        return;
    }
    // SAFETY: as the caller promises; the size is one that a slice may have.
    image(unsafe { std::slice::from_raw_parts(data as *const u8, size) }, "", api);
}

/// The program gave or got `bytes` by `api`; `owner` is the file that they came from.
pub fn image(bytes: &[u8], owner: &str, api: &str) {
    let Some(folder) = folder() else { return };
    // SAFETY: errno is this thread's; what follows writes files.
    let errno = unsafe { *libc::__errno_location() };
    let done = std::panic::catch_unwind(AssertUnwindSafe(|| parts(folder, bytes, owner, api)));
    if let Ok(Err(error)) = done {
        let shown = folder.display();
        log::line(Level::Error, format_args!("an image of {api} is not written: {shown}: {error}"));
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

fn parts(folder: &Path, bytes: &[u8], owner: &str, api: &str) -> std::io::Result<()> {
    let limits = &Limits::DEFAULT;
    let found = inventory::read(bytes, limits);
    let mut index = String::new();
    for image in &found.images {
        let Ok(data) = image.with_bytes(limits, <[u8]>::to_vec) else { continue };
        let kernels = inventory::kernels(image.kind, &data, limits).unwrap_or_default();
        let kernels: Vec<String> =
            kernels.into_iter().filter(|k| !k.device).map(|k| k.name).collect();
        let arch = image.arch.to_string();
        index += &write(folder, &data, image.kind, &arch, owner, api, &kernels)?;
    }
    if found.images.is_empty() {
        index += &write(folder, bytes, ImageKind::Unknown(0), "-", owner, api, &[])?;
    }
    // One write: lines of several threads and processes do not mix.
    let mut file = OpenOptions::new().append(true).create(true).open(folder.join(INDEX))?;
    file.write_all(index.as_bytes())
}

/// Writes one image, if it is not there yet; answers its line.
fn write(
    folder: &Path,
    data: &[u8],
    kind: ImageKind,
    arch: &str,
    owner: &str,
    api: &str,
    kernels: &[String],
) -> std::io::Result<String> {
    let hash = hash(data);
    let name = format!("{hash}.{}", kind.extension());
    let path = folder.join(&name);
    if !path.exists() {
        // SAFETY: gettid has no preconditions.
        let thread = unsafe { libc::syscall(libc::SYS_gettid) };
        let part = folder.join(format!(".{name}.{}.{thread}", std::process::id()));
        let written = File::create(&part).and_then(|mut file| file.write_all(data));
        if let Err(error) = written.and_then(|()| fs::rename(&part, &path)) {
            let _ = fs::remove_file(&part);
            return Err(error);
        }
    }
    let names: Vec<String> = kernels.iter().map(|name| quoted(name)).collect();
    Ok(format!(
        "{{\"hash\":\"{hash}\",\"file\":{},\"kind\":\"{kind}\",\"arch\":{},\"size\":{},\"owner\":{},\"call\":{},\"pid\":{},\"kernels\":[{}]}}\n",
        quoted(&name),
        quoted(arch),
        data.len(),
        quoted(owner),
        quoted(api),
        std::process::id(),
        names.join(",")
    ))
}

/// A JSON string (RFC 8259, section 7).
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if u32::from(c) < 0x20 => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_written_once_and_met_twice() {
        let folder = std::env::temp_dir().join(format!("cushim-dump-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let ptx = b".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k() { ret; }\n";
        parts(&folder, ptx, "lib \"x\"", "cuModuleLoadData").unwrap();
        parts(&folder, ptx, "", "cuLibraryLoadData").unwrap();
        let name = format!("{}.ptx", hash(cushim_image::sniff::trim(ptx)));
        assert!(fs::read(folder.join(&name)).unwrap().starts_with(b".version"));
        let index = fs::read_to_string(folder.join(INDEX)).unwrap();
        assert_eq!(index.lines().count(), 2);
        assert!(
            index.contains("\"owner\":\"lib \\\"x\\\"\"") && index.contains("\"kernels\":[\"k\"]")
        );
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(&folder).unwrap();
    }
}
