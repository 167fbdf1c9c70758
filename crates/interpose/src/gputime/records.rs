//! Makes events of CUPTI's activity records.
//!
//! Owns: the layout of the records that are used, and finding each record's call. The offsets are those of
//! `cupti_activity.h`, the same in CUDA 11.8, 12.4 and 13.5 (compared with a C compiler's `offsetof`): newer versions
//! of a record only append fields.
//!
//! CUPTI delivers buffers on a thread of its own. Records of work that belongs to no recorded call are dropped. Must
//! not know: how CUPTI is found, and how links are stored.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cushim_trace::clock::{self, Timeline};
use cushim_trace::layout::*;
use cushim_trace::meta;
use cushim_trace::recorder::Recorder;

use super::begun;
use super::source::note;
use super::told::{self, Told, kernel_of};
use crate::life::{self, Global};
use crate::log::Level;

/// How many names are cached by their address.
const RECENT: usize = 256;
/// `CUPTI_ERROR_MAX_LIMIT_REACHED`: no more records in the buffer.
const NO_MORE: i32 = 12;

/// `cuptiActivityGetNextRecord`, `cuptiActivityGetNumDroppedRecords`.
static NEXT: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicUsize = AtomicUsize::new(0);
/// Records are timed by [`now`].
static OWN_CLOCK: AtomicBool = AtomicBool::new(false);
static MATCHER: Mutex<Option<Matcher>> = Mutex::new(None);

/// What is known of records that were read.
#[derive(Default)]
pub struct Matcher {
    /// Numbers of symbols, and by those the kernels that no launch named.
    names: HashMap<Vec<u8>, u32>,
    /// A cache of name and number by address: hashing the long names of templates takes longer than
    /// all else that is done for a record.
    recent: Vec<Option<(usize, CString, u32)>>,
    kernels: HashMap<u32, u32>,
    /// Records that CUPTI had no room for.
    dropped: usize,
    /// Records that came so late that their calls were forgotten.
    replaced: usize,
    /// Records of nodes with times before their graph's launch.
    early: usize,
}

/// CUPTI's clock.
pub extern "C" fn now() -> u64 {
    clock::clock_ns(libc::CLOCK_MONOTONIC)
}

/// Sets the functions that read records, and whether their times are those of [`now`].
pub fn prepare(next: usize, dropped: usize, own_clock: bool) {
    NEXT.store(next, Ordering::Release);
    DROPPED.store(dropped, Ordering::Release);
    OWN_CLOCK.store(own_clock, Ordering::Release);
}

/// Where events go, for as long as a buffer is read.
pub struct Out<'a> {
    global: &'static Global,
    recorder: &'a Recorder,
    line: Timeline,
    /// To be added to a record's times, ns.
    shift: i64,
}

/// Makes events of the records in a buffer of CUPTI's, of which `valid` bytes are filled.
pub fn read(context: *mut c_void, stream: u32, buffer: *mut u8, valid: usize) {
    let next = NEXT.load(Ordering::Acquire);
    let Some(global) = life::current() else { return };
    let Some(recorder) = &global.recorder else { return };
    let shift = match OWN_CLOCK.load(Ordering::Acquire) {
        true => 0,
        // The wall clock may have been set meanwhile: its present value counts.
        false => {
            let now = clock::calibrate(false);
            now.monotonic_ns.wrapping_sub(now.realtime_ns) as i64
        }
    };
    let out = Out { shift, ..Out::new(global, recorder) };
    let Ok(mut matcher) = MATCHER.lock() else { return };
    let matcher = matcher.get_or_insert_default();
    let mut record: *mut u8 = std::ptr::null_mut();
    let mut dropped = 0usize;
    // SAFETY: CUPTI's functions with the signatures of cupti_activity.h, and the buffer that it has
    // just handed over; a record is as long as its kind says.
    unsafe {
        let next: unsafe extern "C" fn(*mut u8, usize, *mut *mut u8) -> i32 =
            std::mem::transmute::<usize, _>(next);
        loop {
            match next(buffer, valid, &mut record) {
                0 if !record.is_null() => matcher.take(&out, record),
                NO_MORE => break,
                _ => break,
            }
        }
        let count: unsafe extern "C" fn(*mut c_void, u32, *mut usize) -> i32 =
            std::mem::transmute::<usize, _>(DROPPED.load(Ordering::Acquire));
        if count(context, stream, &mut dropped) == 0 {
            matcher.dropped += dropped;
        }
    }
}

