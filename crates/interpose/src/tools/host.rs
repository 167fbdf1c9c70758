//! The functions that cushim offers to tools: `cushim_host`.
//!
//! Must not know: when tools are called.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use cushim_names::Name;
use cushim_process::elf::{self, Version};
use cushim_tool::{CUSHIM_ABI, CushimHost, CushimLaunch};
use cushim_trace::meta::Mark;

use super::tool;
use crate::log::{self, Level};
use crate::redirect::replacement::Replacement;
use crate::{device, dump, life};

/// Images that tools brought, in the order of their numbers, from 1.
static IMAGES: Mutex<Images> = Mutex::new(Images { all: Vec::new(), by_hash: None });

struct Images {
    all: Vec<&'static Replacement>,
    by_hash: Option<HashMap<String, u64>>,
}

static TABLE: CushimHost = CushimHost {
    abi: CUSHIM_ABI,
    size: size_of::<CushimHost>() as u32,
    version: concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast(),
    say,
    mark,
    symbol,
    readable,
    range,
    read,
    write,
    synchronize,
    capturing,
    add_image,
};

/// The table that each tool is given.
pub fn table() -> *const CushimHost {
    &raw const TABLE
}

/// CUDA_ERROR_INVALID_VALUE.
const INVALID: c_int = 1;

/// # Safety
/// `at` is null or a NUL-terminated string.
unsafe fn string(at: *const c_char) -> String {
    match at.is_null() {
        true => String::new(),
        // SAFETY: as the caller promises.
        false => unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned(),
    }
}

unsafe extern "C" fn say(text: *const c_char) {
    // SAFETY: the tool's string.
    let text = unsafe { string(text) };
    log::line(Level::Error, format_args!("{text}"));
}

unsafe extern "C" fn mark(text: *const c_char) -> c_int {
    /// Marks from outside the process count from 1; a reader identifies a mark by its number.
    const OURS: u32 = 1 << 31;
    static NEXT: AtomicU32 = AtomicU32::new(OURS);
    let Some(recorder) = life::current().and_then(|global| global.recorder.as_ref()) else {
        return -1;
    };
    // SAFETY: the tool's string.
    let text = unsafe { string(text) };
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mark = Mark { number, ticks: recorder.ticks(), text };
    if recorder.write_meta(&mark.encode()) { 0 } else { -1 }
}

unsafe extern "C" fn symbol(name: *const c_char) -> *mut c_void {
    if name.is_null() {
        return std::ptr::null_mut();
    }
    // SAFETY: the tool's string.
    let name = unsafe { CStr::from_ptr(name) };
    elf::next(name, Version::Any, |_| true).unwrap_or(0) as *mut c_void
}

unsafe extern "C" fn readable(symbol: *const c_char, to: *mut c_char, room: u64) {
    if to.is_null() || room == 0 {
        return;
    }
    // SAFETY: the tool's string.
    let name = Name::new(&unsafe { string(symbol) }).full;
    let most = (room as usize - 1).min(name.len());
    let cut = (0..=most).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    // SAFETY: `room` bytes are there, and `cut` is less.
    unsafe {
        to.cast::<u8>().copy_from_nonoverlapping(name.as_ptr(), cut);
        to.add(cut).write(0);
    }
}

fn status(result: Result<(), i32>) -> c_int {
    result.err().unwrap_or(0)
}

unsafe extern "C" fn range(at: u64, base: *mut u64, bytes: *mut u64) -> c_int {
    match device::range(at) {
        Ok(found) => {
            // SAFETY: null, or places of the tool's.
            unsafe {
                if let Some(base) = base.as_mut() {
                    *base = found.0;
                }
                if let Some(bytes) = bytes.as_mut() {
                    *bytes = found.1;
                }
            }
            0
        }
        Err(error) => error,
    }
}

unsafe extern "C" fn read(to: *mut c_void, from: u64, bytes: u64) -> c_int {
    if bytes == 0 {
        return 0;
    }
    if to.is_null() {
        return INVALID;
    }
    // SAFETY: the tool's memory.
    let to = unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), bytes as usize) };
    status(device::relaxed(|| device::read(to, from)))
}

unsafe extern "C" fn write(to: u64, from: *const c_void, bytes: u64) -> c_int {
    if bytes == 0 {
        return 0;
    }
    if from.is_null() {
        return INVALID;
    }
    // SAFETY: the tool's memory.
    let from = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), bytes as usize) };
    status(device::relaxed(|| device::write(to, from)))
}

unsafe extern "C" fn synchronize(launch: *const CushimLaunch) -> c_int {
    // SAFETY: null, or the launch that the tool was given.
    match unsafe { launch.as_ref() } {
        Some(launch) => status(device::relaxed(|| device::synchronize(launch.stream as usize))),
        None => INVALID,
    }
}

unsafe extern "C" fn capturing(launch: *const CushimLaunch) -> c_int {
    // SAFETY: null, or the launch that the tool was given.
    unsafe { launch.as_ref() }.map_or(0, |l| c_int::from(device::is_capturing(l.stream as usize)))
}

unsafe extern "C" fn add_image(data: *const c_void, bytes: u64) -> u64 {
    if data.is_null() {
        return 0;
    }
    // SAFETY: what the tool says is there.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes as usize) };
    let kept = std::panic::catch_unwind(|| keep("add_image", bytes));
    match kept.unwrap_or_else(|_| Err("reading it failed".to_owned())) {
        Ok((number, _)) => number,
        Err(why) => {
            tool::say("add_image", format_args!("{why}"));
            0
        }
    }
}

/// Keeps an image for ever, once.
///
/// # Errors
/// Why it cannot be used.
pub fn keep(from: &str, bytes: &[u8]) -> Result<(u64, &'static Replacement), String> {
    let hash = dump::hash(bytes);
    let mut images = IMAGES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let Images { all, by_hash } = &mut *images;
    let by_hash = by_hash.get_or_insert_default();
    let known = by_hash.get(&hash).copied();
    if let Some((number, image)) = known.and_then(|n| Some((n, *all.get(n as usize - 1)?))) {
        return Ok((number, image));
    }
    let name = format!("an image of {from}");
    let image = Replacement::of(bytes, &name).map_err(|why| why.to_string())?;
    let image: &'static Replacement = Box::leak(Box::new(image));
    all.push(image);
    let number = all.len() as u64;
    by_hash.insert(hash, number);
    Ok((number, image))
}

/// The image of a number.
pub fn kept(number: u64) -> Option<&'static Replacement> {
    let images = IMAGES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    images.all.get(usize::try_from(number.checked_sub(1)?).ok()?).copied()
}

/// Whether one of them lies at this address.
pub fn is_kept(address: usize) -> bool {
    let images = IMAGES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    images.all.iter().any(|image| image.is(address))
}
