//! Calls that are only recorded: the generic hook.
//!
//! Must not know: any particular function.

use cushim_abi::types::Shape;

use crate::record::slots::MOST_WORDS;
use crate::record::{Observed, Stored};
use crate::registry;
use crate::site::Site;
use crate::tools;

/// A recorded call between its begin and its end.
pub struct Call {
    observed: Observed,
    stored: Stored,
    kernel: u32,
    words: [u64; MOST_WORDS],
    count: usize,
}

/// Records the beginning of a call of `site` with `count` argument words; `stack` is an address in the
/// hook's frame. `None` where the call passes through.
///
/// # Safety
/// The words are the arguments of a call that is under way until [`end`]: its strings stay until
/// then.
pub unsafe fn begin(
    site: &'static Site,
    stack: usize,
    words: [u64; MOST_WORDS],
    count: usize,
) -> Option<Call> {
    let observed = Observed::enter(site, stack)?;
    let count = count.min(MOST_WORDS);
    let kernel = if observed.wanted { kernel_in(&observed, site, &words) } else { 0 };
    // SAFETY: as the caller promises.
    let stored = unsafe { observed.call(kernel, words.get(..count).unwrap_or(&[])) };
    Some(Call { observed, stored, kernel, words, count })
}

/// Records the end of a call; `outs` are the words that it wrote, where it succeeded.
pub fn end(call: Call, status: i32, outs: [Option<u64>; MOST_WORDS]) {
    let words = call.words.get(..call.count).unwrap_or(&[]);
    // SAFETY: the words of `begin`, whose caller promised it until now.
    unsafe { call.observed.finish_call(call.stored, status, call.kernel, words, &outs) };
    if call.observed.outermost() {
        tools::call(call.observed.site, words, &outs, status);
    }
}

/// The number of the kernel that an argument names, 0 for none.
fn kernel_in(observed: &Observed, site: &Site, words: &[u64; MOST_WORDS]) -> u32 {
    let Some(function) = cushim_abi::function(site.id) else { return 0 };
    let mut at = 0;
    for arg in function.args {
        if arg.shape == Shape::Kernel && !arg.out {
            let func = words.get(at).copied().unwrap_or(0) as usize;
            return registry::find(func)
                .map_or(0, |kernel| kernel.named(observed.global, observed.recorder));
        }
        at += arg.words;
    }
    0
}

/// Stores the words of `arg` from word `at` on; returns how many.
#[inline(always)]
pub fn put<T: cushim_abi::types::Arg>(words: &mut [u64; MOST_WORDS], at: usize, arg: T) -> usize {
    if let Some(to) = words.get_mut(at..) {
        arg.words(to);
    }
    T::WORDS
}

/// Stores the value that a successful call wrote to `arg`, if it is an out value; returns its
/// words.
///
/// # Safety
/// `arg` is an argument of a call that has succeeded.
#[inline(always)]
pub unsafe fn put_out<T: cushim_abi::types::Arg>(
    outs: &mut [Option<u64>; MOST_WORDS],
    at: usize,
    arg: T,
) -> usize {
    if let Some(to) = outs.get_mut(at) {
        // SAFETY: as the caller promises.
        *to = unsafe { arg.written() };
    }
    T::WORDS
}
