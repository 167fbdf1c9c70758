#![no_main]
use cushim_testkit::replay;
libfuzzer_sys::fuzz_target!(|data: &[u8]| replay::launch(data));
