//! Writes the images that a program registers or loads into a folder (`CUSHIM_DUMP_IMAGES`).
//!
//! Owns the folder's files: each image once, unpacked, named by its content hash as `cushim ls` prints it, and one
//! line in `images.jsonl` for each time that the program brought an image (docs/redirect.md). Files are written
//! atomically; processes may share a folder. It runs where CUDA receives an image, never during a launch. Must not
//! know: redirection, events.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::OnceLock;

use cushim_image::Limits;
use cushim_image::inventory::{self, ImageKind};
use cushim_process::limit::without_signal;
use cushim_trace::private::Folder;

use crate::config;
use crate::layouts::Code;
use crate::log::{self, Level};

static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
/// Limits of all images of one call together; each image has its own limits too.
const LIMITS: Limits = Limits { max_total: 4 << 30, ..Limits::DEFAULT };

/// The index beside the images.
pub const INDEX: &str = "images.jsonl";

/// The folder, if images are to be dumped.
fn folder() -> Option<&'static PathBuf> {
    let folder = FOLDER.get_or_init(|| {
        let value = config::variable(c"CUSHIM_DUMP_IMAGES").filter(|v| !v.is_empty())?;
        let folder = PathBuf::from(OsString::from_vec(value));
        match Folder::make(&folder) {
            // Not kept open: programs close descriptors that they did not open.
            Ok(_) => Some(folder),
            Err(error) => {
                let shown = folder.display();
                log::line(Level::Error, format_args!("cannot write images to {shown}: {error}"));
                None
            }
        }
    });
    folder.as_ref()
}

/// Whether images are to be written.
pub fn wanted() -> bool {
    folder().is_some()
}

/// A content hash in cushim's form: xxh3, 64 bits, hexadecimal.
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

/// The program gave or got `size` bytes at `data` by `api`. The bytes are not read if no images are
/// to be dumped.
///
/// # Safety
/// `api` has read or written this many bytes there and returned success.
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
    let done = std::panic::catch_unwind(AssertUnwindSafe(|| {
        parts(&Folder::make(folder)?, bytes, owner, api)
    }));
    if let Ok(Err(error)) = done {
        let shown = folder.display();
        log::line(Level::Error, format_args!("cannot write an image of {api}: {shown}: {error}"));
    }
    // SAFETY: errno is this thread's.
    unsafe { *libc::__errno_location() = errno };
}

fn parts(folder: &Folder, bytes: &[u8], owner: &str, api: &str) -> std::io::Result<()> {
    let limits = &LIMITS;
    let (found, mut work) = inventory::measured(bytes, limits);
    let mut index = String::new();
    let mut refused = None;
    for image in &found.images {
        if let Err(error) = work.unpack(image.place.unpacked, image.place.start, limits) {
            refused = Some(std::io::Error::other(error));
            break;
        }
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
    let mut list = folder.append(OsStr::new(INDEX))?;
    without_signal(|| list.write_all(index.as_bytes()))?;
    refused.map_or(Ok(()), Err)
}

/// Writes one image, if it is not there yet; returns its line for the index.
fn write(
    folder: &Folder,
    data: &[u8],
    kind: ImageKind,
    arch: &str,
    owner: &str,
    api: &str,
    kernels: &[String],
) -> std::io::Result<String> {
    let hash = hash(data);
    let name = format!("{hash}.{}", kind.extension());
    if !folder.has(OsStr::new(&name)) {
        folder.replace(OsStr::new(&name), data)?;
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
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path();
        let folder = Folder::make(path).unwrap();
        let ptx = b".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k() { ret; }\n";
        parts(&folder, ptx, "lib \"x\"", "cuModuleLoadData").unwrap();
        parts(&folder, ptx, "", "cuLibraryLoadData").unwrap();
        let name = format!("{}.ptx", hash(cushim_image::sniff::trim(ptx)));
        assert!(fs::read(path.join(&name)).unwrap().starts_with(b".version"));
        let index = fs::read_to_string(path.join(INDEX)).unwrap();
        assert_eq!(index.lines().count(), 2);
        assert!(
            index.contains("\"owner\":\"lib \\\"x\\\"\"") && index.contains("\"kernels\":[\"k\"]")
        );
        assert_eq!(fs::read_dir(path).unwrap().count(), 2);
    }

    #[test]
    fn links_in_the_folder_lead_nowhere() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path();
        let folder = Folder::make(path).unwrap();
        let victim = path.join("victim");
        fs::write(&victim, "mine").unwrap();
        let ptx = b".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k() { ret; }\n";
        let name = format!("{}.ptx", hash(cushim_image::sniff::trim(ptx)));
        std::os::unix::fs::symlink(&victim, path.join(name)).unwrap();
        std::os::unix::fs::symlink(&victim, path.join(INDEX)).unwrap();
        assert!(parts(&folder, ptx, "", "cuModuleLoadData").is_err());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    }

    #[test]
    fn images_together_have_a_limit() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path();
        let folder = Folder::make(path).unwrap();
        let zeros = vec![0; 60 << 20];
        let image = |arch| cushim_image::fatbin::Image {
            kind: cushim_image::fatbin::Kind::Ptx,
            arch: cushim_image::Arch::parse(arch),
            version: (8, 0),
            codec: cushim_image::Codec::Zstd,
            data: &zeros,
        };
        let images: Vec<_> = (0..20).map(|_| image("sm_80")).collect();
        let bomb = cushim_image::fatbin::write(&images).unwrap();
        let error = parts(&folder, &bomb, "", "cuModuleLoadData").unwrap_err();
        assert!(error.to_string().contains("unpacked images together"), "{error}");
    }
}
