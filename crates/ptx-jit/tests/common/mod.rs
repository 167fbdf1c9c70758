//! The device of these tests.

#[allow(unused_imports)] // each test binary uses a part, or only the choice of modules
pub use cushim_testkit::device::*;
