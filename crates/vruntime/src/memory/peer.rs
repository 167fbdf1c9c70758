//! Memory of other devices and other processes.
//!
//! Owns the lookup of a peer device's primary context. Must not know: copies between devices.

use cushim_abi::types::*;

use crate::context;
use crate::error::code;
use crate::forward::{done, forwards, functions, pass};

functions! {
    cudaDeviceEnablePeerAccess (peerDevice: Device, flags: Flags) {
        if flags.0 != 0 {
            return done(Err(code::INVALID_VALUE));
        }
        match peer(peerDevice) {
            Ok(peer) => pass!(cuCtxEnablePeerAccess(peer, Flags(0))),
            Err(error) => done(Err(error)),
        }
    }

    cudaDeviceDisablePeerAccess (peerDevice: Device) {
        match peer(peerDevice) {
            Ok(peer) => pass!(cuCtxDisablePeerAccess(peer)),
            Err(error) => done(Err(error)),
        }
    }
}

/// The primary context of another device.
///
/// # Errors
/// cudaErrorInvalidDevice, and the driver's.
pub fn peer(device: Device) -> Result<Context, Status> {
    if !(0..context::devices()?).contains(&device.0) {
        return Err(code::INVALID_DEVICE);
    }
    context::primary(device.0)
}

forwards! {
    cudaDeviceCanAccessPeer (canAccessPeer: Out<i32>, device: Device, peerDevice: Device) = cuDeviceCanAccessPeer(canAccessPeer, device, peerDevice);
    cudaIpcGetMemHandle (handle: Ptr, devPtr: Ptr) = cuIpcGetMemHandle(handle, devPtr);
    cudaIpcOpenMemHandle (devPtr: Out<Ptr>, handle: IpcHandle, flags: Flags) = cuIpcOpenMemHandle_v2(devPtr, handle, flags);
    cudaIpcCloseMemHandle (devPtr: Ptr) = cuIpcCloseMemHandle(devPtr);
    cudaIpcGetEventHandle (handle: Ptr, event: Event) = cuIpcGetEventHandle(handle, event);
    cudaIpcOpenEventHandle (event: Out<Event>, handle: IpcHandle) = cuIpcOpenEventHandle(event, handle);
}
