//! Plans of cuFFT, by the number that the program has.
//!
//! Owns: the plans of this process, and their settings. Must not know: what is planned.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cushim_fft::made::{Made, allocate};
use cushim_fft::status;
use cushim_kernels::Memory;

/// `cufftHandle`.
pub(super) type Handle = i32;

/// Settings that `cufftSetPlanPropertyInt64` knows, both of how NVIDIA's library compiles: patience, and threads.
const PROPERTIES: [i32; 2] = [1, 2];

/// Where a plan works.
#[derive(Clone, Default)]
pub(super) enum Area {
    /// Nowhere yet.
    #[default]
    None,
    /// In memory of the plan's own.
    Own(Arc<Memory>),
    /// In the program's memory.
    Program(u64),
}

impl Area {
    /// Its address.
    pub(super) fn at(&self) -> Option<u64> {
        match self {
            Area::None => None,
            Area::Own(memory) => Some(memory.at()),
            Area::Program(at) => Some(*at),
        }
    }
}

/// What a plan is at a moment.
#[derive(Clone)]
pub(super) struct Entry {
    /// Where its work goes.
    pub(super) stream: usize,
    /// Where it works.
    pub(super) area: Area,
    /// What was planned.
    pub(super) made: Option<Arc<Made>>,
    automatic: bool,
    properties: [i64; PROPERTIES.len()],
}

#[derive(Default)]
struct Handles {
    last: Handle,
    entries: HashMap<Handle, Entry>,
}

static HANDLES: Mutex<Option<Handles>> = Mutex::new(None);

fn handles<R>(with: impl FnOnce(&mut Handles) -> R) -> R {
    let mut handles = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
    with(handles.get_or_insert_default())
}

/// Runs `with` on a plan; `CUFFT_INVALID_PLAN` if there is none.
fn entry<R>(handle: Handle, with: impl FnOnce(&mut Entry) -> Result<R, i32>) -> Result<R, i32> {
    handles(|handles| match handles.entries.get_mut(&handle) {
        Some(entry) => with(entry),
        None => Err(status::INVALID_PLAN),
    })
}

/// What a plan is now.
pub(super) fn now(handle: Handle) -> Result<Entry, i32> {
    entry(handle, |entry| Ok(entry.clone()))
}

/// The number that a function returns.
pub(super) fn answer(result: Result<(), i32>) -> i32 {
    result.err().unwrap_or(status::SUCCESS)
}

/// Writes a result to the program's pointer.
///
/// # Safety
/// It is null, or points to a `T`.
pub(super) unsafe fn write<T>(to: *mut T, value: T) -> Result<(), i32> {
    if to.is_null() {
        return Err(status::INVALID_VALUE);
    }
    // SAFETY: the caller's promise; it is not null.
    unsafe { to.write(value) };
    Ok(())
}

/// A new handle, of a plan to be made.
pub(super) fn new() -> Handle {
    handles(|handles| {
        loop {
            // A number is used again only when all others were.
            handles.last = handles.last.checked_add(1).unwrap_or(1);
            if !handles.entries.contains_key(&handles.last) {
                break;
            }
        }
        let entry = Entry {
            stream: 0,
            area: Area::None,
            made: None,
            automatic: true,
            properties: [0; PROPERTIES.len()],
        };
        handles.entries.insert(handles.last, entry);
        handles.last
    })
}

/// Whether a plan is there, and not made.
pub(super) fn is_unmade(handle: Handle) -> Result<(), i32> {
    entry(handle, |entry| entry.made.is_none().then_some(()).ok_or(status::INVALID_PLAN))
}

/// Gives a handle its plan, and memory to work in unless the program wants to.
pub(super) fn set(handle: Handle, made: Made) -> Result<u64, i32> {
    let size = made.plan.work_size();
    let wanted = entry(handle, |entry| Ok(entry.automatic && entry.area.at().is_none()))?;
    let own = if wanted { Some(Arc::new(allocate(size)?)) } else { None };
    entry(handle, |entry| {
        if entry.made.is_some() {
            return Err(status::INVALID_PLAN);
        }
        entry.made = Some(Arc::new(made));
        if let Some(own) = own {
            entry.area = Area::Own(own);
        }
        Ok(size)
    })
}

