//! The bodies of the fuzz targets, a module for each subject: the fuzz targets call these functions with
//! a fuzzer's inputs, the ordinary tests with seeds, damaged seeds and inputs that once failed.
//!
//! A function takes any bytes, and panics only if the code under test breaks a promise. Owns these promises. Must not
//! know: the source of the bytes, or their limits of time and memory (`fuzz/src/bound.rs`). No shipped crate imports it.
//! Beside them: where inputs are kept (`corpus`), what tests need of the machine (`needs`), and how many cases they try
//! (`sample`).

#[cfg(feature = "amdgpu")]
pub mod amdgpu;
#[cfg(feature = "cli")]
pub mod analysis;
#[cfg(feature = "bind")]
pub mod bind;
#[cfg(feature = "cli")]
pub mod check;
pub mod corpus;
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
pub mod needs;
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
pub mod sample;
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
