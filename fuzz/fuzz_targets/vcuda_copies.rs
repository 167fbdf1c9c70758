//! Copies and memory sets of our driver with any arguments, on the mock accelerator.

#![no_main]

use libfuzzer_sys::fuzz_target;

use cushim_testkit::vcuda_copies as arguments;

fuzz_target!(init: {
    use cushim_abi::types::{Context, Device, Flags, Out};
    use vcuda::api;

    vcuda::choose::offer("mock", || Box::new(cushim_accel_mock::new()));
    let mut context = Context(0);
    // SAFETY: no other thread runs yet; the outputs are places of ours.
    unsafe {
        std::env::set_var("CUSHIM_BACKEND", "mock");
        assert_eq!(api::cuInit(Flags(0)), 0);
        assert_eq!(api::cuDevicePrimaryCtxRetain(Out(&raw mut context), Device(0)), 0);
        assert_eq!(api::cuCtxSetCurrent(context), 0);
    }
}, |data: &[u8]| arguments::run(data));