/// Removes a handle. Its memory is freed when the submitted work is complete.
pub(super) fn remove(handle: Handle) -> Result<(), i32> {
    // Freeing waits, and must not do so with the lock.
    let removed = handles(|handles| handles.entries.remove(&handle));
    removed.map(drop).ok_or(status::INVALID_PLAN)
}

/// `cufftCreate`.
pub unsafe extern "C" fn create<const K: usize>(handle: *mut Handle) -> i32 {
    if handle.is_null() {
        return status::INVALID_VALUE;
    }
    if !cushim_kernels::context() {
        return status::SETUP_FAILED;
    }
    // SAFETY: the program's variable.
    answer(unsafe { write(handle, new()) })
}

/// `cufftDestroy`.
pub unsafe extern "C" fn destroy<const K: usize>(handle: Handle) -> i32 {
    answer(remove(handle))
}

/// `cufftSetStream`.
pub unsafe extern "C" fn set_stream<const K: usize>(handle: Handle, stream: usize) -> i32 {
    answer(entry(handle, |entry| {
        entry.stream = stream;
        Ok(())
    }))
}

/// `cufftSetAutoAllocation`: before the plan is made.
pub unsafe extern "C" fn set_automatic<const K: usize>(handle: Handle, automatic: i32) -> i32 {
    answer(entry(handle, |entry| {
        if entry.made.is_some() {
            return Err(status::INVALID_PLAN);
        }
        entry.automatic = automatic != 0;
        Ok(())
    }))
}

/// `cufftSetWorkArea`: memory of the plan's own is freed.
pub unsafe extern "C" fn set_work_area<const K: usize>(handle: Handle, at: u64) -> i32 {
    let area = if at == 0 { Area::None } else { Area::Program(at) };
    let before = entry(handle, |entry| Ok(std::mem::replace(&mut entry.area, area)));
    answer(before.map(drop))
}

/// `cufftGetSize`: 0 for a plan that is not made.
pub unsafe extern "C" fn get_size<const K: usize>(handle: Handle, size: *mut usize) -> i32 {
    let found = now(handle).map(|entry| entry.made.map_or(0, |made| made.plan.work_size()));
    // SAFETY: the program's variable, or null.
    answer(found.and_then(|found| unsafe { write(size, found as usize) }))
}

/// The index of a property; `CUFFT_NOT_SUPPORTED` if it is invalid.
fn property(number: i32) -> Result<usize, i32> {
    PROPERTIES.iter().position(|known| *known == number).ok_or(status::NOT_SUPPORTED)
}

/// Has `with` look at a property of a plan.
fn kept<R>(handle: Handle, number: i32, with: impl FnOnce(&mut i64) -> R) -> Result<R, i32> {
    entry(handle, |entry| {
        let value = entry.properties.get_mut(property(number)?);
        value.map(with).ok_or(status::NOT_SUPPORTED)
    })
}

/// `cufftSetPlanPropertyInt64`.
pub unsafe extern "C" fn set_property<const K: usize>(
    handle: Handle,
    number: i32,
    value: i64,
) -> i32 {
    answer(kept(handle, number, |kept| *kept = value))
}

/// `cufftGetPlanPropertyInt64`.
pub unsafe extern "C" fn get_property<const K: usize>(
    handle: Handle,
    number: i32,
    value: *mut i64,
) -> i32 {
    let found = kept(handle, number, |kept| *kept);
    // SAFETY: the program's variable, or null.
    answer(found.and_then(|found| unsafe { write(value, found) }))
}

/// `cufftResetPlanProperty`.
pub unsafe extern "C" fn reset_property<const K: usize>(handle: Handle, number: i32) -> i32 {
    answer(kept(handle, number, |kept| *kept = 0))
}
