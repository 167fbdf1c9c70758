//! The lanes of a warp.
//!
//! Owns the iteration over the lanes of a mask.

/// One value of up to 64 bits for each lane.
pub type Lanes = [u64; 32];

/// Calls with room for `n` values of all lanes, zeros: on the stack where they are few, as they mostly are.
pub fn with_lanes<T>(n: usize, body: impl FnOnce(&mut [Lanes]) -> T) -> T {
    let mut few = [[0; 32]; 3];
    match few.get_mut(..n) {
        Some(room) => body(room),
        None => body(&mut vec![[0; 32]; n]),
    }
}

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
