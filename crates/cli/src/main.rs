//! The program `cushim`; all code is in the library beside it, so that fuzz targets can call it.

use std::process::ExitCode;

fn main() -> ExitCode {
    cushim_cli::main()
}
