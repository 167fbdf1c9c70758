//! All hooked functions of all faces, and one table of them.
//!
//! Must not know: how a face writes its exports ([`crate::driver`], [`crate::hip`], [`crate::offload`],
//! [`crate::runtime`]).

use cushim_interpose::site::Home;

/// All hooks, for looking functions up.
pub(crate) static HOME: Home = Home {
    runtime: &runtime::SITES,
    driver: &driver::SITES,
    offload: &offload::SITES,
    hip: &hip::SITES,
};

mod driver {
    use std::sync::atomic::AtomicPtr;

    use cushim_abi::types::*;
    use cushim_abi::{Class, DRIVER, DRIVER_BASE, Driver};
    use cushim_interpose::site::{Hook, Site};

    use crate::driver::table;
    use crate::exports::HOME;

    cushim_abi::driver_functions!(table);
}

mod hip {
    use std::arch::global_asm;
    use std::sync::atomic::AtomicPtr;

    use cushim_abi::types::*;
    use cushim_abi::{Class, HIP, HIP_BASE, Hip};
    use cushim_interpose::site::{Hook, Site};

    use crate::exports::HOME;
    use crate::hip::table;

    cushim_abi::hip_functions!(table);
}

mod offload {
    use std::arch::global_asm;
    use std::sync::atomic::AtomicPtr;

    use cushim_abi::types::*;
    use cushim_abi::{Class, OFFLOAD, OFFLOAD_BASE, Offload};
    use cushim_interpose::site::{Hook, Site};

    use crate::exports::HOME;
    use crate::offload::table;

    cushim_abi::offload_functions!(table);
}

mod runtime {
    use std::arch::global_asm;

    use cushim_interpose::site::Site;

    use crate::runtime::table;

    cushim_abi::runtime_functions!(table);
}
