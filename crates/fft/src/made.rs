//! A plan on a device: its tables, and its launches.
//!
//! Owns: the memory of tables. Must not know: handles, the program's work areas.

use std::sync::{Mutex, PoisonError};

use cushim_kernels::{Memory, Moment, context, is_capturing, kernel, launch};

use crate::plan::Plan;
use crate::status;
use crate::steps::{Call, steps, tables};
use crate::table::{Table, bytes};

/// Threads of a block.
const THREADS: u32 = 128;

/// A plan whose tables are in device memory.
#[derive(Debug)]
pub struct Made {
    /// The plan.
    pub plan: Plan,
    memory: Memory,
    tables: Vec<(Table, u64)>,
    last: Mutex<Option<Use>>,
}

/// The last use of the work area outside of a graph.
#[derive(Debug)]
struct Use {
    stream: usize,
    done: Moment,
}

/// Memory for so many bytes in the current context.
///
/// # Errors
/// A `cufftResult`.
pub fn allocate(size: u64) -> Result<Memory, i32> {
    if !context() {
        return Err(status::SETUP_FAILED);
    }
    let size = usize::try_from(size).map_err(|_| status::ALLOC_FAILED)?;
    Memory::new(size).map_err(|_| status::ALLOC_FAILED)
}

impl Made {
    /// Computes the tables, and puts them into device memory of the current context.
    ///
    /// # Errors
    /// A `cufftResult`.
    pub fn new(plan: Plan) -> Result<Made, i32> {
        let work = plan.kind.part.work();
        let (mut all, mut places) = (Vec::new(), Vec::new());
        for table in tables(&plan) {
            places.push((table, all.len() as u64));
            all.extend(bytes(&table.values(), work));
        }
        if !context() {
            return Err(status::SETUP_FAILED);
        }
        let memory = Memory::with(&all).map_err(|_| status::ALLOC_FAILED)?;
        Ok(Made { plan, memory, tables: places, last: Mutex::new(None) })
    }

    /// Launches the transforms in `stream`. Uses of the plan in several streams are serialised, because they share
    /// the work area: NVIDIA's library needs none for many lengths, and CuPy gives all streams one plan.
    ///
    /// # Errors
    /// A `cufftResult`.
    pub fn execute(&self, call: &Call, stream: usize) -> Result<(), i32> {
        if !context() {
            return Err(status::SETUP_FAILED);
        }
        if is_capturing(stream) {
            return self.launch(call, stream);
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.as_ref().filter(|last| last.stream != stream) {
            last.done.comes_before(stream).map_err(|_| status::EXEC_FAILED)?;
        }
        let launched = self.launch(call, stream);
        let now = match last.take() {
            Some(last) => last.done,
            None => Moment::new().map_err(|_| status::INTERNAL_ERROR)?,
        };
        now.is_now(stream).map_err(|_| status::EXEC_FAILED)?;
        *last = Some(Use { stream, done: now });
        launched
    }

    fn launch(&self, call: &Call, stream: usize) -> Result<(), i32> {
        let place = |wanted: Table| {
            let found = self.tables.iter().find(|(table, _)| *table == wanted);
            found.map_or(0, |(_, distance)| self.memory.at().wrapping_add(*distance))
        };
        let mut first = 0;
        while first < self.plan.batch {
            for step in steps(&self.plan, call, first, &place) {
                let kernel = kernel(step.kernel.name(), || step.kernel.text())
                    .map_err(|_| status::INTERNAL_ERROR)?;
                let blocks = [step.parameter.count.div_ceil(THREADS), 1];
                // SAFETY: every kernel of this crate has one parameter, of this type.
                unsafe { launch(kernel, blocks, THREADS, stream, &step.parameter) }
                    .map_err(|_| status::EXEC_FAILED)?;
            }
            first += self.plan.at_once;
        }
        Ok(())
    }
}
