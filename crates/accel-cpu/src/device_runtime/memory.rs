//! Memory of kernels' own: allocation, copies and fills, which are work in streams.

use cushim_accel::{Copy, Fill, Work};
use cushim_ptx::exec::{Caller, Cause, RuntimeCall, SHARED_WINDOW};

use super::{Answer, Runtime, error, give};

/// `cudaMemcpyDeviceToDevice`, `cudaMemcpyDefault`: the only kinds of kernels' copies.
const KINDS: [u64; 2] = [3, 4];

/// Whether bytes lie in memory that other grids reach.
fn reachable(address: u64) -> bool {
    address != 0 && address < SHARED_WINDOW
}

impl Runtime {
    pub(super) fn memory_call(&self, call: RuntimeCall, caller: &mut dyn Caller) -> Answer {
        use RuntimeCall as Call;
        let arg = |n: usize| caller.argument(n);
        let block = caller.place().0;
        let work = match call {
            Call::Malloc => return Ok(self.allocate(caller)),
            Call::Free => {
                let address = arg(0);
                let freed = self.heap().is_some_and(|heap| heap.free(self.memory(), address));
                if address == 0 || freed {
                    return Ok(Ok(()));
                }
                return Err(Cause::Address { address, bytes: 1, space: "global" });
            }
            Call::Copy => copy([arg(0), arg(1)], [0, 0], arg(2), 1, arg(3)),
            Call::Copy2D => copy([arg(0), arg(2)], [arg(1), arg(3)], arg(4), arg(5), arg(6)),
            Call::Set => fill(arg(0), 0, arg(1), arg(2), 1),
            _ => fill(arg(0), arg(1), arg(2), arg(3), arg(4)),
        };
        let stream = match call {
            Call::Copy => arg(4),
            Call::Copy2D => arg(7),
            Call::Set => arg(3),
            _ => arg(5),
        };
        Ok(work.and_then(|work| match work {
            Some(work) => self.enqueue(stream, block, work),
            None => Ok(()),
        }))
    }

    fn allocate(&self, caller: &mut dyn Caller) -> Result<(), i32> {
        let bytes = caller.argument(1);
        if bytes == 0 || caller.argument(0) == 0 {
            return Err(error::INVALID_VALUE);
        }
        let at = self.heap().map_or(0, |heap| heap.allocate(self.memory(), bytes));
        if at == 0 { Err(error::MEMORY_ALLOCATION) } else { give(caller, &at.to_le_bytes()) }
    }
}

/// A copy of rows, if there is anything to copy.
fn copy(
    [to, from]: [u64; 2],
    row: [u64; 2],
    width: u64,
    height: u64,
    kind: u64,
) -> Result<Option<Work>, i32> {
    if !KINDS.contains(&(kind & u64::from(u32::MAX))) {
        return Err(error::INVALID_DIRECTION);
    }
    if height > 1 && row.iter().any(|pitch| *pitch < width) {
        return Err(error::INVALID_PITCH);
    }
    if width == 0 || height == 0 {
        return Ok(None);
    }
    if !reachable(to) || !reachable(from) {
        return Err(error::INVALID_VALUE);
    }
    let row = row.map(|pitch| pitch.max(width) as usize);
    let (width, height) = (width as usize, height as usize);
    let plane = row.map(|pitch| pitch.saturating_mul(height));
    Ok(Some(Work::Copy(Copy { to, from, width, height, depth: 1, row, plane })))
}

/// Bytes that are set, if there are any.
fn fill(to: u64, pitch: u64, value: u64, width: u64, height: u64) -> Result<Option<Work>, i32> {
    if width == 0 || height == 0 {
        return Ok(None);
    }
    if height > 1 && pitch < width {
        return Err(error::INVALID_PITCH);
    }
    if !reachable(to) {
        return Err(error::INVALID_VALUE);
    }
    let (value, pitch) = ((value & 0xff) as u32, pitch.max(width) as usize);
    let (width, height) = (width as usize, height as usize);
    Ok(Some(Work::Fill(Fill { to, value, size: 1, width, height, pitch })))
}
