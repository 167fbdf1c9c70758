//! What fuzzing does with the other crates, a module for each subject: the fuzz targets call these functions
//! with what a fuzzer makes up, the ordinary tests with seeds, damaged seeds and what fuzzing once found.
//!
//! A function takes any bytes, and panics only where a promise was broken. Owns those promises. Must not know:
//! where the bytes come from, or what they may cost (`fuzz/src/bound.rs`). Nothing that is shipped imports it.

#[cfg(feature = "amdgpu")]
pub mod amdgpu;
#[cfg(feature = "cli")]
pub mod analysis;
#[cfg(feature = "bind")]
pub mod bind;
#[cfg(feature = "cli")]
pub mod check;
#[cfg(feature = "jit")]
pub mod device;
#[cfg(feature = "cli")]
pub mod doctor;
#[cfg(feature = "image")]
pub mod image;
#[cfg(feature = "jit")]
pub mod jit;
#[cfg(feature = "kfd")]
pub mod kfd;
#[cfg(feature = "names")]
pub mod names;
pub mod numbers;
#[cfg(feature = "abi")]
pub mod offload;
#[cfg(feature = "patch")]
pub mod patch;
#[cfg(feature = "cli")]
pub mod profile;
#[cfg(feature = "ptx")]
pub mod ptx;
#[cfg(feature = "cli")]
pub mod replay;
#[cfg(feature = "rpc")]
pub mod rpc;
#[cfg(feature = "rules")]
pub mod rules;
#[cfg(feature = "cli")]
pub mod trace;
#[cfg(feature = "translate")]
pub mod translate;
#[cfg(feature = "vcuda")]
pub mod vcuda;
#[cfg(feature = "vcuda")]
pub mod vcuda_copies;
#[cfg(feature = "vcuda")]
pub mod vcuda_runtime;
#[cfg(feature = "vcuda")]
pub mod vcuda_shared;
