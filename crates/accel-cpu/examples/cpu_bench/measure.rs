//! Taking times.

use std::time::Instant;

/// Seconds that processors gave this process.
pub fn processor_time() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut now) };
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// Seconds, the least of some rounds, of each candidate: by the wall and of the processor, which what else the
/// machine does hardly changes.
pub fn least_of_both(rounds: usize, candidates: &[&dyn Fn()]) -> Vec<[f64; 2]> {
    let mut best = vec![[f64::INFINITY; 2]; candidates.len()];
    for _ in 0..rounds {
        for (best, candidate) in best.iter_mut().zip(candidates) {
            let (start, used) = (Instant::now(), processor_time());
            candidate();
            best[0] = best[0].min(start.elapsed().as_secs_f64());
            best[1] = best[1].min(processor_time() - used);
        }
    }
    best
}

/// Seconds by the wall.
pub fn least(rounds: usize, candidates: &[&dyn Fn()]) -> Vec<f64> {
    least_of_both(rounds, candidates).iter().map(|t| t[0]).collect()
}
