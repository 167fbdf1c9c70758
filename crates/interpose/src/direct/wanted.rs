//! Whether `CUSHIM_DIRECT` lets launches go straight to the driver.
//!
//! Must not know: which launches do.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::config;

const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Whether launches may go straight to the driver at all.
#[inline(always)]
pub fn enabled() -> bool {
    match STATE.load(Ordering::Relaxed) {
        OFF => false,
        ON => true,
        _ => decide(),
    }
}

#[cold]
fn decide() -> bool {
    let wanted = config::direct();
    STATE.store(if wanted { ON } else { OFF }, Ordering::Relaxed);
    wanted
}

/// The same, false as long as [`enabled`] was not called.
pub fn known() -> bool {
    STATE.load(Ordering::Relaxed) == ON
}
