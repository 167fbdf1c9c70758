//! `cushim redirect`: help with manifests, which `run`, `trace`, `record` and `env` take by `--redirect`.
//!
//! Owns: writing a first manifest ([`new`]), and reporting what a manifest would do to a program ([`check`]) without
//! running it. Must not know: how rules are carried out.

mod check;
mod new;
mod program;

use clap::{Args, Subcommand};

use crate::Outcome;
use check::CheckArgs;
use new::NewArgs;

/// Arguments of `cushim redirect`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER)]
pub struct RedirectCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Write a first manifest and the PTX of a kernel, to edit
    New(NewArgs),
    /// Say what the rules of a manifest would match in a program, without running it
    Check(CheckArgs),
}

const AFTER: &str = "\
The smallest manifest puts a kernel of new.ptx, beside it, in the place of the kernel of the same name:

  [[redirect]]
  match = { kernel = \"vecadd.*\" }
  image = \"new.ptx\"

All of it is described in docs/redirect.md.

Examples:
  cushim redirect new ./app vecadd           writes redirect/redirect.toml and the kernel's PTX
  cushim redirect check redirect/redirect.toml ./app
  cushim run --redirect redirect/redirect.toml ./app
  cushim trace --replace vecadd=new.ptx ./app

Exit status of check: 1 where a rule matches nothing or could not be applied.";

/// Runs the command.
pub fn run(command: RedirectCommand) -> Outcome {
    match command.what {
        What::New(args) => new::run(&args),
        What::Check(args) => check::run(&args),
    }
}
