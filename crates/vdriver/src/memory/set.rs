//! Sets memory to a value of 8, 16 or 32 bits.
//!
//! Source: CUDA Driver API, `cuMemsetD8` and similar; "API synchronization behavior": setting device memory does not
//! block, setting memory that the host can access does. Must not know: the order of streams.

use cushim_abi::types::{self as abi, *};

use super::home::{Home, Role, target};
use crate::context;
use crate::entry::{in_default_stream, on_stream};
use crate::graph::Payload;
use crate::graph::work::FillNode;
use crate::state::accelerator;
use crate::status;
use crate::stream::{capture, ordered, resolve};
use cushim_accel::{Fill, Work};

/// Checks a memory set; `None` where it has no bytes.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE.
pub fn plan(fill: Fill) -> Result<Option<(Fill, Home)>, i32> {
    let wrong = status::INVALID_VALUE;
    let Fill { to, size, width, height, mut pitch, .. } = fill;
    if width == 0 || height == 0 {
        return Ok(None);
    }
    let bytes = width.checked_mul(size).ok_or(wrong)?;
    if height == 1 {
        pitch = bytes;
    }
    if !to.is_multiple_of(size as u64) || !pitch.is_multiple_of(size) || pitch < bytes {
        return Err(wrong);
    }
    let all =
        pitch.checked_mul(height - 1).and_then(|rows| rows.checked_add(bytes)).ok_or(wrong)?;
    let home = target(to, all, Role::Reached)?;
    Ok(Some((Fill { pitch, ..fill }, home)))
}

fn set(stream: abi::Stream, fill: Fill, blocking: bool) -> Result<(), i32> {
    context::current()?;
    let stream = resolve(stream)?;
    let Some((fill, home)) = plan(fill)? else { return Ok(()) };
    if blocking {
        capture::refuse(&stream)?;
    } else if capture::take(&stream, || Ok(Payload::Fill(FillNode::captured(fill))))? {
        return Ok(());
    }
    let done = stream.enter(|slot| slot.push(Work::Fill(fill), Vec::new()))?;
    if blocking && home != Home::Device {
        let outcome = done.wait();
        ordered::may_be();
        accelerator().flush_output();
        outcome.failure.map_or(Ok(()), |failure| Err(status::sticky(&failure)))?;
    }
    Ok(())
}

fn rows(to: Ptr, pitch: usize, value: u32, size: usize, width: usize, height: usize) -> Fill {
    Fill { to: to.0 as u64, value, size, width, height, pitch }
}

in_default_stream! { stream;
    fn cuMemsetD8_v2 cuMemsetD8_v2_ptds (dstDevice: Ptr, uc: u8, N: usize) {
        set(stream, rows(dstDevice, N, uc.into(), 1, N, 1), true)
    }

    fn cuMemsetD16_v2 cuMemsetD16_v2_ptds (dstDevice: Ptr, us: u16, N: usize) {
        set(stream, rows(dstDevice, 0, us.into(), 2, N, 1), true)
    }

    fn cuMemsetD32_v2 cuMemsetD32_v2_ptds (dstDevice: Ptr, ui: u32, N: usize) {
        set(stream, rows(dstDevice, 0, ui, 4, N, 1), true)
    }

    fn cuMemsetD2D8_v2 cuMemsetD2D8_v2_ptds (dstDevice: Ptr, dstPitch: usize, uc: u8, Width: usize, Height: usize) {
        set(stream, rows(dstDevice, dstPitch, uc.into(), 1, Width, Height), true)
    }

    fn cuMemsetD2D16_v2 cuMemsetD2D16_v2_ptds (dstDevice: Ptr, dstPitch: usize, us: u16, Width: usize, Height: usize) {
        set(stream, rows(dstDevice, dstPitch, us.into(), 2, Width, Height), true)
    }

    fn cuMemsetD2D32_v2 cuMemsetD2D32_v2_ptds (dstDevice: Ptr, dstPitch: usize, ui: u32, Width: usize, Height: usize) {
        set(stream, rows(dstDevice, dstPitch, ui, 4, Width, Height), true)
    }
}

on_stream! { hStream;
    fn cuMemsetD8Async cuMemsetD8Async_ptsz (dstDevice: Ptr, uc: u8, N: usize, hStream: Stream) {
        set(hStream, rows(dstDevice, 0, uc.into(), 1, N, 1), false)
    }

    fn cuMemsetD16Async cuMemsetD16Async_ptsz (dstDevice: Ptr, us: u16, N: usize, hStream: Stream) {
        set(hStream, rows(dstDevice, 0, us.into(), 2, N, 1), false)
    }

    fn cuMemsetD32Async cuMemsetD32Async_ptsz (dstDevice: Ptr, ui: u32, N: usize, hStream: Stream) {
        set(hStream, rows(dstDevice, 0, ui, 4, N, 1), false)
    }

    fn cuMemsetD2D8Async cuMemsetD2D8Async_ptsz (dstDevice: Ptr, dstPitch: usize, uc: u8, Width: usize, Height: usize, hStream: Stream) {
        set(hStream, rows(dstDevice, dstPitch, uc.into(), 1, Width, Height), false)
    }

    fn cuMemsetD2D16Async cuMemsetD2D16Async_ptsz (dstDevice: Ptr, dstPitch: usize, us: u16, Width: usize, Height: usize, hStream: Stream) {
        set(hStream, rows(dstDevice, dstPitch, us.into(), 2, Width, Height), false)
    }

    fn cuMemsetD2D32Async cuMemsetD2D32Async_ptsz (dstDevice: Ptr, dstPitch: usize, ui: u32, Width: usize, Height: usize, hStream: Stream) {
        set(hStream, rows(dstDevice, dstPitch, ui, 4, Width, Height), false)
    }
}
