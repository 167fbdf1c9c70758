//! Explains why a trace saw no launch.
//!
//! Owns: the message. It says what was seen and what certainly prevents tracing, and guesses nothing: for a program
//! that simply launches nothing it says only that, and causes no delay.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::child::Ending;
use crate::complain;
use crate::doctor::{elf, obstacles, program};
use crate::view::Totals;
use cushim_names::Foreign as _;

/// Says on stderr that no launch of `program` was seen, how it ended, and what is known of the
/// reason. Its recordings would be in `folder`.
pub fn explain(program: &Path, seen: &Totals, ending: Ending, folder: &Path) {
    let lost = cushim_trace::layout::missing(&seen.lost);
    if seen.events == 0
        && lost == 0
        && let Some(why) = no_room(folder)
    {
        complain(&format!("nothing could be recorded: {why}"));
        return;
    }
    let mut text = "no kernel launch was seen".to_owned();
    match seen.events {
        0 if lost > 0 => {}
        0 => text += ", nor another call of the kinds that are recorded (--events chooses them)",
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

/// Why no file in `folder` can have room.
fn no_room(folder: &Path) -> Option<String> {
    let least = cushim_trace::layout::PAGE as u64;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid place for the answer.
    let is_limited = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
    if is_limited && limit.rlim_cur < least {
        return Some(format!("a file-size limit (ulimit -f) allows {} bytes", limit.rlim_cur));
    }
    let path = std::ffi::CString::new(folder.as_os_str().as_bytes()).ok()?;
    // SAFETY: all-zero is a valid `statvfs`; a C string, and a valid place for the answer.
    let found = unsafe {
        let mut found: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(path.as_ptr(), &mut found) == 0).then_some(found)
    }?;
    let is_full = found.f_bavail.saturating_mul(found.f_frsize) < least;
    is_full.then(|| format!("the file system of {} is full", folder.shown()))
}

/// Why no call of the program can be seen, by its file's header and mode alone.
fn obstacle(program: &Path) -> Option<String> {
    let found = program::find(program).ok()?;
    let own = elf::read_for_loading(&found.path).ok()?;
    let privileges = program::privileges(&found.path);
    let all = obstacles::environment().into_iter().chain(obstacles::of_loading(&own));
    all.chain(privileges).find(|obstacle| obstacle.blocks).map(|obstacle| obstacle.why)
}
