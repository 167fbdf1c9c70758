//! The redirection manifest: which kernels and images are replaced by what.
//!
//! Owns the manifest's language: reading TOML, saying where it is wrong, and deciding whether a rule
//! matches. Must not know: containers, CUDA calls, how a replacement is carried out.
//!
//! A manifest is a list of rules:
//!
//! ```toml
//! [[redirect]]
//! name  = "faster add"                  # in messages; else "redirect 1"
//! match = { kernel = "vecadd.*" }       # a regular expression, as -k takes it
//! image = "new.ptx"                     # beside the manifest; kernel of the same name in it
//! ```
//!
//! What `match` may hold, all of which must hold: `kernel` (regular expression over the symbol, the full
//! and the short name), `owner` (regular expression over the file that the image came from), `hash` (an
//! image's content hash, as --dump-images names it, or its beginning), `arch` (one that the image
//! holds), `grid`, `block` (three numbers or "*"), `nth` (a number, or "from..to" counted from 1).
//!
//! What is done: `image` (a file, or a list of files of which the backend takes what it can run; with `kernel`: that kernel of it instead of the one of the same name; with
//! `whole = true`: the whole image instead of the whole image; with `compare = { parameters, type, tolerance,
//! keep }`: beside it, comparing what they wrote; with `own = ["NAME"]`: these variables of it are not the program's), `launch = { grid, block, shared }`, or
//! `skip = true`. `on-failure = "stop"` ends the program where a rule cannot be applied; else that is
//! said, and the program goes on with its own code.

mod compare;
mod error;
mod manifest;
mod matching;

pub use compare::{Compare, Difference, Element, Keep};
pub use error::Error;
pub use manifest::{Action, Launch, Manifest, OnFailure, Rule};
pub use matching::{Condition, Match, Names, Subject};
