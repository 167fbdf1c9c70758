//! Addresses of a cluster's shared memory: the block of an address, and the same offset in another block.

use crate::exec::address::SHARED_WINDOW;
use crate::exec::cluster::{find, map};
use crate::sem::{ClusterAddress, ClusterOp};

/// The address, of a mapping the rank, and last the rank of the block that asks.
pub(super) fn eval(what: ClusterAddress, a: [u64; 5]) -> u64 {
    let window = if what.generic { SHARED_WINDOW } else { 0 };
    let at = (a[0] & super::mask(what.ty.bits())).wrapping_sub(window);
    let narrow = super::mask(32);
    match what.op {
        ClusterOp::Map => map(at, a[1] & narrow, a[2] & narrow).wrapping_add(window),
        ClusterOp::Rank => find(at, a[1] & narrow).0,
    }
}
