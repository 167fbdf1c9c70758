//! What follows from a function's name and class, as columns of the tables of hooks: worked out when compiled.
//!
//! Owns CUDA's way of naming forms. Must not know: what anybody does with a call.

use crate::Class;

/// Whether a stream of 0 means the calling thread's own default stream (CUDA Runtime API, "Stream synchronization
/// behavior"): forms with a stream argument end so. Those without one end in `_ptds`.
pub const fn has_own_stream(name: &str) -> bool {
    ends(name.as_bytes(), b"_ptsz")
}

/// Whether calls of a function put work on a GPU.
pub const fn puts_work(class: Class, name: &str) -> bool {
    let name = name.as_bytes();
    match class {
        Class::launch | Class::copy | Class::region | Class::map => true,
        Class::graph => holds(name, b"GraphLaunch"),
        Class::memory => holds(name, b"emset") || holds(name, b"emcpy"),
        _ => false,
    }
}

/// Whether `part` stands in `name` from byte `at` on.
const fn stands(name: &[u8], part: &[u8], at: usize) -> bool {
    let mut n = 0;
    while n < part.len() {
        if at + n >= name.len() || name[at + n] != part[n] {
            return false;
        }
        n += 1;
    }
    true
}

const fn ends(name: &[u8], part: &[u8]) -> bool {
    name.len() >= part.len() && stands(name, part, name.len() - part.len())
}

const fn holds(name: &[u8], part: &[u8]) -> bool {
    let mut at = 0;
    while at < name.len() {
        if stands(name, part, at) {
            return true;
        }
        at += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns() {
        assert!(has_own_stream("cudaLaunchKernel_ptsz") && has_own_stream("cuGraphLaunch_ptsz"));
        assert!(!has_own_stream("cudaMemcpy_ptds") && !has_own_stream("ptsz"));
        assert!(!has_own_stream("cudaLaunchKernel"));
        assert!(puts_work(Class::graph, "cuGraphLaunch_ptsz"));
        assert!(!puts_work(Class::graph, "cudaGraphInstantiate"));
        assert!(puts_work(Class::memory, "cuMemsetD8Async"));
        assert!(!puts_work(Class::memory, "cudaMalloc") && !puts_work(Class::sync, "cudaMemset"));
        assert!(puts_work(Class::copy, "x"));
    }
}
