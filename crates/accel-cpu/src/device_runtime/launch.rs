//! Launches by kernels: argument buffers, checks of shapes, waiting.

use std::cell::Cell;
use std::collections::VecDeque;

use cushim_accel::locks::lock;
use cushim_accel::{Dispatch, Failure, Work};
use cushim_check::Kind;
use cushim_ptx::exec::{Cause, Memory as _, pointed_function};

use super::{Answer, Buffer, DEEPEST, Runtime, error};
use crate::children::Launched;
use crate::code::CpuCode;
use crate::device;

/// A launch's checked shape.
pub struct Shape {
    kernel: usize,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
}

thread_local! {
    /// How many grids on this thread's stack wait for what they have launched.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

impl Runtime {
    /// A kernel and a shape, and the bytes of the kernel's parameters; grid and block are two words each.
    ///
    /// # Errors
    /// A pointer that is no kernel ends the launch. The inner error is the code for an invalid shape.
    pub(super) fn shape(
        &self,
        function: u64,
        words: [u64; 4],
        shared: u32,
    ) -> Result<Result<(Shape, u32), i32>, Cause> {
        let wrong = || Cause::Address { address: function, bytes: 8, space: "global" };
        let code = self.dispatch.code.as_any().downcast_ref::<CpuCode>().ok_or_else(wrong)?;
        let number = pointed_function(function, code.module.functions.len()).ok_or_else(wrong)?;
        let kernel = code.functions.iter().position(|f| *f == number).ok_or_else(wrong)?;
        let found = self.dispatch.code.kernels().get(kernel).ok_or_else(wrong)?;
        let sides = |low: u64, high: u64| [low as u32, (low >> 32) as u32, high as u32];
        let (grid, block) = (sides(words[0], words[1]), sides(words[2], words[3]));
        let within = |sides: [u32; 3], most: [u32; 3]| {
            sides.iter().zip(most).all(|(side, most)| *side > 0 && *side <= most)
        };
        let threads = block.iter().fold(1u32, |product, side| product.saturating_mul(*side));
        let good = within(grid, [i32::MAX as u32, 65_535, 65_535])
            && within(block, [device::MAX_THREADS, device::MAX_THREADS, 64])
            && threads <= found.max_threads
            && found.required_threads.is_none_or(|required| required == block)
            && found.required_cluster.is_none_or(|cluster| {
                grid.iter().zip(cluster).all(|(grid, side)| side > 0 && grid.is_multiple_of(side))
            })
            && found.static_shared.saturating_add(shared) <= device::SHARED;
        if !good {
            return Ok(Err(error::INVALID_CONFIGURATION));
        }
        Ok(Ok((Shape { kernel, grid, block, shared }, found.params_size)))
    }

    /// A buffer of so many bytes for arguments; 0 where there is no memory.
    pub(super) fn buffer(&self, bytes: u32, launch: Option<Shape>) -> u64 {
        let found = self.memory().allocate(Kind::Arguments, u64::from(bytes.max(1)), 64);
        let Some(at) = found else { return 0 };
        lock(&self.state).buffers.insert(at, Buffer { bytes, launch });
        at
    }

    /// Launches with the contents of a buffer, which is free afterwards.
    ///
    /// # Errors
    /// The code for an invalid buffer or stream, and for too many pending launches.
    pub(super) fn launch(
        &self,
        shape: Option<Shape>,
        buffer: u64,
        stream: u64,
        block: [u32; 3],
    ) -> Result<(), i32> {
        let taken = lock(&self.state).buffers.remove(&buffer);
        let (bytes, shape) = match (taken, shape) {
            (Some(found), shape) => (found.bytes, shape.or(found.launch)),
            // A kernel without parameters needs no buffer.
            (None, Some(shape)) if buffer == 0 => (0, Some(shape)),
            (None, _) => return Err(error::INVALID_VALUE),
        };
        let mut arguments = vec![0; bytes as usize];
        let read = self.memory().load(buffer, &mut arguments).is_ok() || bytes == 0;
        if buffer != 0 {
            self.memory().free(buffer);
        }
        let Some(shape) = shape.filter(|_| read) else { return Err(error::INVALID_VALUE) };
        let code = self.dispatch.code.clone();
        let found = code.kernels().get(shape.kernel);
        let (size, cluster) =
            found.map_or((0, None), |kernel| (kernel.params_size, kernel.required_cluster));
        arguments.resize(size as usize, 0);
        let dispatch = Dispatch {
            tag: 0,
            code,
            kernel: shape.kernel,
            grid: shape.grid,
            block: shape.block,
            cluster,
            dynamic_shared: shape.shared,
            arguments: arguments.into(),
            cooperative: false,
            call: self.dispatch.call,
            trail: self.dispatch.trail.clone(),
            stream: None,
            graph: None,
        };
        self.enqueue(stream, block, Work::Dispatch(Box::new(dispatch)))
    }

    /// Runs what a block has launched so far.
    pub(super) fn synchronize(&self, block: [u32; 3]) -> Answer {
        let (mine, others): (Vec<_>, Vec<_>) = {
            let mut state = lock(&self.state);
            std::mem::take(&mut state.children).into_iter().partition(|(of, _)| *of == block)
        };
        {
            // Grids that were launched meanwhile come after it.
            let mut state = lock(&self.state);
            let later = std::mem::replace(&mut state.children, others);
            state.children.extend(later);
        }
        if mine.is_empty() {
            return Ok(Ok(()));
        }
        let depth = DEPTH.get() + 1;
        if depth > DEEPEST {
            return Ok(Err(error::SYNC_DEPTH));
        }
        let children = mine.into_iter().map(|(_, work)| work).collect();
        let launched = Launched { children, tails: VecDeque::new() };
        // On a separate thread: this one is in the middle of a kernel.
        let ended = std::thread::scope(|scope| {
            let run = || {
                DEPTH.set(depth);
                (self.run_all)(launched)
            };
            scope.spawn(run).join()
        });
        let failure = match ended {
            Ok(Ok(())) => return Ok(Ok(())),
            Ok(Err(failure)) => failure,
            Err(_) => Failure::Launch("internal error in cushim while a grid ran".into()),
        };
        let cause = Cause::Internal {
            place: "a grid that was launched".into(),
            message: failure.to_string(),
        };
        lock(&self.state).failure.get_or_insert(failure);
        Err(cause)
    }
}
