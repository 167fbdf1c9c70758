//! What a program finds at its start: arguments, environment, tables of constructors.
//!
//! Owns: their layout in memory that the device can access. Must not know: what starts the program.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::image::Image;
use crate::Error;
use crate::driver::{Driver, Module};

/// The environment for the program, before anything is set for the driver.
pub fn environment() -> Vec<OsString> {
    std::env::vars_os()
        .map(|(mut name, value)| {
            name.push("=");
            name.push(value);
            name
        })
        .collect()
}

/// The values of `_start`'s parameters.
#[derive(Debug)]
pub struct Values {
    /// How many arguments, with the program's name.
    pub argc: i32,
    /// `char **` on the device.
    pub argv: u64,
    /// `char **` on the device.
    pub envp: u64,
    /// `int *` on the device: what main returns.
    pub status: u64,
}

impl Values {
    /// Copies them to memory that the device sees.
    ///
    /// # Errors
    /// The driver's.
    pub fn make(
        driver: &Driver,
        args: &[OsString],
        environment: &[OsString],
    ) -> Result<Self, Error> {
        let argc = i32::try_from(args.len())
            .map_err(|_| Error::Usage("more arguments than a program can have".to_owned()))?;
        let status = driver.allocate(size_of::<i32>())?;
        driver.write(status, &0i32.to_le_bytes())?;
        Ok(Values { argc, argv: vector(driver, args)?, envp: vector(driver, environment)?, status })
    }
}

/// Addresses of strings and a null pointer, and the strings behind.
fn vector(driver: &Driver, texts: &[OsString]) -> Result<u64, Error> {
    let table = (texts.len() + 1) * size_of::<u64>();
    let bytes = table + texts.iter().map(|text| text.len() + 1).sum::<usize>();
    let at = driver.host_memory(bytes)?;
    let image = laid_out(texts.iter().map(OsString::as_os_str), at as u64, table);
    // SAFETY: this many bytes were just allocated, and nothing else uses them.
    unsafe { std::ptr::copy_nonoverlapping(image.as_ptr(), at, bytes.min(image.len())) };
    Ok(at as u64)
}

/// The bytes of [`vector`], for memory at `base`.
fn laid_out<'a>(texts: impl Iterator<Item = &'a OsStr>, base: u64, table: usize) -> Vec<u8> {
    let (mut addresses, mut strings) = (Vec::with_capacity(table), Vec::new());
    for text in texts {
        addresses.extend_from_slice(&(base + (table + strings.len()) as u64).to_le_bytes());
        strings.extend_from_slice(text.as_bytes());
        strings.push(0);
    }
    addresses.resize(table, 0);
    addresses.append(&mut strings);
    addresses
}

/// Fills the tables of constructors and destructors, which NVIDIA's linker does not make: start code and the compiler's
/// kernels read `__init_array_start` and the like as pointers.
///
/// # Errors
/// The driver's; where an image has constructors and no table for them.
pub fn tables(driver: &Driver, module: Module, image: &Image) -> Result<(), Error> {
    for (what, names) in [("init", &image.constructors), ("fini", &image.destructors)] {
        if names.is_empty() {
            continue;
        }
        let mut table = Vec::with_capacity(names.len() * size_of::<u64>());
        for name in names {
            let (at, _) = driver.variable(module, name)?.ok_or_else(|| missing(name))?;
            table.extend(driver.read(at, size_of::<u64>())?);
        }
        let at = driver.allocate(table.len())?;
        driver.write(at, &table)?;
        for (which, value) in [("start", at), ("end", at + table.len() as u64)] {
            let name = format!("__{what}_array_{which}");
            let (place, size) = driver.variable(module, &name)?.ok_or_else(|| missing(&name))?;
            if size != size_of::<u64>() {
                return Err(Error::Usage(format!(
                    "the image's variable {name} has {size} bytes, expected a pointer"
                )));
            }
            driver.write(place, &value.to_le_bytes())?;
        }
    }
    Ok(())
}

fn missing(name: &str) -> Error {
    Error::Usage(format!("the image has constructors or destructors, but no variable {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_end_with_a_null_pointer() {
        let texts = ["ab", ""].map(OsStr::new);
        let bytes = laid_out(texts.into_iter(), 0x1000, 24);
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!([word(0), word(8), word(16)], [0x1018, 0x101b, 0]);
        assert_eq!(&bytes[24..], b"ab\0\0");
    }
}
