//! Storing events: the way from a hook's arguments to slots of the recorder.
//!
//! An event is stored before the call is forwarded, so that a call that never returns is recorded; its end and status
//! are stored afterwards. Must not know: how arguments are shown, what a handler does besides recording.

pub mod launch;
pub mod slots;
mod stored;
mod texts;

use std::mem::ManuallyDrop;

use cushim_abi::{Class, OFFLOAD_BASE};
use cushim_trace::layout::*;
use cushim_trace::recorder::{Recorder, Slots};

use crate::arguments::Arguments;
use crate::gputime;
use crate::life::{self, Global};
use crate::site::Site;
use crate::thread::{self, Thread};
use launch::LaunchRecord;
use slots::{MOST_WORDS, reserve};
pub use stored::Stored;
use texts::Texts;

/// A call that is being observed, from its hook's entry to its end.
pub struct Observed {
    /// The process.
    pub global: &'static Global,
    /// Its recorder.
    pub recorder: &'static Recorder,
    /// The calling thread; only touched while no foreign code runs.
    thread: *mut Thread,
    /// The function.
    pub site: &'static Site,
    depth: u8,
    /// Whether recording is on now.
    recorded: bool,
    /// Whether an event is always stored (else only if the call fails).
    pub wanted: bool,
    /// Whether the call's GPU work gets its link.
    linked: bool,
}

/// Leaves an outermost call, also where an exception passes through. Dropping [`Observed`] would do
/// more, and keep all of it in memory.
pub struct Leave(*mut Thread);

impl Drop for Leave {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: this thread's own state, which lives as long as the thread; nothing else refers to it while no call is made.
        unsafe { (*self.0).leave(0) };
    }
}

/// How recording continues for a launch or a region.
pub enum Entry {
    /// Nothing is observed.
    Through,
    /// An event is stored.
    Kept(ManuallyDrop<Observed>, Leave),
    /// An event is stored only if the launch fails.
    Unkept(ManuallyDrop<Observed>, Leave),
    /// The slow path is needed: [`Observed::enter_quick`] does not cover this case.
    Rare,
}

impl Observed {
    /// Enters the hook of `site` whose frame is at `stack`; `None` where the call passes through.
    #[inline(always)]
    pub fn enter(site: &'static Site, stack: usize) -> Option<Self> {
        let global = life::global()?;
        let recorder = global.recorder.as_ref()?;
        let control = recorder.control();
        // Recording is off and no mark waits: the call passes. A call that began before ends as usual.
        if control & (CONTROL_OFF | CONTROL_MAIL) == CONTROL_OFF {
            return None;
        }
        // SAFETY: it becomes a pointer, which is dereferenced only while no foreign code runs.
        let thread = unsafe { thread::current(global) }?;
        if thread.busy {
            recorder.lose(Lost::NotReady);
            return None;
        }
        // A nested call where nested calls are not wanted. That is common under a shared runtime:
        // each of its launches also enters the driver's hooks.
        if thread.is_inside(stack) && !global.nested {
            return None;
        }
        let Some(depth) = thread.enter(stack, site.id >= OFFLOAD_BASE) else {
            recorder.lose(Lost::NotReady);
            return None;
        };
        if depth == 0 {
            let is_launch = matches!(site.class, Class::launch | Class::region);
            thread.recorded = control == 0 || global.window.admits(recorder, control, is_launch);
        }
        let recorded = thread.recorded;
        let wanted = recorded && global.classes & site.class.bit() != 0;
        // GPU work belongs to the outermost call.
        let works = global.gpu_time && depth == 0 && site.puts_work;
        let linked = works && wanted;
        if works {
            // A longjmp left the previous call.
            gputime::end(thread);
            if thread.pair != 0 {
                gputime::after(global, thread, -1);
            }
        }
        Some(Observed { global, recorder, thread, site, depth, recorded, wanted, linked })
    }

    /// Enters the hook of a launch or a region (`class`, that of `site`) whose frame is at `stack`,
    /// on the fast path of nearly all calls: no window, no GPU times, no enclosing call, and a
    /// known thread. These conditions are constants here, so that inlining removes their checks.
    #[inline(always)]
    pub fn enter_quick(site: &'static Site, class: Class, stack: usize) -> Entry {
        let Some(global) = life::current() else { return Entry::Rare };
        let Some(recorder) = &global.recorder else { return Entry::Rare };
        let control = recorder.control();
        if control != 0 {
            // Recording is off, and no mark waits.
            let off = control & (CONTROL_OFF | CONTROL_MAIL) == CONTROL_OFF;
            return if off { Entry::Through } else { Entry::Rare };
        }
        // SAFETY: it becomes a pointer, which is dereferenced only while no foreign code runs.
        let Some(thread) = (unsafe { thread::current_if_any() }) else { return Entry::Rare };
        let known = std::ptr::eq(thread.global, global);
        if !known || thread.busy || thread.depth != 0 || global.gpu_time {
            return Entry::Rare;
        }
        thread.enter_first(stack, class == Class::region);
        thread.recorded = true;
        let wanted = global.classes & class.bit() != 0;
        let (depth, recorded, linked) = (0, true, false);
        let thread: *mut Thread = thread;
        let observed = |wanted| {
            ManuallyDrop::new(Observed {
                global,
                recorder,
                thread,
                site,
                depth,
                recorded,
                wanted,
                linked,
            })
        };
        match wanted {
            true => Entry::Kept(observed(true), Leave(thread)),
            false => Entry::Unkept(observed(false), Leave(thread)),
        }
    }

