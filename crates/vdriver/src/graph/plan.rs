//! Which nodes of an instance run one after another, and which concurrently.
//!
//! Owns the division of nodes into lanes: the nodes of a lane run in order; nodes of different lanes run concurrently
//! unless an edge orders them. Must not know: what nodes do, queues.

/// The most lanes: each is a queue of the accelerator.
const MOST: usize = 32;

/// A node's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its lane.
    pub lane: usize,
    /// The steps that it waits for, by number; each is less than its own.
    pub after: Vec<usize>,
    /// No step waits for it.
    pub last: bool,
}

/// The steps of an instance.
#[derive(Debug, Default)]
pub struct Plan {
    /// Number of lanes; one where every node waits for the one before it.
    pub lanes: usize,
    /// The steps in topological order.
    pub steps: Vec<Step>,
}

impl Plan {
    /// Plans nodes, given what each waits for: numbers less than its own.
    pub fn new(after: Vec<Vec<usize>>) -> Plan {
        let mut waited_for = vec![false; after.len()];
        for before in after.iter().flatten() {
            if let Some(waited_for) = waited_for.get_mut(*before) {
                *waited_for = true;
            }
        }
        // For each node, how many nodes of each lane are over when it is.
        let mut known: Vec<[usize; MOST]> = Vec::with_capacity(after.len());
        let (mut length, mut ends, mut lanes) = ([0; MOST], [0; MOST], 0);
        let mut steps: Vec<Step> = Vec::with_capacity(after.len());
        for (number, (after, waited_for)) in after.into_iter().zip(waited_for).enumerate() {
            let mut over = [0; MOST];
            for before in after.iter().filter_map(|before| known.get(*before)) {
                merge(&mut over, before);
            }
            let all_over = |lane: &usize| over.get(*lane) == length.get(*lane);
            let of_those = after.iter().filter_map(|n| steps.get(*n)).map(|step| step.lane);
            let lane =
                of_those.chain(0..lanes).find(all_over).unwrap_or_else(|| match lanes < MOST {
                    true => {
                        lanes += 1;
                        lanes - 1
                    }
                    false => number % MOST,
                });
            if let (Some(length), Some(end)) = (length.get_mut(lane), ends.get_mut(lane)) {
                // Where all lanes are in use, the last node of the lane comes first, with or
                // without an edge.
                if let Some(before) = known.get(*end).filter(|_| *length > 0) {
                    merge(&mut over, before);
                }
                *length += 1;
                *end = number;
                if let Some(over) = over.get_mut(lane) {
                    *over = *length;
                }
            }
            known.push(over);
            steps.push(Step { lane, after, last: !waited_for });
        }
        Plan { lanes, steps }
    }
}

fn merge(into: &mut [usize; MOST], other: &[usize; MOST]) {
    for (into, other) in into.iter_mut().zip(other) {
        *into = (*into).max(*other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(after: &[&[usize]]) -> Vec<usize> {
        let plan = Plan::new(after.iter().map(|after| after.to_vec()).collect());
        plan.steps.iter().map(|step| step.lane).collect()
    }

    #[test]
    fn chains_have_one_lane_and_branches_their_own() {
        assert_eq!(lanes(&[&[], &[0], &[1], &[2]]), [0, 0, 0, 0]);
        assert_eq!(lanes(&[&[], &[], &[0], &[1]]), [0, 1, 0, 1]);
        // Two diamonds, one after the other: the second uses the lanes of the first.
        assert_eq!(lanes(&[&[], &[0], &[0], &[1, 2], &[3], &[3], &[4, 5]]), [0, 0, 1, 0, 0, 1, 0]);
        let plan = Plan::new(vec![Vec::new(), vec![0], vec![0]]);
        let last: Vec<bool> = plan.steps.iter().map(|step| step.last).collect();
        assert_eq!((plan.lanes, last), (2, vec![false, true, true]));
    }

    #[test]
    fn lanes_are_not_without_number() {
        let plan = Plan::new(vec![Vec::new(); 3 * MOST]);
        assert_eq!(plan.lanes, MOST);
        let most = plan.steps.iter().filter(|step| step.lane == 0).count();
        assert_eq!(most, 3, "shared evenly");
        assert_eq!(Plan::new(Vec::new()).lanes, 0);
    }
}
