//! The folder of a captured launch.
//!
//! Owns: `launch.json` (format 1) and the files that it names, and the check that they are consistent. Must not know:
//! what is done with them.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path};

use serde::Deserialize;

use crate::Error;

/// The contents of `launch.json`.
#[derive(Debug, Deserialize)]
pub struct CapturedLaunch {
    format: u32,
    /// The kernel's symbol.
    pub kernel: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    image: String,
    arguments: String,
    /// Where the parameters lie in the parameter block.
    pub parameters: Vec<Parameter>,
    /// The allocations that arguments point into.
    pub buffers: Vec<Buffer>,
}

/// A parameter.
#[derive(Debug, Deserialize)]
pub struct Parameter {
    /// Bytes from the block's beginning.
    pub offset: u32,
    /// Bytes that it takes.
    pub bytes: u32,
}

/// An allocation.
#[derive(Debug, Deserialize)]
pub struct Buffer {
    before: String,
    after: String,
    bytes: u64,
    /// The addresses in it that the parameter block holds.
    pub pointers: Vec<Pointer>,
}

/// An address in the parameter block.
#[derive(Debug, Deserialize)]
pub struct Pointer {
    /// Its offset in the block.
    pub at: usize,
    /// How far into the allocation it points.
    pub offset: u64,
}

/// A captured launch with its files.
#[derive(Debug)]
pub struct Folder {
    /// What was launched, and how.
    pub launch: CapturedLaunch,
    /// The image.
    pub image: Vec<u8>,
    /// The parameter block.
    pub arguments: Vec<u8>,
    /// The allocations' contents, in the order of [`CapturedLaunch::buffers`].
    pub buffers: Vec<Content>,
}

/// The contents of an allocation.
#[derive(Debug)]
pub struct Content {
    /// When the kernel began.
    pub before: Vec<u8>,
    /// When it was done.
    pub after: Vec<u8>,
}

/// The version of the format that is read here.
const FORMAT: u32 = 1;

impl CapturedLaunch {
    /// Reads `launch.json`.
    ///
    /// # Errors
    /// What is wrong with it, with line and column where it is no JSON of this kind.
    pub fn parse(text: &str) -> Result<Self, String> {
        let launch: CapturedLaunch = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if launch.format != FORMAT {
            return Err(format!("found format {}, expected {FORMAT}", launch.format));
        }
        if launch.grid.iter().chain(&launch.block).any(|n| *n == 0) {
            return Err("a grid or block of 0 launches nothing".to_owned());
        }
        let files = launch.buffers.iter().flat_map(|buffer| [&buffer.before, &buffer.after]);
        let mut seen = HashSet::new();
        for file in files.chain([&launch.image, &launch.arguments]) {
            // Each has its own: a few bytes of text must not ask for a large file again and again.
            if !seen.insert(file) {
                return Err(format!("found the file name {file:?} twice, expected one for each"));
            }
            // It must be a file in this folder.
            let mut parts = Path::new(file).components();
            if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
                return Err(format!("found the file name {file:?}, expected one without folders"));
            }
        }
        Ok(launch)
    }

    /// Whether everything lies inside a parameter block of `size` bytes.
    ///
    /// # Errors
    /// What does not.
    pub fn fits(&self, size: usize) -> Result<(), String> {
        let inside = |at: usize, bytes: usize| at.checked_add(bytes).is_some_and(|end| end <= size);
        for parameter in &self.parameters {
            if !inside(parameter.offset as usize, parameter.bytes as usize) {
                let Parameter { offset, bytes } = parameter;
                return Err(format!(
                    "a parameter of {bytes} bytes at {offset}, in {size} bytes of arguments"
                ));
            }
        }
        for pointer in self.buffers.iter().flat_map(|buffer| &buffer.pointers) {
            if !inside(pointer.at, size_of::<u64>()) {
                return Err(format!("an address at {}, in {size} bytes of arguments", pointer.at));
            }
        }
        Ok(())
    }
}

