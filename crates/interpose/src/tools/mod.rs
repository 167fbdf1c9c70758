//! Tools: a user's libraries, called at every image and launch.
//!
//! Owns: the list of tools, the order in which they are called, and what they are given of images, kernels and calls
//! ([`launch`] has launches). For images the first tool's replacement counts; at a launch each tool sees the changes
//! of those before it. Must not know: events.
//!
//! Tools are loaded when the rules are read: at the first CUDA call that passes an image or asks for a kernel. That
//! is a `dlopen` inside a program's call, as NVIDIA's own runtimes make one for the driver; it happens only if the
//! user named a tool, and no other thread waits for it.

mod host;
pub mod launch;
mod load;
mod tool;

use std::ffi::CStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use cushim_abi::Class;
use cushim_tool::{CushimCall, CushimFunction, CushimImage, CushimTool};

use crate::config;
use crate::layouts::Code;
use crate::record::slots::MOST_WORDS;
use crate::redirect::replacement::Replacement;
use crate::registry;
use crate::site::Site;
use crate::thread;
use tool::{Tool, calling, say, text};

static TOOLS: OnceLock<Vec<Tool>> = OnceLock::new();
/// Whether there is a tool.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// Whether a tool wants to see calls: checked in each call.
static CALLS: AtomicBool = AtomicBool::new(false);
/// 0 before the end, 1 while tools are notified, 2 after.
static ENDED: AtomicU8 = AtomicU8::new(0);

/// Loads the tools that `CUSHIM_TOOL` names, separated by colons, once. False while another call is at it:
/// one of another thread, or of this one (a tool's own constructors may call CUDA).
pub fn load_once() -> bool {
    static LOADING: AtomicU8 = AtomicU8::new(0);
    const DONE: u8 = 2;
    match LOADING.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            let files = config::variable(c"CUSHIM_TOOL").unwrap_or_default();
            let _ = std::panic::catch_unwind(|| load(&String::from_utf8_lossy(&files)));
            LOADING.store(DONE, Ordering::Release);
            true
        }
        Err(state) => state == DONE,
    }
}

fn load(files: &str) {
    let files = files.split(':').filter(|file| !file.is_empty());
    let found: Vec<Tool> = files.filter_map(load::tool).collect();
    let tools = TOOLS.get_or_init(|| found);
    if tools.is_empty() {
        return;
    }
    ACTIVE.store(true, Ordering::Release);
    registry::keep_images();
    let any = |wants: fn(&CushimTool) -> bool| tools.iter().any(|tool| wants(&tool.table));
    CALLS.store(any(|t| t.call.is_some()), Ordering::Release);
    if any(|t| t.launch_begin.is_some() || t.launch_end.is_some()) {
        crate::redirect::asked::enable();
    }
    if any(|t| t.end.is_some()) {
        load::at_exit(finish);
    }
}

/// Whether there is a tool.
pub fn any() -> bool {
    ACTIVE.load(Ordering::Acquire)
}

/// The tools that may be asked now.
fn all() -> &'static [Tool] {
    if ENDED.load(Ordering::Acquire) == 2 || tool::is_calling() {
        return &[];
    }
    TOOLS.get().map_or(&[], Vec::as_slice)
}

/// Whether this is inside a call that is shown to tools.
fn inside() -> bool {
    let here = 0u8;
    // SAFETY: it is looked at, and let go of.
    unsafe { thread::current_if_any() }
        .is_some_and(|thread| thread.is_inside((&raw const here).addr()))
}

fn size_of_val32<T>(_: &T) -> u32 {
    size_of::<T>() as u32
}

/// The image that a tool wants instead of this one.
pub fn image(code: &Code, call: &CStr) -> Option<&'static Replacement> {
    if !any() || inside() {
        return None;
    }
    let owner = text(&code.owner());
    let bytes = code.bytes();
    for tool in all() {
        let Some(callback) = tool.table.image else { continue };
        let mut image = CushimImage {
            size: 0,
            reserved: 0,
            data: bytes.map_or(std::ptr::null(), |bytes| bytes.as_ptr().cast()),
            bytes: bytes.map_or(0, |bytes| bytes.len() as u64),
            owner: owner.as_ptr(),
            call: call.as_ptr(),
            other: std::ptr::null(),
            other_bytes: 0,
        };
        image.size = size_of_val32(&image);
        // SAFETY: the tool's callback, with a structure that is valid for the call.
        calling(|| unsafe { callback(&mut image) });
        if image.other.is_null() {
            continue;
        }
        // SAFETY: what the tool says is there.
        let other = unsafe {
            std::slice::from_raw_parts(image.other.cast::<u8>(), image.other_bytes as usize)
        };
        match host::keep(&tool.name, other) {
            Ok((_, replacement)) => return Some(replacement),
            Err(why) => say(&tool.name, format_args!("its image is refused: {why}")),
        }
    }
    None
}

/// Whether the image at this address came from a tool.
pub fn is_ours(address: usize) -> bool {
    any() && host::is_kept(address)
}

/// A kernel became known.
pub fn function(mangled: &str, code: &Code, handle: usize) {
    if !any() || inside() {
        return;
    }
    let (name, owner) = (text(mangled), text(&code.owner()));
    for tool in all() {
        let Some(callback) = tool.table.function else { continue };
        let (name, owner) = (name.as_ptr(), owner.as_ptr());
        let mut function =
            CushimFunction { size: 0, reserved: 0, name, owner, handle: handle as u64 };
        function.size = size_of_val32(&function);
        // SAFETY: the tool's callback, with a structure that is valid for the call.
        calling(|| unsafe { callback(&function) });
    }
}

/// A call came back.
#[inline(always)]
pub fn call(site: &'static Site, words: &[u64], outs: &[Option<u64>; MOST_WORDS], status: i32) {
    if CALLS.load(Ordering::Relaxed) {
        called(site, words, outs, status);
    }
}

#[cold]
fn called(site: &'static Site, words: &[u64], outs: &[Option<u64>; MOST_WORDS], status: i32) {
    let class = match site.class {
        Class::launch => return,
        class => text(class.name()),
    };
    let values = outs.map(Option::unwrap_or_default);
    let mask = outs.iter().enumerate().filter(|(_, out)| out.is_some());
    let call = CushimCall {
        size: size_of::<CushimCall>() as u32,
        status,
        class_name: class.as_ptr(),
        function: site.name.as_ptr(),
        words: words.as_ptr(),
        word_count: words.len() as u32,
        out_mask: mask.fold(0, |mask, (i, _)| mask | 1 << i),
        outs: values.as_ptr(),
    };
    for tool in all() {
        let Some(callback) = tool.table.call else { continue };
        // SAFETY: the tool's callback, with a structure that is valid for the call.
        calling(|| unsafe { callback(&call) });
    }
}

/// The process ends through `exit`.
fn finish() {
    if ENDED.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return;
    }
    for tool in all() {
        let Some(callback) = tool.table.end else { continue };
        // SAFETY: the tool's callback.
        calling(|| unsafe { callback() });
    }
    ENDED.store(2, Ordering::Release);
}