    /// The calling thread's state.
    ///
    /// # Safety
    /// As for [`thread::current_if_any`].
    #[allow(clippy::mut_from_ref)] // the state is the thread's, not part of `self`
    #[inline(always)]
    unsafe fn thread(&self) -> &mut Thread {
        // SAFETY: this thread's own state, which lives as long as the thread; the only reference, as the caller promises.
        unsafe { &mut *self.thread }
    }

    /// Whether the program itself made this call, not something that is being observed already.
    pub fn outermost(&self) -> bool {
        self.depth == 0
    }

    /// Now; 0 where no event will be stored, since reading the counter takes 10 ns.
    #[inline(always)]
    fn begin(&self) -> u64 {
        if self.wanted { self.recorder.ticks() } else { 0 }
    }

    /// The event's head; writes its function's record first if necessary.
    #[inline(always)]
    fn head(&self, begin: u64) -> EventHead {
        let id = self.site.id;
        slots::named(self.global, self.recorder, id);
        let flags = if self.linked { EVENT_LINKED } else { 0 };
        EventHead { api: id, depth: self.depth, flags, begin, ..EventHead::default() }
    }

    /// Bytes of a link in an event's slots.
    #[inline(always)]
    fn link_bytes(&self) -> usize {
        if self.linked { size_of::<u64>() } else { 0 }
    }

    /// Stores the link at the end of the event, and gives it to the call's work from here on.
    ///
    /// # Safety
    /// `count` slots were reserved, and the last eight bytes of them are free where the call is linked.
    #[inline(always)]
    unsafe fn store_link(&self, slots: Slots, count: usize, link: u64) {
        if self.linked {
            // SAFETY: as the caller promises.
            unsafe { slots.at::<u64>(count * SLOT - size_of::<u64>()).write(link) };
            // SAFETY: that calls only CUPTI, which does not enter our hooks.
            gputime::begin(unsafe { self.thread() }, link);
        }
    }

    /// Stores a call with its argument words.
    ///
    /// # Safety
    /// The words are the arguments of the call of `site` that is under way: its strings are there.
    pub unsafe fn call(&self, kernel: u32, words: &[u64]) -> Stored {
        let begin = self.begin();
        let slots = match self.wanted {
            // SAFETY: as the caller promises.
            true => unsafe { self.store_call(begin, kernel, words) },
            false => None,
        };
        Stored { slots }
    }

    /// # Safety
    /// As of [`Observed::call`].
    unsafe fn store_call(&self, begin: u64, kernel: u32, words: &[u64]) -> Option<Slots> {
        let head = self.head(begin);
        let words = words.get(..words.len().min(MOST_WORDS))?;
        // SAFETY: as the caller promises.
        let texts = unsafe { Texts::of(self.site, words) };
        let link = if self.linked { gputime::link(0) } else { 0 };
        let count = slots(CALL_WORDS + words.len() * 8 + texts.bytes() + self.link_bytes());
        // SAFETY: what is called while it is held is the recorder's.
        let thread = unsafe { self.thread() };
        let slots = reserve(thread, self.recorder, count, self.depth == 0)?;
        let body = CallBody { kernel, outs: 0, words: words.len() as u8, texts: texts.count as u8 };
        // SAFETY: `count` slots hold head, body, words and texts.
        unsafe {
            slots.store_head(head);
            slots.at::<CallBody>(32).write(body);
            slots.at::<u64>(CALL_WORDS).copy_from_nonoverlapping(words.as_ptr(), words.len());
            texts.store(slots, CALL_WORDS + words.len() * 8);
            self.store_link(slots, count, link);
            slots.publish(EVENT_CALL, count);
        }
        Some(slots)
    }

    /// Has `store` store an event that begins now, if it is to be recorded.
    #[inline(always)]
    pub fn stored(&self, store: impl FnOnce(u64) -> Option<Slots>) -> Stored {
        let begin = self.begin();
        Stored { slots: if self.wanted { store(begin) } else { None } }
    }

