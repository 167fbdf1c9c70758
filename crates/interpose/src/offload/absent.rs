//! A libomptarget function that the loaded libomptarget lacks, because the program was linked with a later release.
//!
//! Without cushim the loader ends the program when it resolves that reference. cushim's export satisfies the
//! reference, so it ends the program as well: an invented result, or a mapping that is silently dropped, would make
//! results wrong.

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
