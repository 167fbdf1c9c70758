//! `cushim ctl PID|FILE on|off|mark TEXT|status`: controls what a running process records.
//!
//! Must not know: how the process receives it.

use std::ffi::OsString;
use std::path::Path;

use cushim_trace::control::{Remote, State};

use crate::Outcome;

/// Arguments of `cushim ctl`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER)]
pub struct CtlArgs {
    /// The process, or the file that it records into
    #[arg(value_name = "PID|FILE")]
    target: OsString,

    /// What to do
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Record again; if it was not off, ignore the window given at the start
    On,
    /// Record nothing from now on
    Off,
    /// Put TEXT into the recording, at this moment
    Mark {
        /// At most 232 bytes
        text: String,
    },
    /// Say whether it records
    Status,
}

const AFTER: &str = "\
The process must be yours, must have been started by cushim record or trace or with the \
environment of cushim env, and must have called CUDA. It is not interrupted: it sees the \
change at its next call of CUDA.

Examples:
  cushim ctl 4242 off
  cushim ctl app.4242.cushim mark 'epoch 3'";

/// Runs the command.
pub fn run(args: CtlArgs) -> Outcome {
    let pid = args.target.to_str().and_then(|text| text.parse::<u32>().ok());
    let remote = match pid {
        Some(pid) => Remote::of_process(pid)?,
        None => Remote::of_file(Path::new(&args.target))?,
    };
    let state = match &args.action {
        Action::On => remote.on(),
        Action::Off => remote.off(),
        Action::Status => remote.state(),
        Action::Mark { text } => {
            remote.mark(text)?;
            return Ok(0);
        }
    };
    let state = match state {
        State::On => "on",
        State::Window => "on, within the window given at the start",
        State::Off => "off",
    };
    crate::print(format!("{}: {state}\n", remote.pid()).as_bytes())?;
    Ok(0)
}
