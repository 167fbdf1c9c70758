//! Which blocks of a grid run on a thread, and when: the same for every engine.
//!
//! Blocks start in the order in which they are given out. If a block runs for long (it may wait for another one), the
//! next starts beside it. Blocks of a cooperative grid all start at once. Must not know how a block runs.

use super::fault::{Cause, Fault};

/// How many blocks that do not end may be in the air on one thread, if the grid is not cooperative.
const MOST: usize = 64;

/// The outcome of a block's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Its last thread has ended.
    Done,
    /// Something ran, and can run further.
    Ran,
    /// Every thread waits.
    Stuck,
}

/// An engine that runs blocks.
pub trait Engine {
    /// Room for one block at a time, used again and again.
    type Slot;
    /// Turns of a block alone after which the next one starts beside it.
    const PATIENCE: u32;

    /// Room for a block.
    fn slot(&self) -> Self::Slot;
    /// Starts the block of this number; the blocks after it, `count` in all, follow in the same slot.
    fn start(&self, slot: &mut Self::Slot, number: u64, count: u32);
    /// Runs what is in a slot until all of it has ended, waits, or others should have a turn. `alone`: there are no
    /// others.
    ///
    /// # Errors
    /// Why the launch ended.
    fn turn(&self, slot: &mut Self::Slot, alone: bool) -> Result<Outcome, Fault>;
    /// A turn has ended. `count`: what [`Engine::start`] was given.
    fn ended(&self, _outcome: Outcome, _count: u32) {}
    /// The index of the block in a slot.
    fn index(&self, slot: &Self::Slot) -> [u32; 3];
    /// Whether the host wants the launch to end.
    fn interrupted(&self) -> bool;
    /// Why the launch ends, which is no thread's fault.
    fn fault(&self, cause: Cause, block: [u32; 3]) -> Fault;
}

struct Place<S> {
    slot: S,
    /// How many blocks began together; 0 if nothing runs there.
    count: u32,
}

