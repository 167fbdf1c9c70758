//! The layout of the state that generated code shares with the scheduler: one versioned description of offsets.
//!
//! Owns the numbers. An emitter needs these and no type of the runtime; cached code belongs to one version.

use super::state::{Row, Slot, Warp, WarpLoop};
use std::mem::offset_of;

/// Changes with what any field means, where its offset does not say it.
const VERSION: usize = 5;

macro_rules! offsets {
    ($(#[$meta:meta])* $name:ident of $of:ident: $($field:ident),* $(,)?) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, Hash)]
        #[repr(C)]
        pub(crate) struct $name {
            $(pub(crate) $field: usize),*
        }

        impl $name {
            const HERE: $name = $name { $($field: offset_of!($of, $field)),* };

            /// Each field and its offset.
            #[cfg(test)]
            fn all(&self) -> Vec<(&'static str, usize)> {
                vec![$((stringify!($field), self.$field)),*]
            }
        }
    };
}

offsets! {
    /// Offsets in a [`Warp`].
    WarpOffsets of Warp:
    act, answer, arena, arena_size, bounds, budget, from, full, gathered, globals, height, helpers, live, local, local_size, local_stride, low, marks, masks, meet, next, params, preserve_all, reduced, room, rows, scratch, shared, shared_marks, shared_size, status, taking, tid, together, touch, uniform, warps,
}

offsets! {
    /// Offsets in a [`WarpLoop`].
    LoopOffsets of WarpLoop:
    abreast, alive, block, current, first, left, met, onward, region, turned, turned_any, turned_every, warps,
}

/// All that generated code knows of memory which it shares.
#[derive(Debug, Clone, Copy, Hash)]
#[repr(C)]
pub(crate) struct Interface {
    pub(crate) version: usize,
    pub(crate) warp: WarpOffsets,
    /// The state of the loop over a block's warps, at the warp's pointer `warps`.
    pub(crate) warps: LoopOffsets,
    /// Bytes from the warp to its frame, which contains the results of collective instructions for lanes that waited,
    /// and then the registers that are live across regions.
    pub(crate) frame: usize,
    /// Bytes of a scratch slot, and how many there are.
    pub(crate) slot: usize,
    pub(crate) slots: usize,
    /// Bytes of a row: of the stacks for functions that may call themselves, of what collective instructions gave.
    pub(crate) row: usize,
}

/// The one that this crate's helpers keep to.
pub(crate) const INTERFACE: Interface = Interface {
    version: VERSION,
    warp: WarpOffsets::HERE,
    warps: LoopOffsets::HERE,
    frame: size_of::<Warp>(),
    slot: size_of::<Slot>(),
    slots: super::state::SLOTS,
    row: size_of::<Row>(),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_apart_and_before_the_frame() {
        for (all, size) in [
            (INTERFACE.warp.all(), INTERFACE.frame),
            (INTERFACE.warps.all(), size_of::<WarpLoop>()),
        ] {
            let mut places: Vec<usize> = all.iter().map(|(_, at)| *at).collect();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), all.len(), "{all:?}");
            assert!(all.iter().all(|(_, at)| *at < size && at % 4 == 0), "{all:?}");
        }
        assert!(INTERFACE.frame.is_multiple_of(64));
        let end = INTERFACE.warp.scratch + INTERFACE.slot * INTERFACE.slots;
        let inside = |at: usize| (INTERFACE.warp.scratch..end).contains(&at);
        assert_eq!(INTERFACE.warp.all().iter().filter(|(_, at)| inside(*at)).count(), 1);
    }
}
