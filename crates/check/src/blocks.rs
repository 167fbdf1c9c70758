//! Allocations: live ones, and recently freed ones.
//!
//! Owns the record of each, finding the allocation of an address, and how long freed memory stays unused. Must not
//! know whether an access is valid.

use std::collections::{BTreeMap, VecDeque};

use cushim_accel::Trail;
use cushim_names::in_source;

/// What an allocation is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Memory of a device.
    Device,
    /// Page-locked memory of the host.
    Host,
    /// Managed memory.
    Managed,
    /// What a kernel got of `malloc`.
    Heap,
    /// The buffer for the arguments of a kernel's own launch.
    Arguments,
    /// A variable of a module.
    Variable(Module),
}

/// A variable of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Its symbol.
    pub symbol: String,
    /// Kernels cannot write it.
    pub constant: bool,
}

impl Kind {
    /// Whether the program may write it unobserved.
    pub fn is_of_host(&self) -> bool {
        matches!(self, Kind::Host | Kind::Managed)
    }

    /// Whether kernels get it, and not the program.
    pub fn is_of_kernels(&self) -> bool {
        matches!(self, Kind::Heap | Kind::Arguments)
    }

    /// As people read it.
    pub fn words(&self) -> String {
        match self {
            Kind::Device => "device memory".into(),
            Kind::Host => "page-locked memory".into(),
            Kind::Managed => "managed memory".into(),
            Kind::Heap => "memory from malloc in a kernel".into(),
            Kind::Arguments => "arguments of a launch by a kernel".into(),
            Kind::Variable(of) => format!("variable {}", in_source(&of.symbol)),
        }
    }
}

/// An allocation.
#[derive(Debug, Clone)]
pub struct Block {
    /// The requested bytes.
    pub bytes: u64,
    /// What it is.
    pub kind: Kind,
    /// The stack of its allocation.
    pub made: Option<Trail>,
    /// It is to be freed in the order of a stream: by whom.
    pub leaves: Option<Trail>,
    /// It was freed: by whom.
    pub freed: Option<Option<Trail>>,
}

impl Block {
    /// Bytes after it that belong to nothing.
    fn red_zone(&self) -> u64 {
        if matches!(self.kind, Kind::Variable(_)) { APART } else { red_zone(self.bytes) }
    }
}

/// The most freed memory that is kept unused: bytes and allocations.
const MOST_BYTES: u64 = 256 << 20;
const MOST_BLOCKS: usize = 4096;

/// Bytes between the variables of a module.
pub const APART: u64 = 256;

/// Bytes after an allocation that belong to nothing.
pub fn red_zone(bytes: u64) -> u64 {
    bytes.clamp(1 << 10, 1 << 20).next_multiple_of(256)
}

/// All of them.
#[derive(Debug, Default)]
pub struct Blocks {
    all: BTreeMap<u64, Block>,
    kept: VecDeque<(u64, u64)>,
    bytes: u64,
}

/// How bytes lie to an allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// All of them are in it.
    Inside,
    /// They begin in it, or before it, and end elsewhere.
    Across,
    /// So many bytes after its end; 0 if they begin there.
    Behind(u64),
    /// They end so many bytes before it.
    Before(u64),
}

impl Blocks {
    /// Adds an allocation; freed ones at its addresses are forgotten.
    pub fn add(&mut self, at: u64, block: Block) {
        let end = at.saturating_add(block.bytes.max(1));
        let over =
            |(from, old): (&u64, &Block)| (from.saturating_add(old.bytes) > at).then_some(*from);
        let before: Vec<u64> =
            self.all.range(..at).next_back().and_then(over).into_iter().collect();
        let within: Vec<u64> = self.all.range(at..end).map(|(from, _)| *from).collect();
        for old in before.into_iter().chain(within) {
            self.all.remove(&old);
        }
        self.all.insert(at, block);
    }

    /// Notes who frees an allocation later.
    pub fn leave(&mut self, at: u64, by: Trail) {
        if let Some(block) = self.all.get_mut(&at) {
            block.leaves = Some(by);
        }
    }

    /// Frees an allocation: returns its size, and the allocations to release now, which may be it or others freed
    /// before. `None` if no live allocation begins there.
    pub fn free(&mut self, at: u64, by: Option<Trail>) -> Option<(u64, Vec<u64>)> {
        let block = self.all.get_mut(&at).filter(|block| block.freed.is_none())?;
        block.freed = Some(by);
        let bytes = block.bytes;
        self.kept.push_back((at, bytes));
        self.bytes += bytes;
        let mut back = Vec::new();
        while self.bytes > MOST_BYTES || self.kept.len() > MOST_BLOCKS {
            let Some((at, bytes)) = self.kept.pop_front() else { break };
            self.bytes -= bytes;
            back.push(at);
        }
        Some((bytes, back))
    }

    /// Forgets one.
    pub fn remove(&mut self, at: u64) -> Option<Block> {
        self.all.remove(&at)
    }

    /// The one that begins there.
    pub fn at(&self, at: u64) -> Option<&Block> {
        self.all.get(&at)
    }

