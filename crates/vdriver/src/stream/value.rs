//! Values in memory that streams write and wait for.
//!
//! Owns the descriptions of operations. Source: CUDA Driver API, "Stream Memory Operations". Must not know: their
//! effects ([`super::operation`]).

use std::sync::Arc;

use cushim_abi::types::{self as abi, *};

use super::operation::{Operation, until};
use super::{Stream as Object, capture, resolve};
use crate::entry::on_stream;
use crate::memory::home::{Role, home, target};
use crate::state::take;
use crate::{host, status};
use cushim_accel::{Copy, Fill, Signal, Work};

fn place(at: Ptr, bytes: usize) -> Result<u64, i32> {
    let at = at.0 as u64;
    if !at.is_multiple_of(bytes as u64) {
        return Err(status::INVALID_VALUE);
    }
    home(at, bytes, Role::Reached).map(|_| at)
}

fn write(at: Ptr, value: u64, bytes: usize, flags: u32) -> Result<Operation, i32> {
    // CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER.
    if flags > 1 {
        return Err(status::INVALID_VALUE);
    }
    let at = place(at, bytes)?;
    target(at, bytes, Role::Reached)?;
    Ok(Operation::Write { at, value, bytes })
}

/// The second form of a write always has a memory barrier (H200).
fn with_barrier(flags: abi::Flags) -> Result<(), i32> {
    if flags.0 == 0 { Ok(()) } else { Err(status::INVALID_VALUE) }
}

fn wait(at: Ptr, value: u64, bytes: usize, flags: u32) -> Result<Operation, i32> {
    // The comparison, and CU_STREAM_WAIT_VALUE_FLUSH, which concerns writes of other devices.
    if flags & !(3 | 1 << 30) != 0 {
        return Err(status::INVALID_VALUE);
    }
    Ok(Operation::Wait { at: place(at, bytes)?, value, bytes, how: flags & 3 })
}

fn run(stream: &Arc<Object>, all: Vec<Operation>) -> Result<(), i32> {
    capture::refuse(stream)?;
    stream.enter(|slot| {
        for operation in all {
            match operation {
                Operation::Write { at, value, bytes: 4 } => {
                    let to = Fill {
                        to: at,
                        value: value as u32,
                        size: 4,
                        width: 1,
                        height: 1,
                        pitch: 4,
                    };
                    slot.push(Work::Fill(to), Vec::new())?;
                }
                Operation::Write { at, value, bytes } => {
                    // One store of all bytes, from memory that lives until it is done.
                    let from = Box::new(value);
                    let address = std::ptr::from_ref(&*from).expose_provenance() as u64;
                    let copy = Copy::line(at, address, bytes);
                    let done: Signal = slot.push(Work::Copy(copy), Vec::new())?;
                    done.then(move || drop(from));
                }
                Operation::Wait { at, value, bytes, how } => {
                    let context = slot.context.clone();
                    slot.host(move || {
                        host::refusing(|| until(&context, at, value, bytes, how));
                    })?;
                }
                Operation::Nothing => {}
            }
        }
        Ok(())
    })
}

/// Operations as described, and as performed.
type Described = (Vec<[u64; 6]>, Vec<Operation>);

/// Reads `CUstreamBatchMemOpParams`: six words; operation, address, value, flags.
///
/// # Safety
/// `from` has `count` of them.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE; CUDA_ERROR_NOT_SUPPORTED for a flush of other devices' writes.
pub unsafe fn read(count: u32, from: Ptr) -> Result<Described, i32> {
    if count > 256 {
        return Err(status::INVALID_VALUE);
    }
    let (mut all, mut described) = (Vec::new(), Vec::new());
    for index in 0..count as usize {
        // SAFETY: the caller's array has as many.
        let raw: [u64; 6] = unsafe { take(Ptr(from.0.wrapping_add(index * 48)))? };
        let [kind, at, value, flags, ..] = raw;
        described.push(raw);
        let (at, flags) = (Ptr(at as usize), flags as u32);
        all.push(match kind as u32 {
            1 => wait(at, value & 0xffff_ffff, 4, flags)?,
            2 => write(at, value & 0xffff_ffff, 4, flags)?,
            4 => wait(at, value, 8, flags)?,
            5 => write(at, value, 8, flags)?,
            // A flush of other devices' writes, which an H200 lacks too; a memory barrier.
            3 => return Err(status::NOT_SUPPORTED),
            6 => Operation::Nothing,
            _ => return Err(status::INVALID_VALUE),
        });
    }
    Ok((described, all))
}

unsafe fn batch(stream: abi::Stream, count: u32, from: Ptr, flags: u32) -> Result<(), i32> {
    let stream = resolve(stream)?;
    if flags != 0 {
        return Err(status::INVALID_VALUE);
    }
    // SAFETY: the caller's array has as many.
    let (_, all) = unsafe { read(count, from)? };
    run(&stream, all)
}

on_stream! { stream;
    fn cuStreamWriteValue32 cuStreamWriteValue32_ptsz (stream: Stream, addr: Ptr, value: u32, flags: Flags) {
        run(&resolve(stream)?, vec![write(addr, value.into(), 4, flags.0)?])
    }

    fn cuStreamWriteValue32_v2 cuStreamWriteValue32_v2_ptsz (stream: Stream, addr: Ptr, value: u32, flags: Flags) {
        with_barrier(flags)?;
        run(&resolve(stream)?, vec![write(addr, value.into(), 4, flags.0)?])
    }

    fn cuStreamWriteValue64 cuStreamWriteValue64_ptsz (stream: Stream, addr: Ptr, value: u64, flags: Flags) {
        run(&resolve(stream)?, vec![write(addr, value, 8, flags.0)?])
    }

    fn cuStreamWriteValue64_v2 cuStreamWriteValue64_v2_ptsz (stream: Stream, addr: Ptr, value: u64, flags: Flags) {
        with_barrier(flags)?;
        run(&resolve(stream)?, vec![write(addr, value, 8, flags.0)?])
    }

    fn cuStreamWaitValue32 cuStreamWaitValue32_ptsz (stream: Stream, addr: Ptr, value: u32, flags: Flags) {
        run(&resolve(stream)?, vec![wait(addr, value.into(), 4, flags.0)?])
    }

    fn cuStreamWaitValue32_v2 cuStreamWaitValue32_v2_ptsz (stream: Stream, addr: Ptr, value: u32, flags: Flags) {
        run(&resolve(stream)?, vec![wait(addr, value.into(), 4, flags.0)?])
    }

    fn cuStreamWaitValue64 cuStreamWaitValue64_ptsz (stream: Stream, addr: Ptr, value: u64, flags: Flags) {
        run(&resolve(stream)?, vec![wait(addr, value, 8, flags.0)?])
    }

    fn cuStreamWaitValue64_v2 cuStreamWaitValue64_v2_ptsz (stream: Stream, addr: Ptr, value: u64, flags: Flags) {
        run(&resolve(stream)?, vec![wait(addr, value, 8, flags.0)?])
    }

    fn cuStreamBatchMemOp cuStreamBatchMemOp_ptsz (stream: Stream, count: u32, paramArray: Ptr, flags: Flags) {
        // SAFETY: as many operations as the call says.
        unsafe { batch(stream, count, paramArray, flags.0) }
    }

    fn cuStreamBatchMemOp_v2 cuStreamBatchMemOp_v2_ptsz (stream: Stream, count: u32, paramArray: Ptr, flags: Flags) {
        // SAFETY: as many operations as the call says.
        unsafe { batch(stream, count, paramArray, flags.0) }
    }
}
