//! The fuzz target of the runtime's calls with a few hundred inputs, in every test run.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use cushim_testkit::{corpus, vcuda_runtime as targets};

#[test]
fn calls_with_any_values_are_answered() {
    let called = targets::names();
    for name in [
        "cudaMalloc",
        "cudaMemcpyAsync",
        "cudaStreamWaitEvent",
        "cudaGraphLaunch",
        "cudaGraphClone",
    ] {
        assert!(called.contains(&name), "{name} is not called");
    }
    let mut state = 88_172_645_463_325_252_u64;
    for _ in 0..300 {
        let bytes: Vec<u8> = (0..1000)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 24) as u8
            })
            .collect();
        targets::calls(&bytes);
    }
    corpus::regressions("vcuda_runtime", targets::calls);
}
