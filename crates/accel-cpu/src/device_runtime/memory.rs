//! Memory calls of kernels: allocation, and copies and fills, which are work in streams.

use cushim_accel::{Copy, Fill, Work};
use cushim_ptx::exec::{Caller, Cause, RuntimeCall, SHARED_WINDOW};

use super::{Answer, Runtime, error, give};

mod planes;

/// `cudaMemcpyDeviceToDevice`, `cudaMemcpyDefault`: the only kinds of kernels' copies.
const KINDS: [u64; 2] = [3, 4];

/// Whether bytes lie in memory that other grids can access.
fn reachable(address: u64) -> bool {
    address != 0 && address < SHARED_WINDOW
}

impl Runtime {
    /// Work that a kernel puts into a stream.
    pub(super) fn memory_call(&self, call: RuntimeCall, caller: &dyn Caller) -> Result<(), i32> {
        use RuntimeCall as Call;
        let arg = |n: usize| caller.argument(n);
        let one = |work: Option<Work>| work.into_iter().collect();
        let (work, stream): (Vec<Work>, u64) = match call {
            Call::Copy => (one(copy([arg(0), arg(1)], [0, 0], arg(2), 1, arg(3))?), arg(4)),
            Call::Copy2D => {
                let made = copy([arg(0), arg(2)], [arg(1), arg(3)], arg(4), arg(5), arg(6))?;
                (one(made), arg(7))
            }
            Call::Copy3D => (one(planes::copied(caller, arg(0))?), arg(1)),
            Call::Set => (one(fill(arg(0), 0, arg(1), arg(2), 1)?), arg(3)),
            Call::Set2D => (one(fill(arg(0), arg(1), arg(2), arg(3), arg(4))?), arg(5)),
            _ => {
                let to = [arg(0), arg(1), arg(3)];
                (planes::filled(to, arg(4), [arg(5), arg(6), arg(7)])?, arg(8))
            }
        };
        work.into_iter().try_for_each(|work| self.enqueue(stream, caller.place().0, work))
    }

    /// Allocations from the heap.
    ///
    /// # Errors
    /// The reason to end the launch: an address that was not allocated.
    pub(super) fn heap_call(&self, call: RuntimeCall, caller: &mut dyn Caller) -> Answer {
        if call == RuntimeCall::Malloc {
            return Ok(self.allocate(caller));
        }
        let address = caller.argument(0);
        let freed = self.heap().is_some_and(|heap| heap.free(self.memory(), address));
        if address == 0 || freed {
            return Ok(Ok(()));
        }
        Err(Cause::Address { address, bytes: 1, space: "global" })
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

/// The bytes to set, if there are any.
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
