//! Functions compiled for several processor levels.
//!
//! Owns the choice between them, and the only unsafe code of the crate: the call of a function that uses instructions
//! that this module has checked the processor for. Must not know what the functions do.

#![allow(unsafe_code)]

use crate::Level;

/// Functions as they were compiled for a level that this processor has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Version(Level);

impl Version {
    /// The version for the level in use; for the processor's own if the requested level is invalid.
    pub(super) fn in_use() -> Version {
        Version(Level::in_use().unwrap_or_else(|_| Level::of_processor()))
    }

    /// The versions for all levels that this processor has.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Version> {
        let most = Level::of_processor();
        Level::ALL.into_iter().filter(|level| *level <= most).map(Version).collect()
    }

    /// Does something.
    #[inline(always)]
    pub(super) fn run<W: Vectorized>(self, work: W) -> W::Out {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
            fn v4<W: Vectorized>(work: W) -> W::Out {
                work.run()
            }
            #[target_feature(enable = "avx2,fma")]
            fn v3<W: Vectorized>(work: W) -> W::Out {
                work.run()
            }
            match self.0 {
                // SAFETY: nothing makes a version of a level above the processor's, and that has all this.
                Level::V4 => return unsafe { v4(work) },
                // SAFETY: nothing makes a version of a level above the processor's, and this one has AVX2 and FMA.
                Level::V3 => return unsafe { v3(work) },
                Level::V1 | Level::V2 => {}
            }
        }
        work.run()
    }
}

/// Work that is compiled for each level.
pub(super) trait Vectorized {
    type Out;

    /// Does it. It is always inlined, so that it is compiled for the level of its caller.
    fn run(self) -> Self::Out;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::VARIABLE;

    const THIS: &str = "interp::versions::tests::is_of_the_level_that_is_asked_for";

    /// A child process for each level, as a process determines its level once.
    #[test]
    fn is_of_the_level_that_is_asked_for() {
        const CHILD: &str = "CUSHIM_TEST_VERSION";
        if std::env::var_os(CHILD).is_some() {
            println!("in use: {:?};", Version::in_use());
            return;
        }
        let most = Level::of_processor();
        let asked = Level::ALL.map(|level| (level.name(), level.min(most)));
        for (asked, expected) in asked.into_iter().chain([("", most), ("x86-64-v9", most)]) {
            let done = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "--nocapture", THIS])
                .env(CHILD, "1")
                .env(VARIABLE, asked)
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&done.stdout).into_owned();
            assert!(text.contains(&format!("in use: {:?};", Version(expected))), "{asked}: {text}");
        }
    }
}
