//! The arguments of `cushim export`.

use std::path::PathBuf;

use clap::ValueEnum;

/// Arguments of `cushim export`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub struct ExportArgs {
    /// Trace files, or folders with them (*.cushim)
    #[arg(required = true, value_name = "FILE|DIR")]
    pub files: Vec<PathBuf>,

    /// The format to write
    #[arg(long, value_name = "FORMAT")]
    pub to: To,

    /// Where to write it; - means standard output
    ///
    /// For parquet a folder, which is made where it is not there. For chrome a file where there is one
    /// rank, else a folder, which gets rank-0.json and so on.
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,

    /// Parquet: the run's name in run=NAME [default: when it began, in UTC]
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,

    /// Replace files that exist
    #[arg(long)]
    pub force: bool,
}

const EXAMPLES: &str = "\
Everything that was recorded is written, calls within calls too. Times count from 1970.

Examples:
  cushim export app.1234.cushim --to perfetto -o app.pftrace      for https://ui.perfetto.dev
  cushim export runs/ --to chrome -o hta/                         for Holistic Trace Analysis
  cushim export runs/ --to parquet -o lake/                       for DuckDB and Spark
  cushim export runs/ --to jsonl -o - | jq -c 'select(.event == \"launch\")'";

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum To {
    /// Perfetto's own format, one file for all traces
    Perfetto,
    /// Chrome's JSON as PyTorch's profiler writes it, one file per rank
    Chrome,
    /// One table per process, in run=.../rank=... folders
    Parquet,
    /// JSON lines, the same as `report --format jsonl -e all --nested`
    Jsonl,
}