impl Folder {
    /// Reads it.
    ///
    /// # Errors
    /// Which file cannot be read, or what does not fit.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let read = |name: &str| {
            let path = folder.join(name);
            read_file(&path).map_err(|e| Error::io("read", &path, e))
        };
        let description = folder.join("launch.json");
        let wrong = |found: String| Error::Foreign {
            path: description.clone(),
            found,
            expected: "a launch that cushim captured",
        };
        let text = String::from_utf8(read("launch.json")?)
            .map_err(|_| wrong("text that is not UTF-8".to_owned()))?;
        let launch = CapturedLaunch::parse(&text).map_err(wrong)?;
        let (image, arguments) = (read(&launch.image)?, read(&launch.arguments)?);
        launch.fits(arguments.len()).map_err(wrong)?;
        let mut buffers = Vec::new();
        for buffer in &launch.buffers {
            let (before, after) = (read(&buffer.before)?, read(&buffer.after)?);
            let sizes = [before.len() as u64, after.len() as u64];
            if sizes != [buffer.bytes; 2] {
                return Err(wrong(format!(
                    "buffers of {} and {} bytes, and {} in launch.json",
                    sizes[0], sizes[1], buffer.bytes
                )));
            }
            buffers.push(Content { before, after });
        }
        Ok(Folder { launch, image, arguments, buffers })
    }
}

/// A file's bytes. What has no end, a pipe or a device, is refused.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"format":1,"kernel":"k","grid":[1,1,1],"block":[32,1,1],"shared":0,"image":"image","arguments":"arguments",
        "parameters":[{"offset":0,"bytes":8}],"buffers":[{"before":"a","after":"b","bytes":4,"pointers":[{"at":0,"offset":4}]}]}"#;

    #[test]
    fn mistakes_are_named() {
        let cases = [
            ("\"format\":1", "\"format\":2", "found format 2, expected 1"),
            ("[32,1,1]", "[0,1,1]", "launches nothing"),
            ("\"image\":\"image\"", "\"image\":\"../image\"", "without folders"),
            ("\"before\":\"a\"", "\"before\":\"/etc/passwd\"", "without folders"),
            ("\"after\":\"b\"", "\"after\":\"..\"", "without folders"),
            ("\"after\":\"b\"", "\"after\":\"a\"", "\"a\" twice"),
            ("\"after\":\"b\"", "\"after\":\"image\"", "\"image\" twice"),
            ("\"kernel\":\"k\",", "", "kernel"),
        ];
        for (from, to, why) in cases {
            let error = CapturedLaunch::parse(&GOOD.replace(from, to)).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let launch = CapturedLaunch::parse(&GOOD.replace("\"at\":0", "\"at\":1")).unwrap();
        assert!(launch.fits(8).unwrap_err().contains("an address at 1"));
        assert!(CapturedLaunch::parse(GOOD).unwrap().fits(4).unwrap_err().contains("8 bytes at 0"));
        assert!(Folder::read(Path::new("/no/such/folder")).is_err());
    }

    #[test]
    fn what_has_no_end_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["image", "arguments", "a", "b"] {
            std::fs::write(folder.path().join(file), [0; 8]).unwrap();
        }
        std::fs::write(folder.path().join("launch.json"), GOOD.replace(":4,", ":8,")).unwrap();
        assert_eq!(Folder::read(folder.path()).unwrap().buffers.len(), 1);
        for endless in ["/dev/zero", "pipe"] {
            let _ = std::fs::remove_file(folder.path().join("b"));
            if endless == "pipe" {
                let made =
                    std::process::Command::new("mkfifo").arg(folder.path().join("b")).status();
                assert!(made.unwrap().success());
            } else {
                std::os::unix::fs::symlink(endless, folder.path().join("b")).unwrap();
            }
            let error = Folder::read(folder.path()).unwrap_err().to_string();
            assert!(error.contains("regular file"), "{error}");
        }
    }
}
