//! Copies of rectangles and boxes in batches, or with attributes.
//!
//! Owns the layout of `CUDA_MEMCPY3D_BATCH_OP`. All operations are checked before the first is executed; the driver
//! knows where memory is, so it ignores location hints. Source: CUDA Driver API, `cuMemcpy3DBatchAsync`. Must not
//! know: how a box is copied ([`super::shape`]).

use cushim_abi::types::{self as abi, *};

use super::array;
use super::copy::copy;
use super::ends::{End, Shape};
use super::home::Home;
use super::shape::plan;
use crate::argument::At;
use crate::entry::on_stream;
use crate::state::{offer, take, take_all};
use crate::stream::{Kind, capture, resolve};
use crate::{context, status};

/// Words of an operation: two operands of five words, the extent, and a last word with the source's
/// access order and flags.
type Operation = [u64; 14];
/// `CU_MEMCPY_OPERAND_TYPE_POINTER`, `_ARRAY`.
const POINTER: u32 = 1;
const ARRAY: u32 = 2;
/// `CU_MEMORYTYPE_ARRAY`, `CU_MEMORYTYPE_UNIFIED`.
const IN_ARRAY: u64 = 3;
const UNIFIED: u64 = 4;
/// `CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL`; stream order and any order are 1 and 3.
const DURING_CALL: u32 = 2;

/// Bytes of an element of an array operand; nothing for a pointer.
fn element(operand: &[u64]) -> Result<Option<usize>, i32> {
    let &[kind, handle, ..] = operand else { return Err(status::INVALID_VALUE) };
    match kind as u32 {
        POINTER => Ok(None),
        ARRAY => {
            let array = array::by_handle(Ptr(handle as usize))?;
            array::element(array.form.format, array.form.channels).map(Some)
        }
        _ => Err(status::INVALID_VALUE),
    }
}

/// An operand as an end of a copy. Lengths are in elements; for a pointer, 0 means the extent's.
fn end(operand: &[u64], [width, height, _]: [usize; 3], size: usize) -> Result<End, i32> {
    let &[kind, at, a, b, c] = operand else { return Err(status::INVALID_VALUE) };
    let mut end = End {
        origin: [0; 4],
        kind: UNIFIED,
        host: 0,
        device: 0,
        array: 0,
        context: 0,
        pitch: 0,
        height: 0,
    };
    let bytes = |n: u64| (n as usize).checked_mul(size).ok_or(status::INVALID_VALUE);
    if kind as u32 == ARRAY {
        end.kind = IN_ARRAY;
        end.array = at as usize;
        end.origin = [bytes(a)?, b as usize, c as usize, 0];
        return Ok(end);
    }
    let (row, rows) = (a as usize, b as usize);
    if row != 0 && row < width || rows != 0 && rows < height {
        return Err(status::INVALID_VALUE);
    }
    end.device = at as usize;
    end.pitch = bytes(if row == 0 { width as u64 } else { a })?;
    end.height = if rows == 0 { height } else { rows };
    Ok(end)
}

/// An operation as a box, and whether its source is read before the call returns.
fn shape(operation: &Operation) -> Result<(Shape, bool), i32> {
    let (operands, rest) = operation.split_at(10);
    let (from, to) = operands.split_at(5);
    let &[width, height, depth, last] = rest else { return Err(status::INVALID_VALUE) };
    let (order, flags) = (last as u32, last >> 32);
    let extent = [width, height, depth].map(|n| n as usize);
    if !(1..=3).contains(&order) || flags > 1 || extent.contains(&0) {
        return Err(status::INVALID_VALUE);
    }
    let size = match (element(from)?, element(to)?) {
        (Some(a), Some(b)) if a != b => return Err(status::INVALID_VALUE),
        (a, b) => a.or(b).unwrap_or(1),
    };
    let width = extent[0].checked_mul(size).ok_or(status::INVALID_VALUE)?;
    let shape = Shape {
        from: end(from, extent, size)?,
        to: end(to, extent, size)?,
        extent: [width, extent[1], extent[2]],
    };
    Ok((shape, order == DURING_CALL))
}

/// Performs all, or says which one is invalid.
fn run(stream: abi::Stream, operations: &[Operation], flags: Flags64) -> Result<(), (usize, i32)> {
    let whole = |code| (usize::MAX, code);
    let object = resolve(stream).map_err(whole)?;
    context::current().map_err(whole)?;
    if operations.is_empty() || flags.0 != 0 || object.kind == Kind::Legacy {
        return Err(whole(status::INVALID_VALUE));
    }
    let mut all = Vec::with_capacity(operations.len());
    for (index, operation) in operations.iter().enumerate() {
        let planned = shape(operation).and_then(|(shape, now)| Ok((plan(&shape)?, now)));
        let (planned, now) = planned.map_err(|code| (index, code))?;
        all.extend(planned.map(|planned| (planned, now)));
    }
    for ((one, to, from), now) in all {
        let wait = now && from == Home::Pageable;
        if wait {
            capture::refuse(&object).map_err(whole)?;
        }
        copy(stream, one, to, from, wait).map_err(whole)?;
    }
    Ok(())
}

on_stream! { hStream;
    fn cuMemcpy3DBatchAsync cuMemcpy3DBatchAsync_ptsz (numOps: usize, opList: Ptr, failIdx: At<usize>, flags: Flags64, hStream: Stream) {
        // SAFETY: as many operations as the call says.
        let operations: Vec<Operation> = unsafe { take_all(opList, numOps)? };
        run(hStream, &operations, flags).map_err(|(index, code)| {
            offer(failIdx, index);
            code
        })
    }

    fn cuMemcpy3DBatchAsync_v2 cuMemcpy3DBatchAsync_v2_ptsz (numOps: usize, opList: Ptr, flags: Flags64, hStream: Stream) {
        // SAFETY: as many operations as the call says.
        let operations: Vec<Operation> = unsafe { take_all(opList, numOps)? };
        run(hStream, &operations, flags).map_err(|(_, code)| code)
    }

    fn cuMemcpy3DWithAttributesAsync cuMemcpy3DWithAttributesAsync_ptsz (op: Ptr, flags: Flags64, hStream: Stream) {
        // SAFETY: an operation, or null.
        let operation: Operation = unsafe { take(op)? };
        run(hStream, &[operation], flags).map_err(|(_, code)| code)
    }
}
