//! The driver's functions that event pairs need, called directly and not through cushim's hooks.
//!
//! Owns: finding them, and their signatures (CUDA Driver API, "Event", "Stream" and "Context Management"). Must not
//! know: what they are used for.

use std::sync::atomic::{AtomicPtr, Ordering};

use crate::device;

macro_rules! functions {
    ($($(#[$doc:meta])* $field:ident $name:literal ($($arg:ty),*);)*) => {
        /// The functions; each answers a `CUresult`.
        pub struct Api {
            $($(#[$doc])* pub $field: unsafe extern "C-unwind" fn($($arg),*) -> i32,)*
        }

        impl Api {
            fn find() -> Option<Self> {
                // SAFETY: the driver's functions of these names have these signatures.
                unsafe {
                    Some(Api {
                        $($field: std::mem::transmute::<
                            usize,
                            unsafe extern "C-unwind" fn($($arg),*) -> i32,
                        >(device::function($name)?),)*
                    })
                }
            }
        }
    };
}

functions! {
    /// The current context.
    current c"cuCtxGetCurrent" (*mut usize);
    /// Makes a context current until `pop`.
    push c"cuCtxPushCurrent_v2" (usize);
    /// Puts the former context back.
    pop c"cuCtxPopCurrent_v2" (*mut usize);
    /// The device of the current context.
    device c"cuCtxGetDevice" (*mut i32);
    /// Flags of a device's primary context, and whether it exists.
    primary c"cuDevicePrimaryCtxGetState" (i32, *mut u32, *mut i32);
    /// A stream of the current context.
    stream c"cuStreamCreate" (*mut usize, u32);
    /// A stream's context.
    context_of c"cuStreamGetCtx" (usize, *mut usize);
    /// Whether a stream is being captured.
    capturing c"cuStreamIsCapturing" (usize, *mut i32);
    /// Exchanges the thread's capture mode.
    exchange c"cuThreadExchangeStreamCaptureMode" (*mut i32);
    /// An event of the current context.
    create c"cuEventCreate" (*mut usize, u32);
    /// Puts an event into a stream.
    record c"cuEventRecord" (usize, usize);
    /// Whether the GPU has reached an event.
    query c"cuEventQuery" (usize);
    /// Milliseconds between two events.
    elapsed c"cuEventElapsedTime" (*mut f32, usize, usize);
}

static API: AtomicPtr<Api> = AtomicPtr::new(std::ptr::null_mut());

/// The functions, if the driver is there and has them all (CUDA 10.1).
#[inline]
pub fn get() -> Option<&'static Api> {
    // SAFETY: null, or leaked by `find`.
    match unsafe { API.load(Ordering::Acquire).as_ref() } {
        Some(api) => Some(api),
        None => find(),
    }
}

#[cold]
fn find() -> Option<&'static Api> {
    let found = Box::into_raw(Box::new(Api::find()?));
    let null = std::ptr::null_mut();
    let at = match API.compare_exchange(null, found, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => found,
        Err(earlier) => {
            // SAFETY: nobody has seen it.
            drop(unsafe { Box::from_raw(found) });
            earlier
        }
    };
    // SAFETY: never freed.
    unsafe { at.as_ref() }
}

/// Stream handles 0, 1 and 2 belong to no context: they mean the default streams of the current
/// one.
const LAST_SPECIAL: usize = 2;

impl Api {
    /// The context in which work on `stream` runs; 0 where there is none.
    pub fn context(&self, stream: usize) -> usize {
        let mut context = 0;
        // SAFETY: the functions' signatures; the place is valid, the stream one that is launched into.
        let status = unsafe {
            match stream {
                0..=LAST_SPECIAL => (self.current)(&mut context),
                _ => (self.context_of)(stream, &mut context),
            }
        };
        if status == 0 { context } else { 0 }
    }

    /// Whether there is a context for work on `stream` yet: the default streams are those of the current one.
    pub fn has_context(&self, stream: usize) -> bool {
        let mut current = 0;
        // SAFETY: the function's signature; the place is valid.
        stream > LAST_SPECIAL || unsafe { (self.current)(&mut current) == 0 && current != 0 }
    }

    /// Whether `stream` is being captured. While another stream is captured, the driver returns an
    /// error for the legacy stream (906) and does not end that capture (CUDA Driver API,
    /// `cuStreamIsCapturing`).
    pub fn is_capturing(&self, stream: usize) -> bool {
        let mut state = 0;
        // SAFETY: the function's signature; the place is valid.
        let status = unsafe { (self.capturing)(stream, &mut state) };
        status != 0 || state != 0
    }

    /// Whether a device has a primary context now.
    pub fn has_primary(&self, device: i32) -> bool {
        let (mut flags, mut active) = (0, 0);
        // SAFETY: the function's signature; the places are valid.
        unsafe { (self.primary)(device, &mut flags, &mut active) == 0 && active != 0 }
    }

    /// A new event with timing; `None` if none can be created.
    pub fn event(&self) -> Option<usize> {
        let mut event = 0;
        // SAFETY: the function's signature; the place is valid.
        let status = unsafe { (self.create)(&mut event, 0) };
        (status == 0 && event != 0).then_some(event)
    }

    /// Nanoseconds from event `begin` to event `end`, both reached.
    pub fn between(&self, begin: usize, end: usize) -> Option<i64> {
        let mut ms = 0.0f32;
        // SAFETY: the function's signature; the events are ours.
        let status = unsafe { (self.elapsed)(&mut ms, begin, end) };
        (status == 0 && ms.is_finite()).then_some((f64::from(ms) * 1e6).round() as i64)
    }

    /// Runs `work` with `context` current, in a mode in which other threads' captures neither
    /// forbid its calls nor are ended by them; `None` where the context cannot be entered.
    pub fn inside<R>(&self, context: usize, work: impl FnOnce() -> R) -> Option<R> {
        /// CU_STREAM_CAPTURE_MODE_RELAXED.
        const RELAXED: i32 = 2;
        // SAFETY: the function's signature. The driver checks the context.
        if unsafe { (self.push)(context) } != 0 {
            return None;
        }
        let mut mode = RELAXED;
        // SAFETY: the place is valid.
        let changed = unsafe { (self.exchange)(&mut mode) } == 0;
        let result = work();
        let mut popped = 0;
        // SAFETY: the functions' signatures; the places are valid, and both put back what was there before.
        unsafe {
            if changed {
                (self.exchange)(&mut mode);
            }
            (self.pop)(&mut popped);
        }
        Some(result)
    }
}
