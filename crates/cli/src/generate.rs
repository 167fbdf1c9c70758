//! `cushim completions` and `cushim man`: generated from the definition of the command line.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use clap_complete::Shell;

use crate::{Error, Outcome};

/// Arguments of `cushim completions`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Example:\n  cushim completions bash > ~/.local/share/bash-completion/completions/cushim"
)]
pub struct CompletionsArgs {
    /// The shell that will read the script
    pub shell: Shell,
}

/// Arguments of `cushim man`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  cushim man | man -l -\n  cushim man --dir ~/.local/share/man/man1"
)]
pub struct ManArgs {
    /// Write cushim.1 and one page for each subcommand into this folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Prints the completion script.
pub fn completions(args: CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::command(), "cushim", &mut script);
    crate::print(&script)?;
    Ok(0)
}

/// Prints or writes the manual.
pub fn man(args: ManArgs) -> Outcome {
    match args.dir {
        None => {
            crate::print(&page(&crate::command())?)?;
            Ok(0)
        }
        Some(dir) => {
            let mut top = crate::command();
            top.build();
            write(&dir, "cushim", &top)?;
            for sub in top.get_subcommands() {
                let name = format!("cushim-{}", sub.get_name());
                write(&dir, &name, &sub.clone().name(name.clone()))?;
            }
            Ok(0)
        }
    }
}

fn page(command: &clap::Command) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut text)
        .map_err(|e| Error::io("make the manual page", Path::new(command.get_name()), e))?;
    Ok(text)
}

fn write(dir: &Path, name: &str, command: &clap::Command) -> Result<(), Error> {
    let path = dir.join(format!("{name}.1"));
    fs::write(&path, page(command)?).map_err(|e| Error::io("write", &path, e))
}
