//! Mapped and shared memory, and conditional nodes, with any values, on the CPU.

#![no_main]
use cushim_testkit::vcuda_shared as targets;
libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::calls(data));
