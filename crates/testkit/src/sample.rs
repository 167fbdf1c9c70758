//! How many of a large number of cases a test tries: usually a sample, all of them if asked.
//!
//! Owns both. Must not know what a case is. `scripts/test --all` asks for all, and `.ci/run` where the code under test
//! has changed.

/// `all` asks for all cases.
const VARIABLE: &str = "CUSHIM_RECORDED";

/// Whether to try all cases.
pub fn all() -> bool {
    std::env::var(VARIABLE).is_ok_and(|value| value == "all")
}

/// Whether to try the `n`th case, if usually one in `among` is enough: one of each `among` neighbours, but not
/// always the same of them, because the cases may repeat in that step.
pub fn takes(n: usize, among: usize) -> bool {
    all() || (n + n / among).is_multiple_of(among)
}

/// The cases to try, if usually one in `among` is enough ([`takes`]).
pub fn of<T>(cases: Vec<T>, among: usize) -> Vec<T> {
    cases.into_iter().enumerate().filter(|(n, _)| takes(*n, among)).map(|(_, case)| case).collect()
}
