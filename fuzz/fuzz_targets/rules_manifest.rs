#![no_main]
#[path = "../src/bound.rs"]
mod bound;
#[path = "../src/rules.rs"]
mod rules;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bound::bounded(data, rules::manifest));
