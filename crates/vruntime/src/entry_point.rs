//! Runtime calls that return driver functions.
//!
//! Owns what the runtime adds to cuGetProcAddress: its own version, per-thread streams. Must not know: the functions.

use cushim_abi::types::*;

use super::error::code;
use super::forward::{done, functions, pass};
use super::{context, report};
use cushim_vbase::api;

/// `cudaEnableDefault`, `cudaEnableLegacyStream`, `cudaEnablePerThreadDefaultStream`.
const DEFAULT: u64 = 0;
const PER_THREAD: u64 = 2;
/// Both forms requested at once: the driver accepts it (measured).
const BOTH: u64 = 3;

/// The address of a driver function, with how it was found (`cudaDriverEntryPointQueryResult`).
fn ask(symbol: Str, to: Ptr, version: i32, flags: u64, own: u64) -> Result<i32, Status> {
    context::init()?;
    if symbol.0 == 0 || to.0 == 0 || flags > BOTH {
        return Err(code::INVALID_VALUE);
    }
    let flags = Flags64(if flags == DEFAULT { own } else { flags });
    let mut found = 0_i32;
    let status = Ptr((&raw mut found).expose_provenance());
    // SAFETY: a string and a place for an address of the program, a place for the outcome.
    let result = unsafe { api::cuGetProcAddress_v2(symbol, to, version, flags, status) };
    match result {
        0 => Ok(found),
        // Older drivers fail where newer ones report the outcome.
        code::SYMBOL_NOT_FOUND => Ok(1),
        other => Err(super::error::from_driver(other)),
    }
}

/// Returns the outcome: an unknown name is no failure if the caller has a place for the outcome.
fn tell(outcome: Result<i32, Status>, to: Ptr, status: Ptr) -> Status {
    done(outcome.map(|found| {
        // SAFETY: the program's places; the first one was checked before the driver was asked.
        unsafe {
            if found != 0 {
                super::forward::put(to, Ptr(0));
            }
            super::forward::put(status, found);
        }
    }))
}

fn tell_by_error(outcome: Result<i32, Status>) -> Status {
    done(outcome.and_then(|found| if found == 0 { Ok(()) } else { Err(code::SYMBOL_NOT_FOUND) }))
}

functions! {
    cudaGetDriverEntryPoint_11 (symbol: Str, funcPtr: Ptr, flags: Flags64) {
        tell_by_error(ask(symbol, funcPtr, report::version(MAJOR), flags.0, DEFAULT))
    }

    cudaGetDriverEntryPoint_ptsz_11 (symbol: Str, funcPtr: Ptr, flags: Flags64) {
        tell_by_error(ask(symbol, funcPtr, report::version(MAJOR), flags.0, PER_THREAD))
    }

    cudaGetDriverEntryPoint (symbol: Str, funcPtr: Ptr, flags: Flags64, driverStatus: Ptr) {
        tell(ask(symbol, funcPtr, report::version(MAJOR), flags.0, DEFAULT), funcPtr, driverStatus)
    }

    cudaGetDriverEntryPoint_ptsz (symbol: Str, funcPtr: Ptr, flags: Flags64, driverStatus: Ptr) {
        tell(ask(symbol, funcPtr, report::version(MAJOR), flags.0, PER_THREAD), funcPtr, driverStatus)
    }

    cudaGetDriverEntryPointByVersion (symbol: Str, funcPtr: Ptr, cudaVersion: u32, flags: Flags64, driverStatus: Ptr) {
        tell(ask(symbol, funcPtr, cudaVersion as i32, flags.0, DEFAULT), funcPtr, driverStatus)
    }

    cudaGetDriverEntryPointByVersion_ptsz (symbol: Str, funcPtr: Ptr, cudaVersion: u32, flags: Flags64, driverStatus: Ptr) {
        tell(ask(symbol, funcPtr, cudaVersion as i32, flags.0, PER_THREAD), funcPtr, driverStatus)
    }

    // Undocumented tables, which NVIDIA's libraries ask for: those of NVIDIA's driver, or none.
    cudaGetExportTable (ppExportTable: Out<Ptr>, pExportTableId: Ptr) {
        pass!(cuGetExportTable(ppExportTable, pExportTableId))
    }

    cudaProfilerStart () {
        pass!(cuProfilerStart())
    }

    cudaProfilerStop () {
        // Stopping an absent profiler succeeds even after the driver has ended (measured).
        done(context::ready().or_else(|error| if error == code::UNLOADING { Ok(()) } else { Err(error) }).and_then(|()| {
            // SAFETY: no pointers.
            match unsafe { api::cuProfilerStop() } {
                0 | code::UNLOADING => Ok(()),
                other => Err(super::error::from_driver(other)),
            }
        }))
    }

    cudaProfilerInitialize (configFile: Str, outputFile: Str, outputMode: i32) {
        pass!(cuProfilerInitialize(configFile, outputFile, outputMode))
    }
}
