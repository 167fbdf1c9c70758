//! What `cushim export` writes of made-up traces, and of damaged ones.

mod chrome;
mod files;
mod parquet;
mod perfetto;
mod progress;
mod sample;
