//! The program `cushim`; everything is in the library beside it, where fuzz targets reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    cushim_cli::main()
}
