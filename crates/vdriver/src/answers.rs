//! Data that kernels request from the driver: device attributes and limits, occupancy, error texts.
//!
//! Must not know: how they request it.

use cushim_accel::{Answers, Kernel, NodeChange};

use super::{context, device, graph, limits, occupancy, state, status};

/// CUDA's text for an unknown error number (measured).
const UNKNOWN: &str = "unrecognized error code";

/// The driver.
pub struct Driver;

impl Answers for Driver {
    fn attribute(&self, device: usize, number: i32) -> Option<i32> {
        // Attribute numbers begin at 1; for number 0 an H200 gives kernels the value 0.
        let found = state::accelerator().devices().get(device)?;
        if number == 0 { Some(0) } else { device::attribute(found, device as i32, number) }
    }

    fn limit(&self, device: usize, number: i32) -> Result<u64, i32> {
        let device = i32::try_from(device).map_err(|_| status::INVALID_DEVICE)?;
        limits::get(&context::primary(device)?.context, number).map(|value| value as u64)
    }

    fn occupancy(&self, device: usize, kernel: &Kernel, threads: u32, dynamic: u32) -> u32 {
        occupancy::of_kernel(kernel, device, threads, dynamic)
    }

    fn update_nodes(&self, changes: &[NodeChange]) -> Result<(), i32> {
        graph::device::update(changes)
    }

    fn error(&self, number: i32) -> (&'static str, &'static str) {
        let name = cushim_abi::errors::runtime_error_name(number).unwrap_or(UNKNOWN);
        let text = cushim_vbase::error_text::text(number).and_then(|text| text.to_str().ok());
        (name, text.unwrap_or(UNKNOWN))
    }
}
