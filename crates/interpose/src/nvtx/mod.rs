//! The program's own ranges and marks: NVTX, as far as it concerns times and strings.
//!
//! NVTX consists of headers. At its first NVTX call, each object opens the library that `NVTX_INJECTION64_PATH`
//! names, and calls its `InitializeInjectionNvtx2` with a function that returns the object's table of function
//! pointers; a tool stores its own functions there (nvtxTypes.h; the same in NVTX 3.0 to 3.5). Entries that are left
//! unchanged do nothing.
//!
//! Owns: that table, the functions' results, the contents of a range's event. [`crate::interned`] keeps registered
//! strings, [`crate::ranges`] the open ranges. Must not know: how an event is stored.

mod text;

use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use cushim_abi::Class;
use cushim_trace::layout::*;
use cushim_trace::recorder::Recorder;

use crate::interned::{self, Name};
use crate::life::{self, Global};
use crate::ranges::Open;
use crate::record::slots;
use crate::thread::{self, Thread};
use text::{Wide, narrow, wide};

/// `NvtxGetExportTableFunc_t`.
pub type GetExportTable = unsafe extern "C" fn(u32) -> *const c_void;

/// `NVTX_ETID_CALLBACKS`, `NVTX_ETID_VERSIONINFO`.
const CALLBACKS: u32 = 1;
const VERSION_INFO: u32 = 3;
/// `NVTX_CB_MODULE_CORE`, `NVTX_CB_MODULE_CORE2`.
const CORE: i32 = 1;
const CORE2: i32 = 5;
/// `NVTX_VERSION` of the headers from which these layouts are.
const VERSION: u32 = 3;
/// `NVTX_NO_PUSH_POP_TRACKING`: what push and pop return where ranges are not tracked.
const UNTRACKED: i32 = -2;
/// What pop returns where nothing is open: "a negative value" (nvToolsExt.h).
const NOTHING_OPEN: i32 = -1;
/// A bit in the number of a range that any thread may end: its start was not recorded.
const UNRECORDED: u64 = 1 << 63;

/// `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    size: usize,
    table: Option<unsafe extern "C" fn(i32, *mut *mut *mut usize, *mut u32) -> i32>,
}

/// `NvtxExportTableVersionInfo`.
#[repr(C)]
struct VersionInfo {
    size: usize,
    version: u32,
    reserved: u32,
    set: Option<unsafe extern "C" fn(u32)>,
}

/// `nvtxEventAttributes_t`, 48 bytes in every version.
#[repr(C)]
pub struct Attributes {
    version: u16,
    size: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_void,
}

/// `InitializeInjectionNvtx2`: puts cushim's functions into the table of one object. Returns 1,
/// "done", also where nothing is recorded: then the table stays as it is, and NVTX does nothing.
///
/// # Safety
/// `get` is NVTX's.
pub unsafe fn attach(get: GetExportTable) -> i32 {
    let wanted =
        life::global().is_some_and(|g| g.recorder.is_some() && g.classes & Class::nvtx.bit() != 0);
    if !wanted {
        return 1;
    }
    // SAFETY: as the caller promises; each table says how long it is.
    unsafe {
        if let Some(info) = get(VERSION_INFO).cast::<VersionInfo>().as_ref()
            && info.size >= size_of::<VersionInfo>()
            && let Some(set) = info.set
        {
            set(VERSION);
        }
        let Some(callbacks) = get(CALLBACKS).cast::<Callbacks>().as_ref() else { return 1 };
        let Some(table) = callbacks.table.filter(|_| callbacks.size >= size_of::<Callbacks>())
        else {
            return 1;
        };
        for (module, functions) in [(CORE, &core()[..]), (CORE2, &core2()[..])] {
            let (mut slots, mut count) = (std::ptr::null_mut(), 0);
            if table(module, &mut slots, &mut count) == 0 || slots.is_null() {
                continue;
            }
            for &(at, function) in functions.iter().filter(|(at, _)| *at < count) {
                if let Some(slot) = slots.add(at as usize).read().as_mut() {
                    *slot = function;
                }
            }
        }
    }
    1
}

/// `NvtxCallbackIdCore`: without names of categories and threads.
fn core() -> [(u32, usize); 11] {
    [
        (1, mark_ex as *const () as usize),
        (2, mark_a as *const () as usize),
        (3, mark_w as *const () as usize),
        (4, start_ex as *const () as usize),
        (5, start_a as *const () as usize),
        (6, start_w as *const () as usize),
        (7, end as *const () as usize),
        (8, push_ex as *const () as usize),
        (9, push_a as *const () as usize),
        (10, push_w as *const () as usize),
        (11, pop as *const () as usize),
    ]
}

