//! Matches the functions of a stripped program with those of an object file of a near version.
//!
//! Near versions have the same functions in the same order, most of them equal except for the bytes that the linker
//! writes. Functions that match exactly one address, and in order, are found first. What they refer to gives the
//! addresses of other functions. A function that differs is found by its own references: a relative distance in it
//! leads to a function that was found already, and hardly any other bytes do. Bytes, sizes and relocations are
//! compared; no instruction is decoded.
//!
//! Owns: that comparison; after a single contradiction it reports nothing. Must not know: names.

use crate::archive::Parts;
use crate::file::File;
use crate::frames::{Frame, frames, signed};
use crate::work::Work;

/// Bytes that must be equal in all, so that a match is no accident.
const LEAST: usize = 1024;
/// Bytes that must be equal in a function that serves as an anchor.
const TELLING: usize = 16;
/// A function with at most this many callers identifies them: there may be two, for the legacy and
/// the per-thread default stream.
const RARE: u32 = 2;

/// Where a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// There.
    At(Frame),
    /// Not in the program: the functions before and after it are adjacent.
    Absent,
    /// Not known: there are bytes that may be this function's.
    Unknown,
}

/// A stripped program and its functions.
pub struct Program<'a, 'd> {
    file: &'a File<'d>,
    /// By address.
    pub frames: Vec<Frame>,
}

impl<'a, 'd> Program<'a, 'd> {
    /// The frames of `file`.
    pub fn of(file: &'a File<'d>) -> Self {
        Program { file, frames: frames(file) }
    }
}

/// Where each function of `parts` is in `program`; `None` if they are not there, the versions
/// differ too much, or it takes more than `work`: then functions lie upon each other, or most are equal.
pub fn align(program: &Program<'_, '_>, parts: &Parts<'_>, work: &Work) -> Option<Vec<Place>> {
    let mut uses = vec![0u32; parts.count()];
    let mut targets: Vec<usize> = Vec::new();
    for part in 0..parts.count() {
        targets.clear();
        if work.is_over() {
            return None;
        }
        targets.extend(parts.refers(part).map(|(_, target)| target));
        work.take(targets.len() as u64);
        targets.sort_unstable();
        targets.dedup();
        for target in &targets {
            if let Some(uses) = uses.get_mut(*target) {
                *uses += 1;
            }
        }
    }
    let found = vec![None; parts.count()];
    let frames = &program.frames;
    let mut alignment = Alignment { program: program.file, parts, frames, uses, found, work };
    for (part, frame) in chain(alignment.anchors()) {
        alignment.set(part, frame);
    }
    let equal = |part: usize| parts.fixed(part).iter().filter(|fixed| **fixed).count();
    if alignment.known().map(|(part, _)| equal(part)).sum::<usize>() < LEAST {
        return None;
    }
    alignment.neighbours();
    alignment.referred()?;
    while alignment.referring() {}
    let places = (0..parts.count()).map(|part| alignment.place(part)).collect();
    (!work.is_over()).then_some(places)
}

/// The longest sequence of pairs in which both numbers rise; `pairs` are sorted by the first.
fn chain(pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    // The last pair of the best sequence of each length, and for each pair its predecessor.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    let second = |at: &usize| pairs.get(*at).map(|pair| pair.1);
    for (at, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| second(end) < Some(pair.1));
        before.push(length.checked_sub(1).and_then(|last| ends.get(last)).copied());
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let back = |at: &usize| before.get(*at).copied().flatten();
    let mut row: Vec<_> = std::iter::successors(ends.last().copied(), back)
        .filter_map(|at| pairs.get(at).copied())
        .collect();
    row.reverse();
    row
}

/// Functions between two that were found: their numbers, and those of the frames.
type Gap = (std::ops::Range<usize>, std::ops::Range<usize>);

struct Alignment<'a, 'd> {
    program: &'a File<'d>,
    parts: &'a Parts<'a>,
    frames: &'a [Frame],
    /// How many functions refer to each.
    uses: Vec<u32>,
    /// The frame of each function that was found, in increasing order.
    found: Vec<Option<usize>>,
    work: &'a Work,
}

impl Alignment<'_, '_> {
    fn set(&mut self, part: usize, frame: usize) {
        if let Some(found) = self.found.get_mut(part) {
            *found = Some(frame);
        }
    }

    fn get(&self, part: usize) -> Option<usize> {
        self.found.get(part).copied().flatten()
    }

    fn known(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> + '_ {
        self.found.iter().enumerate().filter_map(|(part, found)| Some((part, (*found)?)))
    }