/// The process ends: reports what could not be had.
pub fn finish() {
    let missing = MATCHER.lock().ok().and_then(|mut matcher| {
        let matcher = matcher.as_mut()?;
        Some([&mut matcher.dropped, &mut matcher.replaced, &mut matcher.early].map(std::mem::take))
    });
    let Some([dropped, replaced, early]) = missing else { return };
    if dropped > 0 {
        note(Level::Warn, &format!("--gpu-time: CUPTI had no room for {dropped} records"));
    }
    if replaced > 0 {
        let calls = told::ENTRIES;
        let text = format!(
            "--gpu-time: {replaced} records of CUPTI came more than {calls} calls after theirs; their work has no GPU time"
        );
        note(Level::Warn, &text);
    }
    if early > 0 {
        let text = format!(
            "--gpu-time: {early} records of CUPTI are of nodes of graphs, with times before the graph's launch; such a node did not run, or its work has no GPU time"
        );
        note(Level::Warn, &text);
    }
}

/// A field of a record.
///
/// # Safety
/// The record is longer than `at` and the field.
unsafe fn field<T: Copy>(record: *const u8, at: usize) -> T {
    // SAFETY: as the caller promises.
    unsafe { record.add(at).cast::<T>().read_unaligned() }
}

impl Matcher {
    /// # Safety
    /// `record` is one of CUPTI's.
    unsafe fn take(&mut self, out: &Out<'_>, record: *const u8) {
        // SAFETY: every record begins with its kind; each kind is at least as long as is read of it.
        unsafe {
            match field::<u32>(record, 0) {
                // CUpti_ActivityKernel*
                3 | 10 => {
                    let body = GpuBody {
                        what: GPU_KERNEL,
                        name: self.name(out, field::<*const c_char>(record, 104)),
                        grid: field(record, 52),
                        block: field(record, 64),
                        shared: field::<u32>(record, 76).wrapping_add(field(record, 80)),
                        graph_node: field(record, 144),
                        correlation: field(record, 92),
                        ..out.times(record, 40)
                    };
                    self.work(out, body);
                }
                // CUpti_ActivityMemcpy*, CUpti_ActivityMemset*: they begin alike.
                kind @ (1 | 2) => {
                    let body = GpuBody {
                        what: if kind == 1 { GPU_COPY } else { GPU_SET },
                        direction: if kind == 1 { field(record, 4) } else { 0 },
                        bytes: field(record, 8),
                        graph_node: field(record, 64),
                        correlation: field(record, 44),
                        ..out.times(record, 32)
                    };
                    self.work(out, body);
                }
                // CUpti_ActivityMemcpyPtoP*
                22 => {
                    let body = GpuBody {
                        what: GPU_COPY,
                        direction: field(record, 4),
                        bytes: field(record, 8),
                        graph_node: field(record, 72),
                        correlation: field(record, 60),
                        ..out.times(record, 32)
                    };
                    self.work(out, body);
                }
                _ => {}
            }
        }
    }

    /// Stores work of a call. Work of calls that are not recorded has no link.
    fn work(&mut self, out: &Out<'_>, body: GpuBody) {
        let own_clock = OWN_CLOCK.load(Ordering::Relaxed);
        if body.graph_node != 0
            && body.end_ns != 0
            && begun::precedes(body.correlation, body.start_ns, own_clock)
        {
            self.early += 1;
            return;
        }
        match told::of(body.correlation) {
            Told::Link(link) => self.store(out, body, link),
            Told::Replaced => self.replaced += 1,
            Told::Nothing => {}
        }
    }

    /// The number of a symbol; its record is written to the trace.
    ///
    /// # Safety
    /// `name` is null or a C string.
    pub unsafe fn name(&mut self, out: &Out<'_>, name: *const c_char) -> u32 {
        if name.is_null() {
            return 0;
        }
        let address = name.addr();
        // SAFETY: as the caller promises.
        let name = unsafe { CStr::from_ptr(name) };
        if self.recent.is_empty() {
            self.recent.resize(RECENT, None);
        }
        let place = address / 16 % RECENT;
        if let Some(Some((at, text, number))) = self.recent.get(place)
            // The table may hold another name by now.
            && *at == address && text.as_c_str() == name
        {
            return *number;
        }
        let number = self.number(out, name);
        if let Some(recent) = self.recent.get_mut(place) {
            *recent = Some((address, name.to_owned(), number));
        }
        number
    }

