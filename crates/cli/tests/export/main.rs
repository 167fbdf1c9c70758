//! What `cushim export` writes of made-up traces, and of damaged ones.

mod files;
mod perfetto;
mod sample;
