//! Why a trace saw no launch.
//!
//! Must not know: how the doctor finds out.

use std::path::Path;

use super::Cuda;
use crate::view::Totals;
use crate::{complain, doctor};

/// So many reasons are told; the doctor knows them all.
const REASONS_MAX: usize = 3;

/// Says on stderr why no launch of `program` was seen, which had this CUDA.
pub fn explain(program: &Path, seen: &Totals, cuda: &Cuda) {
    let lost: u64 = seen.lost.iter().take(3).copied().fold(0, u64::saturating_add);
    if lost > 0 {
        return complain(&format!("no kernel launch was seen, and {lost} events are missing"));
    }
    let found = doctor::examine(Some(program), Some(&cuda.library));
    let reasons = found.map(|f| f.reasons(cuda.backend.needs_gpu())).unwrap_or_default();
    let called = match seen.events {
        0 => String::new(),
        1 => " among 1 recorded call".to_owned(),
        n => format!(" among {n} recorded calls"),
    };
    match reasons.as_slice() {
        [] => complain(&format!("no kernel launch was seen{called}")),
        [reason] => complain(&format!("no kernel launch was seen{called}: {reason}")),
        reasons => {
            complain(&format!("no kernel launch was seen{called}; it may be that"));
            for reason in reasons.iter().take(REASONS_MAX) {
                eprint_line(reason);
            }
            if reasons.len() > REASONS_MAX {
                eprint_line(&format!("more: cushim doctor {}", program.display()));
            }
        }
    }
}

fn eprint_line(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "  - {text}");
}
