//! Functions compiled for several kinds of processor.
//!
//! Owns the choice between them, and the only unsafe code of the crate: the call of a function that was compiled for
//! instructions of which this module knows that the processor has them. It must not know what the functions do.

#![allow(unsafe_code)]

use std::sync::OnceLock;

/// What the processor has, as far as functions are compiled for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Level(Kind);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// What every processor of the architecture has.
    Any,
    /// Vectors of 32 bytes, and multiply-add.
    #[cfg(target_arch = "x86_64")]
    Wide,
    /// Vectors of 64 bytes with masks.
    #[cfg(target_arch = "x86_64")]
    Widest,
}

impl Level {
    /// The best level that this processor has.
    pub(super) fn of_this_processor() -> Level {
        static FOUND: OnceLock<Level> = OnceLock::new();
        *FOUND.get_or_init(Level::find)
    }

    #[cfg(target_arch = "x86_64")]
    fn find() -> Level {
        let wide = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let widest = wide
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512bw");
        Level(match (wide, widest) {
            (_, true) => Kind::Widest,
            (true, _) => Kind::Wide,
            _ => Kind::Any,
        })
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn find() -> Level {
        Level(Kind::Any)
    }

    /// Every level that this processor has.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Level> {
        #[cfg(target_arch = "x86_64")]
        let all = [Kind::Any, Kind::Wide, Kind::Widest];
        #[cfg(not(target_arch = "x86_64"))]
        let all = [Kind::Any];
        let best = Level::of_this_processor().0 as u8;
        all.into_iter().filter(|k| *k as u8 <= best).map(Level).collect()
    }

    /// Does something by code that was compiled for this level.
    #[inline(always)]
    pub(super) fn run<W: Wide>(self, work: W) -> W::Out {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
            fn widest<W: Wide>(work: W) -> W::Out {
                work.run()
            }
            #[target_feature(enable = "avx2,fma")]
            fn wide<W: Wide>(work: W) -> W::Out {
                work.run()
            }
            match self.0 {
                // SAFETY: a level is made by `find`, which saw that the processor has all this, or by `all`, which
                // gives none above that.
                Kind::Widest => return unsafe { widest(work) },
                // SAFETY: as above.
                Kind::Wide => return unsafe { wide(work) },
                Kind::Any => {}
            }
        }
        work.run()
    }
}

/// Work that is compiled for each level.
pub(super) trait Wide {
    type Out;

    /// Does it. Always inlined, so that it becomes a part of what is compiled for a level.
    fn run(self) -> Self::Out;
}
