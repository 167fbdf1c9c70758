//! The recorder: what the preloaded process writes with.
//!
//! Must not know: any CUDA function.
