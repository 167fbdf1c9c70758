//! Callbacks that a program registers for memory shortage on a device.
//!
//! Owns the list. CUDA calls them when memory is over the budget that the driver's resource manager gives a process;
//! here there is no such budget, so none is ever called. Source: CUDA Driver API,
//! `cuDeviceRegisterAsyncNotification`. Must not know: memory.

use std::sync::Arc;

use cushim_abi::types::*;

use crate::device::device;
use crate::entry::entry;
use crate::handle::Handles;
use crate::state::give;
use crate::status;

/// A listener: its device and callback.
struct Listener {
    device: i32,
    _callback: usize,
}

static LISTENERS: Handles<Listener> = Handles::new();

entry! {
    fn cuDeviceRegisterAsyncNotification (device: Device, callbackFunc: Ptr, userData: Ptr, callback: Out<Ptr>) {
        let _ = userData;
        self::device(device)?;
        if callbackFunc.0 == 0 || callback.is_null() {
            return Err(status::INVALID_VALUE);
        }
        let listener = Listener { device: device.0, _callback: callbackFunc.0 };
        give(callback, Ptr(LISTENERS.add(Arc::new(listener))))
    }

    fn cuDeviceUnregisterAsyncNotification (device: Device, callback: Ptr) {
        self::device(device)?;
        let found = LISTENERS.get(callback.0).filter(|listener| listener.device == device.0);
        found.ok_or(status::INVALID_VALUE)?;
        LISTENERS.remove(callback.0).map(drop).ok_or(status::INVALID_VALUE)
    }
}
