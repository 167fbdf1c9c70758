//! Measures times.

use std::time::Instant;

/// Processor time of this process, in seconds.
pub fn processor_time() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut now) };
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// Seconds, the minimum of some rounds, of each candidate: elapsed time, and processor time, which other work on the
/// machine hardly changes.
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

/// Elapsed seconds.
pub fn least(rounds: usize, candidates: &[&dyn Fn()]) -> Vec<f64> {
    least_of_both(rounds, candidates).iter().map(|t| t[0]).collect()
}