    fn number(&mut self, out: &Out<'_>, name: &CStr) -> u32 {
        if let Some(&number) = self.names.get(name.to_bytes()) {
            return number;
        }
        let number = crate::record::slots::new_name();
        self.names.insert(name.to_bytes().to_vec(), number);
        out.recorder.write_meta(&meta::encode_name(number, &name.to_string_lossy()));
        number
    }

    /// The kernel of that symbol, for work whose call launched no kernel itself: a graph, or a
    /// memory set that CUDA does with a kernel. Readers merge kernels of one symbol.
    pub fn kernel(&mut self, out: &Out<'_>, name: u32) -> u32 {
        if name == 0 {
            return 0;
        }
        let Matcher { names, kernels, .. } = self;
        *kernels.entry(name).or_insert_with(|| {
            let number = crate::registry::new_number();
            let symbol =
                names.iter().find(|(_, number)| **number == name).map(|(symbol, _)| symbol);
            let record = meta::Kernel {
                mangled: String::from_utf8_lossy(symbol.map_or(&[], |s| s)).into_owned(),
                params: Err("its launch was not seen".to_owned()),
                ..meta::Kernel::default()
            };
            out.recorder.write_meta(&record.encode(number));
            number
        })
    }

    fn store(&mut self, out: &Out<'_>, body: GpuBody, link: u64) {
        let kernel = match (body.what, kernel_of(link)) {
            (GPU_KERNEL, 0) => self.kernel(out, body.name),
            (GPU_KERNEL, kernel) => kernel,
            (_, 0) => 0,
            // A launch does not copy: the copy is of an earlier call, which is not recorded.
            _ => return,
        };
        out.store(GpuBody { link, kernel, ..body }, None);
    }
}

impl<'a> Out<'a> {
    /// For times that need no shift.
    pub fn new(global: &'static Global, recorder: &'a Recorder) -> Self {
        Out { global, recorder, line: recorder.timeline(), shift: 0 }
    }

    /// The fields that all kinds of work have: times at 16, and device, context and stream from
    /// `at` on.
    ///
    /// # Safety
    /// `record` is one of GPU work.
    unsafe fn times(&self, record: *const u8, at: usize) -> GpuBody {
        // SAFETY: as the caller promises.
        unsafe {
            let (start, end): (u64, u64) = (field(record, 16), field(record, 24));
            // Zero: CUPTI has no time.
            let is_known = start != 0 && end >= start;
            let shifted = |at: u64| if is_known { at.wrapping_add_signed(self.shift) } else { 0 };
            GpuBody {
                start_ns: shifted(start),
                end_ns: shifted(end),
                device: field(record, at),
                context: field(record, at + 4),
                stream: field(record, at + 8),
                ..GpuBody::default()
            }
        }
    }

    /// Stores work whose times are known, with the number of the counters' names and the counters, if it was counted.
    pub fn store(&self, body: GpuBody, counted: Option<(u32, &[u64])>) {
        if body.end_ns == 0 {
            return;
        }
        let head = EventHead {
            begin: self.line.ticks(body.start_ns),
            end: self.line.ticks(body.end_ns),
            done: 1,
            flags: if counted.is_some() { EVENT_COUNTED } else { 0 },
            ..EventHead::default()
        };
        let more = counted.map_or(0, |(_, values)| 2 * size_of::<u32>() + size_of_val(values));
        let count = slots(GPU_COUNTERS + more);
        // Without room it is counted as lost there.
        if let Some(slots) = crate::record::slots::reserve_here(self.global, self.recorder, count) {
            // SAFETY: this many slots hold head, body and counters.
            unsafe {
                slots.store_head(head);
                slots.at::<GpuBody>(32).write(body);
                if let Some((names, values)) = counted {
                    slots.at::<[u32; 2]>(GPU_COUNTERS).write([names, values.len() as u32]);
                    let to = slots.at::<u64>(GPU_COUNTERS + 2 * size_of::<u32>());
                    to.copy_from_nonoverlapping(values.as_ptr(), values.len());
                }
                slots.publish(EVENT_GPU, count);
            }
        }
    }
}
