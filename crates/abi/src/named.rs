//! Looks up functions by exported name: the library that has it, and the name in the manual.
//!
//! Owns the lookup in all tables, hooked or not. It allocates on first use, so no hook may use it. Must not know: why
//! somebody asks.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::work::manual_name;
use crate::{DRIVER, HIP, Library, OFFLOAD, RUNTIME, all_driver, all_runtime};

/// A function as the tables name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// The library that has the function.
    pub library: Library,
    /// Its name in the manual.
    pub manual: &'static str,
}

static NAMED: LazyLock<HashMap<&'static str, Named>> = LazyLock::new(|| {
    let hooked = RUNTIME.iter().chain(&DRIVER).chain(&OFFLOAD).chain(&HIP);
    let hooked = hooked.map(|f| (f.name, f.library));
    let others = all_runtime().map(|f| (f.name, Library::Runtime));
    let others = others.chain(all_driver().map(|f| (f.name, Library::Driver)));
    let entry = |(name, library)| (name, Named { library, manual: manual_name(name) });
    hooked.chain(others).map(entry).collect()
});

/// The function with this exported name; `None` where no table has it.
pub fn named(name: &str) -> Option<Named> {
    NAMED.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_library() {
        for (name, library, manual) in [
            ("cudaMemcpyAsync_ptsz", Library::Runtime, "cudaMemcpyAsync"),
            ("cudaGetErrorName", Library::Runtime, "cudaGetErrorName"),
            ("cuLaunchKernel", Library::Driver, "cuLaunchKernel"),
            ("cuInit", Library::Driver, "cuInit"),
            ("omp_target_memcpy", Library::Offload, "omp_target_memcpy"),
            ("__hipRegisterFunction", Library::Hip, "__hipRegisterFunction"),
            ("hipExtModuleLaunchKernel", Library::Hip, "hipExtModuleLaunchKernel"),
        ] {
            assert_eq!(named(name), Some(Named { library, manual }), "{name}");
        }
        assert_eq!(named("cudaInvented"), None);
    }

    /// Rows that both tables have are equal.
    #[test]
    fn no_table_contradicts_another() {
        let hooked = RUNTIME.iter().chain(&DRIVER).chain(&OFFLOAD).chain(&HIP);
        for f in hooked {
            let found = named(f.name).unwrap();
            assert_eq!((found.library, found.manual), (f.library, f.manual), "{}", f.name);
        }
    }
}