    /// Stores an event of `bytes` bytes that began at `begin`, of which `fill` stores those behind
    /// the head; `kernel` is the number of its kernel.
    #[inline(always)]
    pub fn store_bytes(
        &self,
        begin: u64,
        kind: u16,
        kernel: u32,
        bytes: usize,
        fill: impl FnOnce(Slots),
    ) -> Option<Slots> {
        let head = self.head(begin);
        let link = if self.linked { gputime::link(kernel) } else { 0 };
        let count = slots(bytes + self.link_bytes());
        // SAFETY: what is called while it is held is the recorder's.
        let thread = unsafe { self.thread() };
        let slots = reserve(thread, self.recorder, count, self.depth == 0)?;
        // SAFETY: `count` slots hold the head, what `fill` stores, and the link.
        unsafe {
            slots.store_head(head);
            fill(slots);
            self.store_link(slots, count, link);
            slots.publish(kind, count);
        }
        Some(slots)
    }

    /// A call that is not recorded returned `status`: where it failed, `late` stores it.
    #[inline(always)]
    pub fn finish_late(&self, status: i32, late: impl FnOnce(u64) -> Option<Slots>) {
        self.finish(Stored { slots: None }, status, late);
    }

    /// Stores a launch.
    ///
    /// # Safety
    /// Its arguments are what CUDA is about to get: one for each parameter of the kernel, or null.
    #[inline(always)]
    pub unsafe fn launch(&self, launch: &LaunchRecord) -> Stored {
        if self.linked {
            // SAFETY: while the reference is held, only the driver and CUPTI run, which do not enter our hooks.
            gputime::before(self.global, unsafe { self.thread() }, self.site, launch);
        }
        let begin = self.begin();
        // SAFETY: as the caller promises.
        let slots = if self.wanted { unsafe { self.store_launch(begin, launch) } } else { None };
        Stored { slots }
    }

    /// # Safety
    /// As of [`Observed::launch`].
    #[inline(always)]
    unsafe fn store_launch(&self, begin: u64, launch: &LaunchRecord) -> Option<Slots> {
        let kernel = launch.kernel;
        let layout = kernel.layout(self.global, self.recorder);
        let (arg_bytes, mut flags) = match (layout, launch.args) {
            (None, _) => (0, LAUNCH_ARGS_UNKNOWN),
            (Some(layout), _) if layout.params.is_empty() => (0, 0),
            (Some(_), Arguments::None) => (0, LAUNCH_ARGS_NULL),
            (Some(layout), Arguments::Pointers(_)) => (layout.size, 0),
            (Some(layout), Arguments::Buffer(_, size)) => {
                (layout.size.min(size), LAUNCH_ARGS_BUFFER)
            }
        };
        let kept = arg_bytes.min(ARGS_MAX);
        if kept < arg_bytes {
            flags |= LAUNCH_ARGS_CUT;
            self.recorder.lose(Lost::CutArguments);
        }
        let head = self.head(begin);
        let link = if self.linked { gputime::link(kernel.number) } else { 0 };
        let count = slots(LAUNCH_ARGS + kept + self.link_bytes());
        // SAFETY: what is called while it is held is the recorder's.
        let thread = unsafe { self.thread() };
        let context = thread.context as u64;
        let slots = reserve(thread, self.recorder, count, self.depth == 0)?;
        let body = LaunchBody {
            kernel: kernel.number,
            shared: launch.shared.min(u32::MAX as usize) as u32,
            stream: launch.stream as u64,
            grid: [launch.grid.x, launch.grid.y, launch.grid.z],
            arg_bytes: kept as u32,
            block: [launch.block.x, launch.block.y, launch.block.z],
            cluster: launch.cluster,
            flags: flags | launch.flags,
            context,
        };
        // SAFETY: `count` slots hold head, body and `kept` bytes. Argument pointers are as the caller promises.
        unsafe {
            slots.store_head(head);
            slots.at::<LaunchBody>(32).write(body);
            match (layout, launch.args) {
                (Some(layout), Arguments::Pointers(pointers)) => {
                    for (i, param) in layout.params.iter().enumerate() {
                        let (offset, size) = (param.offset as usize, param.size as usize);
                        let from = *pointers.add(i);
                        if from.is_null() || offset + size > kept {
                            continue;
                        }
                        let to = slots.at::<u8>(LAUNCH_ARGS + offset);
                        // Common sizes are single moves.
                        match size {
                            8 => to
                                .cast::<u64>()
                                .write_unaligned(from.cast::<u64>().read_unaligned()),
                            4 => to
                                .cast::<u32>()
                                .write_unaligned(from.cast::<u32>().read_unaligned()),
                            _ => to.copy_from_nonoverlapping(from, size),
                        }
                    }
                }
                (Some(_), Arguments::Buffer(from, _)) if !from.is_null() => {
                    slots.at::<u8>(LAUNCH_ARGS).copy_from_nonoverlapping(from, kept);
                }
                _ => {}
            }
            self.store_link(slots, count, link);
            slots.publish(EVENT_LAUNCH, count);
        }
        Some(slots)
    }

