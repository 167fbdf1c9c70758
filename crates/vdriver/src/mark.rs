//! A marker by which other processes see that this one uses the driver.
//!
//! The kernel lists a mapped file with its name in `/proc/PID/maps`. `crates/audit` (`assembler.rs`) looks for the
//! name. Owns: the marker. Must not know: who looks.

use std::os::fd::AsRawFd;

use cushim_accel::file;

/// The purpose of the file, which its name says.
const WHAT: &str = "initialised";
const SIZE: usize = 4096;

/// Leaves the mark, for as long as the process lives. If no file can be created, there is none.
pub fn leave() {
    let Some(file) = file::create(WHAT, SIZE as u64) else { return };
    let (none, fd) = (std::ptr::null_mut(), file.as_raw_fd());
    // SAFETY: a new mapping, which nobody reads. A failure means no mark.
    unsafe { libc::mmap(none, SIZE, libc::PROT_NONE, libc::MAP_SHARED, fd, 0) };
}

#[cfg(test)]
mod tests {
    #[test]
    fn others_see_it() {
        super::leave();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        assert!(maps.contains("/memfd:cushim-initialised-"), "{maps}");
    }
}
