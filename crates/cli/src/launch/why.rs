//! Explains why a trace saw no launch.
//!
//! Owns: the sentence. It tells what was seen and what certainly stands in the way, and guesses nothing: a program
//! that simply launches nothing is to hear no more than that, and not to wait for it.

use std::path::Path;

use super::child::Ending;
use crate::complain;
use crate::doctor::{elf, obstacles, program};
use crate::view::Totals;
use cushim_names::Foreign as _;

/// Says on stderr that no launch of `program` was seen, which ended so, and what is known of why.
pub fn explain(program: &Path, seen: &Totals, ending: Ending) {
    let lost = cushim_trace::layout::missing(&seen.lost);
    let mut text = "no kernel launch was seen".to_owned();
    match seen.events {
        0 if lost > 0 => {}
        0 => text += ": the program made no CUDA call that cushim could see",
        1 => text += " among 1 recorded call",
        n => text += &format!(" among {n} recorded calls"),
    }
    if lost > 0 {
        text += &format!(", and {lost} events are missing");
    }
    if let Ending::Signal(signal) = ending {
        text += &format!("; the program was ended by signal {signal}");
    }
    if seen.events == 0 && lost == 0 {
        match obstacle(program) {
            Some(why) => text += &format!(". {why}"),
            None => text += &format!("; `cushim doctor {}` looks for the reason", program.shown()),
        }
    }
    complain(&text);
}

/// What keeps every call of the program away from us, by its file's header and mode alone.
fn obstacle(program: &Path) -> Option<String> {
    let found = program::find(program).ok()?;
    let own = elf::read_for_loading(&found.path).ok()?;
    let privileges = program::privileges(&found.path);
    let all = obstacles::environment().into_iter().chain(obstacles::of_loading(&own));
    all.chain(privileges).find(|obstacle| obstacle.blocks).map(|obstacle| obstacle.why)
}