/// `NvtxCallbackIdCore2`: without resources and names of categories.
fn core2() -> [(u32, usize); 9] {
    [
        (1, domain_mark as *const () as usize),
        (2, domain_start as *const () as usize),
        (3, domain_end as *const () as usize),
        (4, domain_push as *const () as usize),
        (5, domain_pop as *const () as usize),
        (10, register_a as *const () as usize),
        (11, register_w as *const () as usize),
        (12, register_domain_a as *const () as usize),
        (13, register_domain_w as *const () as usize),
    ]
}

/// A domain as the program holds it: null, or what `nvtxDomainCreate` returned.
type Domain = *const Name;

extern "C" fn mark_ex(attributes: *const Attributes) {
    domain_mark(std::ptr::null(), attributes);
}

extern "C" fn mark_a(message: *const c_char) {
    // SAFETY: NVTX's contract: null or a C string.
    mark(std::ptr::null(), &Said::text(&unsafe { narrow(message) }));
}

extern "C" fn mark_w(message: *const Wide) {
    // SAFETY: NVTX's contract: null or a wide string.
    mark(std::ptr::null(), &Said::text(&unsafe { wide(message) }));
}

extern "C" fn domain_mark(domain: Domain, attributes: *const Attributes) {
    with(attributes, |said| mark(domain, said));
}

extern "C" fn start_ex(attributes: *const Attributes) -> u64 {
    domain_start(std::ptr::null(), attributes)
}

extern "C" fn start_a(message: *const c_char) -> u64 {
    // SAFETY: NVTX's contract: null or a C string.
    start(std::ptr::null(), &Said::text(&unsafe { narrow(message) }))
}

extern "C" fn start_w(message: *const Wide) -> u64 {
    // SAFETY: NVTX's contract: null or a wide string.
    start(std::ptr::null(), &Said::text(&unsafe { wide(message) }))
}

extern "C" fn domain_start(domain: Domain, attributes: *const Attributes) -> u64 {
    with(attributes, |said| start(domain, said))
}

extern "C" fn end(id: u64) {
    domain_end(std::ptr::null(), id);
}

extern "C" fn push_ex(attributes: *const Attributes) -> i32 {
    domain_push(std::ptr::null(), attributes)
}

extern "C" fn push_a(message: *const c_char) -> i32 {
    // SAFETY: NVTX's contract: null or a C string.
    push(std::ptr::null(), &Said::text(&unsafe { narrow(message) }))
}

extern "C" fn push_w(message: *const Wide) -> i32 {
    // SAFETY: NVTX's contract: null or a wide string.
    push(std::ptr::null(), &Said::text(&unsafe { wide(message) }))
}

extern "C" fn domain_push(domain: Domain, attributes: *const Attributes) -> i32 {
    with(attributes, |said| push(domain, said))
}

extern "C" fn pop() -> i32 {
    domain_pop(std::ptr::null())
}

extern "C" fn register_a(_: Domain, string: *const c_char) -> Domain {
    // SAFETY: NVTX's contract: null or a C string.
    std::ptr::from_ref(interned::intern(&unsafe { narrow(string) }))
}

extern "C" fn register_w(_: Domain, string: *const Wide) -> Domain {
    // SAFETY: NVTX's contract: null or a wide string.
    std::ptr::from_ref(interned::intern(&unsafe { wide(string) }))
}

extern "C" fn register_domain_a(name: *const c_char) -> Domain {
    if name.is_null() { std::ptr::null() } else { register_a(std::ptr::null(), name) }
}

extern "C" fn register_domain_w(name: *const Wide) -> Domain {
    if name.is_null() { std::ptr::null() } else { register_w(std::ptr::null(), name) }
}

/// The program's data for a mark or range.
#[derive(Default)]
struct Said<'a> {
    text: &'a str,
    category: u32,
    color: u32,
    payload: u64,
    payload_type: u8,
}

impl<'a> Said<'a> {
    fn text(text: &'a str) -> Self {
        Said { text, ..Said::default() }
    }
}

