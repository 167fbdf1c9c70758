#![no_main]
#[path = "../src/amdgpu.rs"]
mod amdgpu;
#[path = "../src/bound.rs"]
mod bound;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bound::bounded(data, amdgpu::decoded));
