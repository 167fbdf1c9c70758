//! The context in which a replacement's table is filled: the one in which its kernel is going to run.
//!
//! Owns: finding and entering that context. Must not know: tables.

use crate::device;

/// What identifies the context of a launch.
#[derive(Clone, Copy)]
pub enum Place {
    /// The current one.
    Current,
    /// The stream's.
    Stream(usize),
    /// A context that a graph node names.
    Context(usize),
    /// An execution context of the runtime, named by a graph node: the addresses of variables in it
    /// cannot be queried.
    Execution,
}

impl Place {
    /// Runs `work` in that context.
    ///
    /// # Errors
    /// What `work` says, or why the context cannot be entered.
    pub fn enter(self, work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        let context = match self {
            Place::Current => None,
            Place::Stream(stream) => of_stream(stream),
            Place::Context(context) => Some(context),
            Place::Execution => {
                return Err("the node belongs to an execution context of the runtime".to_owned());
            }
        };
        match context {
            Some(context) if !device::context().is_ok_and(|now| now == context) => {
                within(context, work)
            }
            _ => work(),
        }
    }
}

/// The context of a stream, unless it is a default stream.
fn of_stream(stream: usize) -> Option<usize> {
    /// Handles from here on are streams; below are the default ones of the current context.
    const FIRST: usize = 3;
    if stream < FIRST {
        return None;
    }
    type Of = unsafe extern "C-unwind" fn(usize, *mut usize) -> i32;
    let of = device::function(c"cuStreamGetCtx")?;
    let mut context = 0;
    // SAFETY: the function's signature; the program launches into this stream.
    let status = unsafe { std::mem::transmute::<usize, Of>(of)(stream, &mut context) };
    (status == 0 && context != 0).then_some(context)
}

/// Runs `work` while `context` is current.
fn within(context: usize, work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    type Push = unsafe extern "C-unwind" fn(usize) -> i32;
    type Pop = unsafe extern "C-unwind" fn(*mut usize) -> i32;
    let push =
        device::function(c"cuCtxPushCurrent_v2").ok_or("the driver has no cuCtxPushCurrent")?;
    let pop = device::function(c"cuCtxPopCurrent_v2").ok_or("the driver has no cuCtxPopCurrent")?;
    // SAFETY: the functions' signatures; the context is one that the driver just named, or that the program names to
    // the driver in this call.
    match unsafe { std::mem::transmute::<usize, Push>(push)(context) } {
        0 => {}
        error => return Err(format!("cuCtxPushCurrent failed with error {error}")),
    }
    let result = work();
    let mut popped = 0;
    // SAFETY: the function's signature; the place is valid, and what is popped was pushed above.
    unsafe { std::mem::transmute::<usize, Pop>(pop)(&mut popped) };
    result
}