/// Calls `then` with the data in `attributes`: none where they are null or shorter than in any
/// version.
fn with<R>(attributes: *const Attributes, then: impl FnOnce(&Said<'_>) -> R) -> R {
    // SAFETY: NVTX's contract: null, or attributes that say how long they are.
    let Some(a) =
        (unsafe { attributes.as_ref() }).filter(|a| usize::from(a.size) >= size_of::<Attributes>())
    else {
        return then(&Said::default());
    };
    let (payload_type, bits) = match a.payload_type {
        kind @ 1..=3 => (kind as u8, u64::MAX),
        kind @ 4..=6 => (kind as u8, u32::MAX.into()),
        _ => (0, 0),
    };
    // SAFETY: NVTX's contract: the message is what its type says; registered strings came from us.
    let text = unsafe {
        match a.message_type {
            1 => narrow(a.message.cast()),
            2 => wide(a.message.cast()),
            3 => a.message.cast::<Name>().as_ref().map_or("", |name| &name.text).into(),
            _ => "".into(),
        }
    };
    then(&Said {
        text: &text,
        category: a.category,
        color: if a.color_type == 1 { a.color } else { 0 },
        payload: a.payload & bits,
        payload_type,
    })
}

/// The calling process, its recorder and thread.
struct Here {
    global: &'static Global,
    recorder: &'static Recorder,
    thread: &'static mut Thread,
}

/// `None` where nothing can be recorded; the loss is counted.
fn here() -> Option<Here> {
    let global = life::global()?;
    let recorder = global.recorder.as_ref()?;
    // SAFETY: while the reference is held, only the recorder is called.
    match unsafe { thread::current(global) } {
        Some(thread) if !thread.busy => Some(Here { global, recorder, thread }),
        _ => {
            recorder.lose(Lost::NotReady);
            None
        }
    }
}

impl Here {
    /// Whether a range that begins now is recorded: inside a call if that is, else as the window
    /// says.
    fn admits(&mut self) -> bool {
        let here = 0u8;
        if self.thread.is_inside((&raw const here).addr()) {
            return self.thread.recorded;
        }
        let control = self.recorder.control();
        control == 0 || self.global.window.admits(self.recorder, control, false)
    }

    /// Runs `work` on the thread's open ranges; hooks in a signal handler pass through meanwhile.
    fn open<R>(&mut self, work: impl FnOnce(&mut Open) -> R) -> R {
        self.thread.busy = true;
        let done = work(&mut self.thread.ranges);
        self.thread.busy = false;
        done
    }

    fn store(&self, what: u8, domain: Domain, id: u64, said: &Said<'_>) {
        let now = self.recorder.ticks();
        // SAFETY: null, or a name that `register_domain_*` returned; those stay.
        let domain = unsafe { domain.as_ref() };
        let domain = domain.map_or(0, |name| name.number(self.global, self.recorder));
        let head = EventHead { begin: now, end: now, done: 1, ..EventHead::default() };
        let body = RangeBody {
            what,
            payload_type: said.payload_type,
            text: said.text.len() as u16,
            domain,
            id,
            payload: said.payload,
            category: said.category,
            color: said.color,
        };
        let count = slots(RANGE_TEXT + said.text.len());
        // Without room it is counted as lost there.
        if let Some(slots) = slots::reserve_here(self.global, self.recorder, count) {
            // SAFETY: `count` slots hold head, body and text.
            unsafe {
                slots.store_head(head);
                slots.at::<RangeBody>(32).write(body);
                let to = slots.at::<u8>(RANGE_TEXT);
                to.copy_from_nonoverlapping(said.text.as_ptr(), said.text.len());
                slots.publish(EVENT_RANGE, count);
            }
        }
    }
}

fn mark(domain: Domain, said: &Said<'_>) {
    let Some(mut here) = here() else { return };
    if here.admits() {
        here.store(RANGE_MARK, domain, 0, said);
    }
}

/// Starts a range that any thread may end; returns its number.
fn start(domain: Domain, said: &Said<'_>) -> u64 {
    static GIVEN: AtomicU64 = AtomicU64::new(0);
    let id = GIVEN.fetch_add(1, Ordering::Relaxed) + 1;
    let Some(mut here) = here() else { return id | UNRECORDED };
    if !here.admits() {
        return id | UNRECORDED;
    }
    here.store(RANGE_START, domain, id, said);
    id
}

/// The end of a recorded range is recorded, even if a window has closed meanwhile.
extern "C" fn domain_end(domain: Domain, id: u64) {
    if id == 0 || id & UNRECORDED != 0 {
        return;
    }
    if let Some(here) = here() {
        here.store(RANGE_END, domain, id, &Said::default());
    }
}

/// Returns how many ranges of this domain were open on this thread.
fn push(domain: Domain, said: &Said<'_>) -> i32 {
    let Some(mut here) = here() else { return UNTRACKED };
    let wanted = here.admits();
    let (level, recorded) = here.open(|open| open.push(domain.addr(), wanted));
    if recorded {
        here.store(RANGE_PUSH, domain, 0, said);
    }
    level as i32
}

/// Returns how many ranges of this domain are open on this thread afterwards.
extern "C" fn domain_pop(domain: Domain) -> i32 {
    let Some(mut here) = here() else { return UNTRACKED };
    let Some((level, recorded)) = here.open(|open| open.pop(domain.addr())) else {
        return NOTHING_OPEN;
    };
    if recorded {
        here.store(RANGE_POP, domain, 0, &Said::default());
    }
    level as i32
}
