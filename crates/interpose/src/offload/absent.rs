//! A function of libomptarget's that the loaded one does not have: a program linked with a later release.
//!
//! Without us the loader ends the program when it comes to that reference. Our export satisfies it, so we do the same:
//! an answer of our own would be invented, and a mapping that is silently left out would make results wrong.

use cushim_process::limit::without_signal;

use crate::site::Site;

/// Ends the program as the loader does.
#[cold]
pub fn absent(site: &Site) -> ! {
    let name = site.name.to_string_lossy();
    let line = format!("symbol lookup error: undefined symbol: {name}, version VERS1.0\n");
    // SAFETY: our own bytes; the process ends here, as it does in the loader (127).
    unsafe {
        without_signal(|| libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()));
        libc::_exit(127)
    }
}
