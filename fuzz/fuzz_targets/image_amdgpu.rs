#![no_main]
#[path = "../src/bound.rs"]
mod bound;
#[path = "../src/image.rs"]
mod image;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bound::bounded(data, image::amdgpu));
