//! The progress bar of a long export: on a terminal, and nowhere else.

use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::path::Path;
use std::process::{Command, Stdio};

use cushim_trace::event::{Body, Event, LaunchEvent};
use cushim_trace::layout::LaunchBody;

use crate::sample::{LAUNCH, cushim, program};

/// Enough events that the export takes long enough for a progress bar.
const EVENTS: u64 = 60_000;

fn long(folder: &Path) {
    let mut file = program(7, None);
    let args = [0; 20];
    for n in 0..EVENTS {
        let (grid, block) = ([1 + n as u32 % 9, 1, 1], [32, 1, 1]);
        let (kernel, stream, context) = (2, 0, 0xc0);
        let stored = LaunchBody { kernel, grid, block, stream, context, ..LaunchBody::default() };
        let body = LaunchEvent { stored, args: &args };
        file.event(&Event {
            id: 0,
            parent: None,
            tid: 7,
            api: LAUNCH,
            depth: 0,
            begin_ns: 10_000_000 + n * 1000,
            call_ns: Some(500),
            status: Some(0),
            link: 0,
            body: Body::Launch(body),
        });
    }
    file.write(&folder.join("long.cushim")).unwrap();
}

/// The output of `cushim ARGS` on a terminal that is its standard error.
fn on_a_terminal(folder: &Path, args: &[&str]) -> String {
    let (mut master, mut slave) = (-1, -1);
    let size = libc::winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    let (none, termios) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: two places for descriptors, no name, no settings, a valid size.
    let opened = unsafe {
        libc::openpty(&mut master, &mut slave, none, termios, (&raw const size).cast_mut())
    };
    assert_eq!(opened, 0);
    // SAFETY: two descriptors that nothing else owns.
    let (mut master, slave) = unsafe { (File::from_raw_fd(master), File::from_raw_fd(slave)) };
    let mut command = Command::new(env!("CARGO_BIN_EXE_cushim"));
    command.args(args).current_dir(folder).env("TERM", "xterm");
    let mut child = command.stdout(Stdio::null()).stderr(slave).spawn().unwrap();
    // The command object holds the other end of the terminal, too.
    drop(command);
    let mut said = Vec::new();
    // Reading a terminal at its end is an error.
    let _ = master.read_to_end(&mut said);
    assert!(child.wait().unwrap().success(), "{}", String::from_utf8_lossy(&said));
    String::from_utf8_lossy(&said).into_owned()
}

#[test]
fn a_bar_on_a_terminal_only() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    long(at);
    let mut report = vec!["report", "-o", "x.json"];
    report.extend(["long.cushim"; 12]);
    let export = ["export", "long.cushim", "--to", "jsonl", "-o", "/dev/null"];
    for args in [&export[..], &report] {
        let said = on_a_terminal(at, args);
        assert!(
            said.contains(" of ") && said.contains("MiB") && said.contains(" left"),
            "{args:?}: {said:?}"
        );
        let (status, _, piped) = cushim(at, args);
        assert_eq!(status, 0, "{piped}");
        assert!(!piped.contains(" left") && !piped.contains('\x1b'), "{args:?}: {piped:?}");
    }
}