    /// The call returned `status`: stores it. Where the event was not wanted but the call failed,
    /// `late` stores it now.
    #[inline(always)]
    pub fn finish(&self, stored: Stored, status: i32, late: impl FnOnce(u64) -> Option<Slots>) {
        match stored.slots {
            // SAFETY: published; its chunk is mapped while this call's depth keeps the buffer from
            // being idle.
            Some(slots) => unsafe { slots.finish(self.recorder.ticks(), status) },
            None => {
                if self.recorded && is_failure(status) && self.depth == 0 && !self.wanted {
                    self.fail_late(status, late);
                }
            }
        }
    }

    /// Begin and end are the time of the return: the clock was not read before.
    #[cold]
    fn fail_late(&self, status: i32, late: impl FnOnce(u64) -> Option<Slots>) {
        let now = self.recorder.ticks();
        if let Some(slots) = late(now) {
            // SAFETY: just published.
            unsafe { slots.finish(now, status) };
        }
    }

    /// A launch that is not recorded returned `status`.
    ///
    /// # Safety
    /// Its arguments are still what they were, as [`Observed::launch`] wants them.
    #[inline(always)]
    pub unsafe fn finish_unkept(&self, status: i32, launch: impl FnOnce() -> LaunchRecord) {
        if self.recorded && is_failure(status) && self.depth == 0 {
            // SAFETY: as the caller promises.
            self.fail_late(status, |now| unsafe { self.store_launch(now, &launch()) });
        }
    }

    /// As [`Observed::finish`] for an event that is to be recorded and has no GPU times.
    #[inline(always)]
    pub fn finish_kept(&self, stored: Stored, status: i32) {
        if let Some(slots) = stored.slots {
            // SAFETY: published; its chunk is mapped while this call's depth keeps the buffer from being idle.
            unsafe { slots.finish(self.recorder.ticks(), status) };
        }
    }

    /// As [`Observed::finish`] for a launch.
    ///
    /// # Safety
    /// Its arguments are still what they were for [`Observed::launch`].
    #[inline(always)]
    pub unsafe fn finish_launch(&self, stored: Stored, status: i32, launch: &LaunchRecord) {
        // SAFETY: as the caller promises.
        self.finish(stored, status, |begin| unsafe { self.store_launch(begin, launch) });
        if self.linked {
            // SAFETY: while the reference is held, only the driver and CUPTI run, which do not enter our hooks.
            gputime::after(self.global, unsafe { self.thread() }, status);
        }
    }

    /// As [`Observed::finish`] for a call; `outs` are the words that the call wrote.
    ///
    /// # Safety
    /// The words are those that [`Observed::call`] was given, and what they point to is still there.
    #[inline(always)]
    pub unsafe fn finish_call(
        &self,
        stored: Stored,
        status: i32,
        kernel: u32,
        words: &[u64],
        outs: &[Option<u64>],
    ) {
        if let Some(slots) = stored.slots {
            let mut mask = 0u16;
            for (i, out) in outs.iter().enumerate().take(MOST_WORDS.min(words.len())) {
                if let Some(value) = out {
                    mask |= 1 << i;
                    // SAFETY: word `i` lies inside the event, which is not finished yet.
                    unsafe { slots.at::<u64>(CALL_WORDS + i * 8).write(*value) };
                }
            }
            // SAFETY: `outs` is at byte 36, see `CallBody`.
            unsafe { slots.at::<u16>(36).write(mask) };
        }
        // SAFETY: as the caller promises.
        self.finish(stored, status, |begin| unsafe { self.store_call(begin, kernel, words) });
    }
}

/// Whether a status is a failure that is shown even in a class that is not recorded: "not ready" is
/// a normal result, and libraries get "deinitialized" as the process ends.
fn is_failure(status: i32) -> bool {
    !matches!(status, 0 | cushim_abi::types::NOT_READY | cushim_abi::types::DEINITIALIZED)
}

impl Drop for Observed {
    #[inline(always)]
    fn drop(&mut self) {
        let depth = self.depth;
        // SAFETY: while the reference is held, only the driver and CUPTI run, which do not enter our hooks.
        let thread = unsafe { self.thread() };
        thread.leave(depth);
        if self.linked {
            gputime::end(thread);
        }
    }
}
