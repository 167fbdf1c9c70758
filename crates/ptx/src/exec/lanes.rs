//! The lanes of a warp.
//!
//! Owns going over those of a mask.

/// One value of up to 64 bits for each lane.
pub type Lanes = [u64; 32];

/// The lanes of a mask, the first one first.
pub fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}
