#![no_main]
use cushim_testkit::vcuda as vcuda_targets;
libfuzzer_sys::fuzz_target!(|data: &[u8]| vcuda_targets::launch(data));
