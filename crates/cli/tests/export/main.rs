//! Exports of made-up traces and of damaged traces.

mod chrome;
mod files;
mod parquet;
mod perfetto;
mod progress;
mod sample;