    fn code(&self, frame: usize) -> &[u8] {
        let code = self.frames.get(frame).and_then(|f| self.program.code(f.address, f.size));
        code.map_or(&[], |(bytes, _)| bytes)
    }

    fn equal(&self, part: usize, frame: usize) -> bool {
        let (here, body) = (self.code(frame), self.parts.bytes(part));
        let fixed = self.parts.fixed(part);
        here.len() == body.len()
            && self.work.take(body.len() as u64)
            && here.iter().zip(body).zip(fixed).all(|((a, b), fixed)| !fixed || a == b)
    }

    /// Pairs of a function and the only frame equal to it, if no other function is equal to that frame.
    fn anchors(&self) -> Vec<(usize, usize)> {
        let mut sized: Vec<(u64, usize)> =
            self.frames.iter().enumerate().map(|(number, frame)| (frame.size, number)).collect();
        sized.sort_unstable();
        let mut pairs = Vec::new();
        for part in 0..self.parts.count() {
            if !self.work.take(self.parts.fixed(part).len() as u64) {
                break;
            }
            if self.parts.fixed(part).iter().filter(|fixed| **fixed).count() < TELLING {
                continue;
            }
            let size = self.parts.bytes(part).len() as u64;
            let first = sized.partition_point(|entry| entry.0 < size);
            let alike = sized.iter().skip(first).take_while(|entry| entry.0 == size);
            let mut equal = alike.map(|entry| entry.1).filter(|frame| self.equal(part, *frame));
            if let (Some(frame), None) = (equal.next(), equal.next()) {
                pairs.push((part, frame));
            }
        }
        let mut taken: Vec<usize> = pairs.iter().map(|pair| pair.1).collect();
        taken.sort_unstable();
        let once = |frame: usize| {
            let first = taken.partition_point(|other| *other < frame);
            taken.get(first + 1) != Some(&frame)
        };
        pairs.retain(|pair| once(pair.1));
        pairs
    }

    /// Finds functions beside one that was found, where the neighbours in the object file are
    /// equal.
    fn neighbours(&mut self) {
        for part in 1..self.parts.count() {
            let next = self.get(part - 1).map(|frame| frame + 1);
            self.take_equal(part, next);
        }
        for part in (1..self.parts.count()).rev() {
            let next = self.get(part).and_then(|frame| frame.checked_sub(1));
            self.take_equal(part - 1, next);
        }
    }

    fn take_equal(&mut self, part: usize, frame: Option<usize>) {
        let Some(frame) = frame.filter(|frame| self.get(part).is_none() && self.fits(part, *frame))
        else {
            return;
        };
        if self.equal(part, frame) {
            self.set(part, frame);
        }
    }

    /// Whether a frame lies after those of all earlier functions, and before those of all later ones.
    fn fits(&self, part: usize, frame: usize) -> bool {
        if !self.work.take(self.found.len() as u64) {
            return false;
        }
        let (before, behind) = self.found.split_at(part.min(self.found.len()));
        let last = before.iter().rev().find_map(|found| *found);
        let next = behind.iter().skip(1).find_map(|found| *found);
        last.is_none_or(|last| last < frame) && next.is_none_or(|next| frame < next)
    }

    /// Finds the functions that equal functions refer to. `None`: they contradict each other or earlier results.
    fn referred(&mut self) -> Option<()> {
        let mut votes: Vec<(usize, u64)> = Vec::new();
        for (part, frame) in self.known() {
            let (code, base) = (self.code(frame), self.frames.get(frame)?.address);
            votes.extend(
                self.parts
                    .refers(part)
                    .filter_map(|(at, target)| Some((target, leads(code, base, at)?))),
            );
        }
        votes.sort_unstable();
        votes.dedup();
        for (at, (part, address)) in votes.iter().enumerate() {
            if votes.get(at + 1).is_some_and(|next| next.0 == *part) {
                return None;
            }
            let frame = self.frames.binary_search_by_key(address, |frame| frame.address);
            match (self.get(*part), frame) {
                (Some(found), frame) if frame != Ok(found) => return None,
                (None, Ok(frame)) if self.fits(*part, frame) => self.set(*part, frame),
                _ => {}
            }
        }
        Some(())
    }

    fn gaps(&self) -> Vec<Gap> {
        let pairs = self.known().zip(self.known().skip(1));
        let gaps = pairs.map(|((a, from), (b, to))| (a + 1..b, from + 1..to));
        gaps.filter(|(parts, frames)| !parts.is_empty() && !frames.is_empty()).collect()
    }

