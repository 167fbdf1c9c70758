//! Collective operations of a warp: shuffles, votes, matches, reductions.
//!
//! Owns the participating lanes and the results. Must not know how lanes wait for one another.

use super::lanes::{Lanes, lanes};
use crate::sem::{CollectiveOp, Update, Vote, Way};
use crate::{alu, matrix};

/// Which lanes take part with those of `group`, which named `member`, when the lanes `here` are active.
///
/// A lane has to be in its own mask, and the lanes in the mask must have the same one (ISA, `vote.sync`). Some
/// programs use the mask as a filter instead. Measured by ptxas's code for sm_80: if all have the same mask, all
/// active lanes count; with different masks, each counts the lanes of its own; a shuffle reads any active lane.
pub fn participants(op: CollectiveOp, member: u32, group: u32, here: u32) -> u32 {
    match op {
        _ if group == here => group,
        CollectiveOp::Shuffle(_) => here,
        _ => here & member,
    }
}

/// The results of a collective for lanes `here`: it takes and returns as many vectors as [`CollectiveOp::operands`]
/// and [`CollectiveOp::results`] say, each with all lanes. Unused results are not computed.
pub fn run(op: CollectiveOp, here: u32, inputs: &[Lanes], out: &mut [Lanes]) {
    let input = |n: usize| inputs.get(n).unwrap_or(&[0; 32]);
    let mut give = |n: usize, values: Lanes| {
        if let Some(to) = out.get_mut(n) {
            *to = values;
        }
    };
    match op {
        CollectiveOp::Shuffle(way) => {
            let (d, p) = shuffle(way, here, input(0), input(1), input(2));
            give(0, d);
            give(1, p);
        }
        CollectiveOp::Vote(question) => give(0, [vote(question, here, input(0)); 32]),
        CollectiveOp::Match { ty, all } => {
            let (a, m) = (input(0), alu::mask(ty.bits()));
            let (mut d, mut p) = ([0; 32], [0; 32]);
            for l in lanes(here) {
                let equal = lanes(here).filter(|o| a[*o] & m == a[l] & m);
                let equal = equal.fold(0u64, |x, o| x | 1 << o);
                let same = !all || equal == here.into();
                (d[l], p[l]) = (if same { equal } else { 0 }, u64::from(all && same));
            }
            give(0, d);
            give(1, p);
        }
        CollectiveOp::Reduce { update, absolute, nan } => {
            give(0, [reduce(update, absolute, nan, here, input(0)); 32]);
        }
        CollectiveOp::Multiply(what) => matrix::multiply(&what, inputs, out),
        CollectiveOp::Barrier => {}
    }
}

/// The lane that a lane reads in a shuffle, and whether it lies within the bound; else it reads itself.
///
/// ISA, `shfl`: `b` is the lane or offset; `c` holds the clamp value in bits 0-4 and the segment mask in bits 8-12.
pub fn source(way: Way, lane: usize, b: u64, c: u64) -> (usize, bool) {
    let own = lane as i32;
    let (offset, clamp) = ((b & 31) as i32, (c & 31) as i32);
    let segment = (c >> 8 & 31) as i32;
    let bound = own & segment | clamp & !segment;
    let (from, inside) = match way {
        Way::Up => (own - offset, own - offset >= bound),
        Way::Down => (own + offset, own + offset <= bound),
        Way::Butterfly => (own ^ offset, own ^ offset <= bound),
        Way::Index => {
            let from = own & segment | offset & !segment;
            (from, from <= bound)
        }
    };
    (if inside { (from & 31) as usize } else { lane }, inside)
}

fn shuffle(way: Way, here: u32, a: &Lanes, b: &Lanes, c: &Lanes) -> (Lanes, Lanes) {
    let (mut d, mut p) = ([0; 32], [0; 32]);
    for l in lanes(here) {
        let (from, inside) = source(way, l, b[l], c[l]);
        // Reading an inactive lane gives an undefined value.
        d[l] = if here >> from & 1 != 0 { a[from] } else { 0 };
        p[l] = u64::from(inside);
    }
    (d, p)
}

fn vote(question: Vote, here: u32, a: &Lanes) -> u64 {
    let yes = lanes(here).filter(|l| a[*l] != 0).fold(0u32, |m, l| m | 1 << l);
    u64::from(match question {
        Vote::All => yes == here,
        Vote::Any => yes != 0,
        Vote::Uniform => yes == here || yes == 0,
        Vote::Ballot => return yes.into(),
    })
}

fn reduce(update: Update, absolute: bool, nan: bool, here: u32, a: &Lanes) -> u64 {
    let sign = if absolute { 1 << 31 } else { 0 };
    let values: Vec<u64> = lanes(here).map(|l| a[l] & !sign).collect();
    if nan && values.iter().any(|v| f32::from_bits(*v as u32).is_nan()) {
        return 0x7fff_ffff;
    }
    values.into_iter().reduce(|x, y| alu::atomic(update, x, y, 0)).unwrap_or(0)
}
