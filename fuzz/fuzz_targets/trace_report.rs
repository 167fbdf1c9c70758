#![no_main]
#[path = "../src/bound.rs"]
mod bound;
#[path = "../src/analysis.rs"]
mod analysis;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bound::bounded(data, analysis::report));