    /// Finds functions by their own references; returns whether it found one.
    fn referring(&mut self) -> bool {
        if !self.work.take(4 * self.found.len() as u64) {
            return false;
        }
        // Where each function is, or where it is if its gap has as many on both sides.
        let mut supposed: Vec<Option<usize>> = self.found.clone();
        let gaps = self.gaps();
        for (parts, frames) in gaps.iter().filter(|(parts, frames)| parts.len() == frames.len()) {
            for (part, frame) in parts.clone().zip(frames.clone()) {
                if let Some(supposed) = supposed.get_mut(part) {
                    *supposed = Some(frame);
                }
            }
        }
        let mut pairs = Vec::new();
        for gap in &gaps {
            self.refer(gap, &supposed, &mut pairs);
        }
        let before = self.known().count();
        for (part, frame) in pairs {
            if self.get(part).is_none()
                && self.fits(part, frame)
                && self.work.take(self.found.len() as u64)
                && self.known().all(|k| k.1 != frame)
            {
                self.set(part, frame);
            }
        }
        self.known().count() > before
    }

    /// Finds the functions of one gap by their references, and further ones by those.
    fn refer(&self, gap: &Gap, supposed: &[Option<usize>], pairs: &mut Vec<(usize, usize)>) {
        let (parts, frames) = gap;
        let at = |part: usize| supposed.get(part).copied().flatten();
        let rare = |part: &usize| self.uses.get(*part).is_some_and(|uses| *uses <= RARE);
        for part in parts.clone() {
            if !self.work.take(self.parts.refers(part).count() as u64) {
                return;
            }
            let mut told = self.parts.refers(part).map(|(_, target)| target).filter(rare);
            let tells = told.any(|target| at(target).is_some());
            // Without such a reference it must be the only candidate.
            let only = (parts.len(), frames.len()) == (1, 1);
            if !tells && !only {
                continue;
            }
            let mut alike = frames.clone().filter(|frame| self.alike(part, *frame, only, supposed));
            let (Some(frame), None) = (alike.next(), alike.next()) else { continue };
            let unsure = |target: &usize| self.get(*target).is_none() && at(*target).is_some();
            let mut supposing =
                self.parts.refers(part).map(|(_, target)| target).filter(unsure).peekable();
            // Matches by order alone must agree with it on both ends.
            if supposing.peek().is_some() && at(part) != Some(frame) {
                continue;
            }
            pairs.push((part, frame));
            pairs.extend(supposing.filter(rare).filter_map(|target| Some((target, at(target)?))));
        }
    }

    /// Whether a frame has the same references as `part`, in the same order, as far as their targets are known;
    /// three of four suffice for an `only` frame.
    fn alike(&self, part: usize, frame: usize, only: bool, supposed: &[Option<usize>]) -> bool {
        if !self.work.take(1) {
            return false;
        }
        let Some(base) = self.frames.get(frame).map(|frame| frame.address) else { return false };
        let code = self.code(frame);
        let (mut from, mut all, mut count) = (0, 0, 0);
        for (_, target) in self.parts.refers(part) {
            let known = supposed.get(target).copied().flatten();
            let Some(target) = known.and_then(|frame| self.frames.get(frame)) else { continue };
            all += 1;
            if !self.work.take((code.len() - from) as u64) {
                return false;
            }
            let mut places = from..code.len();
            if let Some(at) = places.find(|at| leads(code, base, *at) == Some(target.address)) {
                (from, count) = (at + 4, count + 1);
            } else if !only {
                return false;
            }
        }
        count >= 2 && count * 4 >= all * 3
    }

    fn place(&self, part: usize) -> Place {
        if let Some(frame) = self.get(part).and_then(|frame| self.frames.get(frame)) {
            return Place::At(*frame);
        }
        if !self.work.take(self.found.len() as u64) {
            return Place::Unknown;
        }
        let (before, behind) = self.found.split_at(part.min(self.found.len()));
        let last = before.iter().rev().find_map(|found| *found);
        let next = behind.iter().find_map(|found| *found);
        match (last, next) {
            (Some(last), Some(next)) if last + 1 == next => Place::Absent,
            _ => Place::Unknown,
        }
    }
}

/// The target of a distance in the code at `base`; it counts from its own end.
fn leads(code: &[u8], base: u64, at: usize) -> Option<u64> {
    base.checked_add(at as u64)?.checked_add(4)?.checked_add_signed(signed(code, at)?)
}