/// Runs the blocks that `next` gives, by number and how many are to begin together, until it gives none and all have
/// ended.
///
/// # Errors
/// The first fault of a block; [`Cause::Deadlock`] where every thread of all of them waits.
pub fn run<E: Engine>(
    engine: &E,
    cooperative: bool,
    next: &mut dyn FnMut() -> Option<(u64, u32)>,
) -> Result<(), Fault> {
    let mut places: Vec<Place<E::Slot>> = Vec::new();
    let mut window = if cooperative { usize::MAX } else { 1 };
    let (mut exhausted, mut turns) = (false, 0u32);
    loop {
        let (mut ran, mut k) = (false, 0);
        while k < window.min(places.len().saturating_add(usize::from(!exhausted))) {
            if engine.interrupted() {
                return Err(engine.fault(Cause::Interrupted, [0; 3]));
            }
            if places.get(k).is_none_or(|p| p.count == 0) {
                let Some((number, count)) = (if exhausted { None } else { next() }) else {
                    exhausted = true;
                    k += 1;
                    continue;
                };
                if k == places.len() {
                    places.push(Place { slot: engine.slot(), count: 0 });
                }
                places[k].count = count;
                engine.start(&mut places[k].slot, number, count);
            }
            let Place { slot, count } = &mut places[k];
            // A block alone runs on until it ends; among others it takes turns.
            let alone = window == 1;
            let outcome = loop {
                let outcome = engine.turn(slot, alone)?;
                engine.ended(outcome, *count);
                turns += u32::from(outcome == Outcome::Ran);
                if outcome != Outcome::Ran || !alone || turns >= E::PATIENCE {
                    break outcome;
                }
            };
            ran |= outcome != Outcome::Stuck;
            if outcome == Outcome::Done {
                (*count, turns) = (0, 0);
            }
            // All blocks of a cooperative grid are to begin before any has a second turn.
            if !(cooperative && outcome == Outcome::Done && !exhausted) {
                k += 1;
            }
        }
        let Some(first) = places.iter().find(|p| p.count > 0) else {
            match exhausted {
                true => return Ok(()),
                false => continue,
            }
        };
        let more = !exhausted && window < MOST;
        if !ran && !more {
            // Barriers are within blocks: no other block can release these.
            return Err(engine.fault(Cause::Deadlock, engine.index(&first.slot)));
        }
        // One that waits may wait for another block: let that start.
        if cooperative || turns >= E::PATIENCE || !ran {
            turns = 0;
            std::thread::yield_now();
            window += usize::from(more && !cooperative);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Blocks that wait: for each turn of a block, the blocks that must end before the turn makes progress.
    struct Mock {
        waits: Vec<Vec<u64>>,
        log: RefCell<Vec<(u64, Outcome)>>,
        stuck: Outcome,
    }

    #[derive(Default)]
    struct Room {
        number: u64,
        turn: usize,
    }

    impl Engine for Mock {
        type Slot = Room;
        const PATIENCE: u32 = 4;

        fn slot(&self) -> Room {
            Room::default()
        }

        fn start(&self, slot: &mut Room, number: u64, _: u32) {
            *slot = Room { number, turn: 0 };
        }

        fn turn(&self, slot: &mut Room, _: bool) -> Result<Outcome, Fault> {
            let waits = &self.waits[slot.number as usize];
            let ended = |n: &u64| self.log.borrow().contains(&(*n, Outcome::Done));
            let outcome = match waits.get(slot.turn) {
                None => Outcome::Done,
                Some(n) if *n == slot.number || ended(n) => {
                    slot.turn += 1;
                    Outcome::Ran
                }
                Some(_) => self.stuck,
            };
            self.log.borrow_mut().push((slot.number, outcome));
            Ok(outcome)
        }

        fn index(&self, slot: &Room) -> [u32; 3] {
            [slot.number as u32, 0, 0]
        }

        fn interrupted(&self) -> bool {
            self.log.borrow().len() > 10_000
        }

        fn fault(&self, cause: Cause, block: [u32; 3]) -> Fault {
            let module = crate::parse::parse(".version 8.0\n.target sm_80\n.entry k() { ret; }");
            let module = crate::check(&module.unwrap()).unwrap();
            Fault::new(&module, 0, cause, None, block, [0; 3])
        }
    }

    /// The blocks in the order of their ends, or the reason why some did not end.
    fn ended(waits: &[&[u64]], cooperative: bool, stuck: Outcome) -> Result<Vec<u64>, Cause> {
        let waits: Vec<Vec<u64>> = waits.iter().map(|w| w.to_vec()).collect();
        let mut numbers = 0..waits.len() as u64;
        let mock = Mock { waits, log: RefCell::default(), stuck };
        run(&mock, cooperative, &mut || numbers.next().map(|n| (n, 1))).map_err(|f| *f.cause)?;
        let log = mock.log.into_inner();
        Ok(log.into_iter().filter(|(_, o)| *o == Outcome::Done).map(|(n, _)| n).collect())
    }

    #[test]
    fn blocks_run_in_order_and_begin_beside_those_that_wait() {
        for stuck in [Outcome::Stuck, Outcome::Ran] {
            for cooperative in [false, true] {
                let run = |waits: &[&[u64]]| ended(waits, cooperative, stuck);
                assert_eq!(run(&[]), Ok(vec![]));
                assert_eq!(run(&[&[], &[], &[]]), Ok(vec![0, 1, 2]));
                // The first waits for the last, which waits for the middle one.
                assert_eq!(run(&[&[2], &[], &[1, 2]]), Ok(vec![1, 2, 0]));
            }
        }
        // A block of an ordinary grid keeps running; in a cooperative grid others run between its turns.
        let own: &[&[u64]] = &[&[0, 0], &[1]];
        assert_eq!(ended(own, false, Outcome::Stuck), Ok(vec![0, 1]));
        assert_eq!(ended(own, true, Outcome::Stuck), Ok(vec![1, 0]));
    }

    #[test]
    fn who_waits_for_ever_is_told() {
        for cooperative in [false, true] {
            let circle: &[&[u64]] = &[&[1], &[0], &[]];
            assert_eq!(ended(circle, cooperative, Outcome::Stuck), Err(Cause::Deadlock));
            assert_eq!(ended(circle, cooperative, Outcome::Ran), Err(Cause::Interrupted));
        }
    }

    #[test]
    fn more_blocks_than_may_wait_at_once_are_a_deadlock() {
        let many = |n: u64| {
            let waits: Vec<Vec<u64>> =
                (0..=n).map(|k| if k == n { vec![] } else { vec![n] }).collect();
            let waits: Vec<&[u64]> = waits.iter().map(Vec::as_slice).collect();
            ended(&waits, false, Outcome::Stuck).map(|order| order[0])
        };
        assert_eq!(many(MOST as u64 - 1), Ok(MOST as u64 - 1));
        assert_eq!(many(MOST as u64), Err(Cause::Deadlock));
    }
}