    /// The live allocations.
    pub fn in_use(&self) -> impl Iterator<Item = (u64, &Block)> {
        self.all.iter().filter(|(_, block)| block.freed.is_none()).map(|(at, block)| (*at, block))
    }

    /// The allocation in which bytes begin, or directly after which: it, and whether all of them are in it.
    pub fn owner(&self, address: u64, bytes: u64) -> Option<(&Block, bool)> {
        let (at, block) = self.all.range(..=address).next_back()?;
        let offset = address - at;
        let inside = offset < block.bytes && bytes <= block.bytes - offset;
        (offset < block.bytes.saturating_add(block.red_zone())).then_some((block, inside))
    }

    /// The allocation in use that bytes are in, all of them, and where it begins.
    pub fn whole(&self, address: u64, bytes: u64) -> Option<(u64, &Block)> {
        let (at, block) = self.all.range(..=address).next_back()?;
        let offset = address - at;
        let inside = offset < block.bytes && bytes <= block.bytes - offset;
        (inside && block.freed.is_none()).then_some((*at, block))
    }

    /// The allocation nearest to bytes, and their position relative to it. A live one comes before a freed one.
    pub fn nearest(&self, address: u64, bytes: u64) -> Option<(u64, &Block, Place)> {
        let end = address.saturating_add(bytes);
        let before = self.all.range(..=address).next_back();
        let after = self.all.range(address.saturating_add(1)..).next();
        let placed = |(at, block): (&u64, &Block)| {
            let last = at.saturating_add(block.bytes);
            if address >= *at && end <= last {
                (Place::Inside, 0)
            } else if address >= last {
                (Place::Behind(address - last), address - last + 1)
            } else if end <= *at {
                (Place::Before(at - end), at - end + 1)
            } else {
                (Place::Across, 1)
            }
        };
        let found = [before, after].into_iter().flatten().map(|one| (one, placed(one)));
        let ((at, block), (place, _)) = found.min_by_key(|(_, (_, distance))| *distance)?;
        Some((*at, block, place))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn block(bytes: u64) -> Block {
        Block { bytes, kind: Kind::Device, made: None, leaves: None, freed: None }
    }

    #[test]
    fn bytes_are_seen_from_the_nearest_allocation() {
        let mut blocks = Blocks::default();
        assert!(blocks.nearest(1000, 4).is_none());
        blocks.add(1000, block(100));
        blocks.add(2000, block(8));
        let place =
            |at, bytes| blocks.nearest(at, bytes).map(|(at, _, place)| (at, place)).unwrap();
        assert_eq!(place(1000, 4), (1000, Place::Inside));
        assert_eq!(place(1096, 4), (1000, Place::Inside));
        assert_eq!(place(1098, 4), (1000, Place::Across));
        assert_eq!(place(1100, 4), (1000, Place::Behind(0)));
        assert_eq!(place(1990, 4), (2000, Place::Before(6)));
        assert_eq!(place(1998, 4), (2000, Place::Across));
        assert_eq!(place(1200, 4), (1000, Place::Behind(100)));
        let owner =
            |at, bytes| blocks.owner(at, bytes).map(|(block, inside)| (block.bytes, inside));
        assert_eq!(owner(1096, 4), Some((100, true)));
        assert_eq!(owner(1097, 4), Some((100, false)));
        assert_eq!(owner(1990, 4), Some((100, false)), "as far as the red zone goes");
        assert_eq!(owner(2008 + (1 << 10), 4), None);
        assert_eq!(owner(999, 4), None);
        let whole = |at, bytes| blocks.whole(at, bytes).map(|(at, _)| at);
        assert_eq!((whole(1096, 4), whole(1097, 4), whole(1100, 1)), (Some(1000), None, None));
    }

    #[test]
    fn what_was_freed_is_known_until_its_addresses_are_used_again() {
        let mut blocks = Blocks::default();
        blocks.add(1000, block(100));
        assert_eq!(blocks.free(1000, None), Some((100, vec![])));
        assert_eq!(blocks.free(1000, None), None, "only once");
        assert_eq!(blocks.free(1004, None), None);
        assert!(blocks.at(1000).unwrap().freed.is_some() && blocks.in_use().next().is_none());
        blocks.add(1050, block(10));
        assert!(blocks.at(1000).is_none());
    }

    #[test]
    fn memory_is_kept_unused_up_to_a_limit() {
        let mut blocks = Blocks::default();
        let half = MOST_BYTES / 2;
        for n in 1..=3 {
            blocks.add(n * MOST_BYTES, block(half));
        }
        assert_eq!(blocks.free(MOST_BYTES, None).unwrap().1, []);
        assert_eq!(blocks.free(2 * MOST_BYTES, None).unwrap().1, []);
        assert_eq!(blocks.free(3 * MOST_BYTES, None).unwrap().1, [MOST_BYTES]);
        blocks.add(9 * MOST_BYTES, block(4 * MOST_BYTES));
        let back = blocks.free(9 * MOST_BYTES, None).unwrap().1;
        assert_eq!(back, [2 * MOST_BYTES, 3 * MOST_BYTES, 9 * MOST_BYTES]);
    }
}
