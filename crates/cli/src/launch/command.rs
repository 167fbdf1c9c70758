//! The program that a command starts: its arguments, and the checks before it starts.
//!
//! Must not know: what a command does with the program.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Args;

use super::child::become_program;
use crate::doctor::{elf, program};
use crate::{Error, environ};

/// The program to start.
#[derive(Debug, Clone, Args)]
pub struct ProgramArgs {
    /// The program and its arguments
    #[arg(
        required = true,
        help_heading = "Program",
        trailing_var_arg = true,
        value_name = "PROG [ARGS]",
        value_hint = clap::ValueHint::CommandWithArguments
    )]
    pub command: Vec<OsString>,
}

/// Becomes the program, if `CUSHIM_DISABLE` is on; returns only if that fails, or if it is off.
pub fn untouched(command: &[OsString]) -> Result<(), Error> {
    if !environ::disabled() {
        return Ok(());
    }
    Err(become_program(command, &[]))
}

/// Refuses a program for another processor before it is started: execvp would pass it to the shell
/// as a script. 32-bit programs run without being seen.
pub fn refuse_foreign(program: &OsStr) -> Result<(), Error> {
    let Ok(found) = program::find(Path::new(program)) else { return Ok(()) };
    let Ok(file) = elf::read_for_loading(&found.path) else { return Ok(()) };
    if file.machine.is_empty() || file.machine.contains("x86") {
        return Ok(());
    }
    let why = format!("it is for {}, and cushim is for x86-64", file.machine);
    Err(Error::start(program, std::io::Error::other(why)))
}
