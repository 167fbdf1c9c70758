//! Sharing memory and events with other processes, which is not supported.
//!
//! Owns the refusals, which tell wrong arguments from unsupported calls. Must not know: anything else.

use cushim_abi::index::Driver;
use cushim_abi::types::*;

use crate::context::current;
use crate::entry::entry;
use crate::{event, status};

macro_rules! refused {
    ($($name:ident)+) => {
        /// A function that looks at its arguments and refuses nevertheless.
        #[derive(Clone, Copy)]
        #[allow(non_camel_case_types)]
        enum Refused { $($name),+ }

        impl Refused {
            fn name(self) -> &'static str {
                match self { $(Refused::$name => stringify!($name)),+ }
            }
        }

        /// The functions that look at their arguments and refuse nevertheless.
        pub const REFUSED: &[Driver] = &[$(Driver::$name),+];
    };
}

refused! { cuIpcGetMemHandle cuIpcGetEventHandle }

fn refuse(function: Refused) -> Result<(), i32> {
    cushim_vbase::unsupported::note(function.name());
    Err(status::NOT_SUPPORTED)
}

entry! {
    fn cuIpcGetMemHandle (pHandle: Ptr, dptr: Ptr) {
        current()?;
        if pHandle.0 == 0 || super::find(dptr.0 as u64).is_none() {
            return Err(status::INVALID_VALUE);
        }
        refuse(Refused::cuIpcGetMemHandle)
    }

    fn cuIpcGetEventHandle (pHandle: Ptr, event: Event) {
        current()?;
        if pHandle.0 == 0 {
            return Err(status::INVALID_VALUE);
        }
        event::by_handle(event)?;
        refuse(Refused::cuIpcGetEventHandle)
    }
}
