//! Memory: on the device, the host, managed, in pools, of other devices and processes.
//!
//! Each submodule owns one kind. Must not know: copies ([`super::copy`]).

pub mod device;
pub mod host;
pub mod managed;
pub mod peer;
pub mod pool;

#[cfg(test)]
mod tests;
