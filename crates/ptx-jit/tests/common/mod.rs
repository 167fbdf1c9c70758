//! The device of these tests.

pub use cushim_testkit::device::*;
