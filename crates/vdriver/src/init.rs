//! `cuInit`.

use cushim_abi::types::*;

use super::answers::Driver;
use super::entry::entry;
use super::state::{accelerator, start};
use super::status;

entry! {
    fn cuInit (flags: Flags) {
        if flags.0 != 0 {
            return Err(status::INVALID_VALUE);
        }
        start()?;
        accelerator().set_answers(&Driver);
        Ok(())
    }
}
