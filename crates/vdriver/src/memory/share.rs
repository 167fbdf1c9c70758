//! Sharing memory and events with other processes: not here.
//!
//! Owns the refusals, so that wrong arguments are told from what cannot be. Must not know: anything else.

use cushim_abi::types::*;

use crate::context::current;
use crate::entry::entry;
use crate::{event, status};

fn refuse(name: &'static str) -> Result<(), i32> {
    cushim_vbase::unsupported::note(name);
    Err(status::NOT_SUPPORTED)
}

entry! {
    fn cuIpcGetMemHandle (pHandle: Ptr, dptr: Ptr) {
        current()?;
        if pHandle.0 == 0 || super::find(dptr.0 as u64).is_none() {
            return Err(status::INVALID_VALUE);
        }
        refuse("cuIpcGetMemHandle")
    }

    fn cuIpcGetEventHandle (pHandle: Ptr, event: Event) {
        current()?;
        if pHandle.0 == 0 {
            return Err(status::INVALID_VALUE);
        }
        event::by_handle(event)?;
        refuse("cuIpcGetEventHandle")
    }
}
