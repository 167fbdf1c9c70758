//! Device code as programs pass it, and the choice of an image for a device.
//!
//! Owns what an image pointer may point to ([`Source`]: registration wrappers of both versions, fat binaries, cubins,
//! PTX text, containers of clang) and which image in it fits a device ([`choose`]). The runtime uses it for
//! registered code, the driver for loaded code. Must not know: modules, libraries, accelerators' internals.

mod choose;
mod error;
pub use cushim_image::linked;
mod memory;
mod own;
mod target;

use std::sync::Mutex;

pub use choose::{Chosen, choose};
pub use error::{Error, Held, NoImage};
pub use memory::Source;
pub use own::recognise;
pub use target::Target;

use cushim_accel::locks::lock;

/// Says on standard error what is wrong with an image, once for each text.
pub fn say_once(text: &str) {
    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut said = lock(&SAID);
    if !said.iter().any(|other| other == text) {
        said.push(text.to_owned());
        cushim_accel::say(text);
    }
}

/// The file that holds an address, for messages.
pub fn owner(address: usize) -> String {
    match cushim_process::elf::object_at(address) {
        Some(object) if !object.file_name().is_empty() => {
            object.file_name().to_string_lossy().into_owned()
        }
        Some(_) => String::from("the program"),
        None => String::from("an image in memory"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests;
