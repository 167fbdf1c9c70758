//! Launches that ran on the CPU in this process and whose work was counted.
//!
//! Owns: making an event of each such report. Must not know: who counts, or what.

use std::ffi::CStr;
use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, MutexGuard};

use cushim_abi::counted::Counted;
use cushim_trace::layout::*;
use cushim_trace::meta;

use super::records::{Matcher, Out};
use super::told::kernel_of;
use crate::config::GpuTime;
use crate::life;

/// What is known of the trace of one process.
#[derive(Default)]
struct Known {
    generation: u32,
    matcher: Matcher,
    /// The names of the counters, and their number.
    names: Option<(Vec<u8>, u32)>,
    lists: u32,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
/// How often the lock is tried. It stays taken in a process that was forked while another thread
/// held it.
const TRIES: u32 = 10_000;

fn known() -> Option<MutexGuard<'static, Option<Known>>> {
    for _ in 0..TRIES {
        match KNOWN.try_lock() {
            Ok(guard) => return Some(guard),
            Err(std::sync::TryLockError::Poisoned(guard)) => return Some(guard.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    None
}

/// Stores a launch that is over in the trace.
///
/// # Safety
/// `work` is null or points to what [`Counted`] says, of the size that it says.
pub unsafe fn counted(work: *const Counted) {
    // SAFETY: as the caller promises; only its size is read before that was compared.
    let same = !work.is_null() && unsafe { (*work).size } as usize == size_of::<Counted>();
    if same {
        // SAFETY: `work` has the size of `Counted`, as compared above. A failure inside does not
        // end the program.
        let store = || unsafe { store(&*work) };
        let _ = std::panic::catch_unwind(AssertUnwindSafe(store));
    }
}

/// # Safety
/// As [`counted`].
unsafe fn store(work: &Counted) {
    let Some(global) = life::current().filter(|g| g.gpu_time_by == GpuTime::Counted) else {
        return;
    };
    let Some(recorder) = &global.recorder else { return };
    let out = Out::new(global, recorder);
    let Some(mut known) = known() else { return recorder.lose(Lost::NotReady) };
    let known = known.get_or_insert_default();
    if known.generation != global.generation {
        // Another trace file, which has none of the records.
        *known = Known { generation: global.generation, ..Known::default() };
    }
    if work.names.is_null() || (work.values.is_null() && work.count > 0) {
        return;
    }
    // SAFETY: C strings, and as many counters as there are, by the caller's promise.
    let (name, names, values) = unsafe {
        let count = (work.count as usize).min(COUNTERS_MAX);
        let values = match count {
            0 => &[],
            _ => std::slice::from_raw_parts(work.values, count),
        };
        (known.matcher.name(&out, work.symbol), CStr::from_ptr(work.names).to_bytes(), values)
    };
    let number = match &known.names {
        Some((own, number)) if own == names => *number,
        _ => {
            known.lists += 1;
            recorder
                .write_meta(&meta::encode_counters(known.lists, &String::from_utf8_lossy(names)));
            known.names = Some((names.to_vec(), known.lists));
            known.lists
        }
    };
    // The link of a launch names its kernel; a graph's names none, and kernels launched by kernels
    // differ from it.
    let kernel = match kernel_of(work.call) {
        kernel if kernel != 0 && work.inner == 0 => kernel,
        _ => known.matcher.kernel(&out, name),
    };
    let body = GpuBody {
        what: GPU_KERNEL,
        device: work.device,
        stream: work.stream,
        kernel,
        name,
        link: work.call,
        start_ns: work.start_ns,
        end_ns: work.end_ns,
        grid: work.grid,
        block: work.block,
        shared: work.shared,
        ..GpuBody::default()
    };
    out.store(body, Some((number, values)));
}
