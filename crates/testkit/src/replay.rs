//! The body of the fuzz target for the description of a captured launch.

use cushim_cli::replay::folder::CapturedLaunch;

/// Any text: reading ends, and the grid and blocks of an accepted launch are not empty.
pub fn launch(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(launch) = CapturedLaunch::parse(&text) {
        for size in [0, 8, usize::MAX] {
            let _ = launch.fits(size);
        }
        assert!(launch.grid.iter().chain(&launch.block).all(|n| *n > 0));
    }
}
