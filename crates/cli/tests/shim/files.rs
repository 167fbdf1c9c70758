//! Traces that cannot be written, or must not be.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use cushim_trace::layout::Lost;

use crate::compare::{RUNTIMES, behaves, same};
use crate::lab::{How, Lab, Ran};

fn recorded(ran: &Ran) -> u64 {
    ran.traces[0].launches().len() as u64
}

#[test]
fn the_file_is_private() {
    let lab = Lab::new();
    let ran = same(&lab, &lab.program("many.c", 12), &["3"], RUNTIMES, &How::default());
    let mode = fs::metadata(&ran.traces[0].path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_disabled_shim_does_nothing() {
    let lab = Lab::new();
    for program in [lab.program("shapes.c", 12), lab.program("wrong.c", 13)] {
        let ran = behaves(&lab, &program, &[], &How::shim().with("CUSHIM_DISABLE", "1"));
        assert!(ran.traces.is_empty());
    }
}

/// No file, thread, descriptor or output; the same mapped files except cushim's.
#[test]
fn a_program_without_cuda_does_not_notice() {
    let lab = Lab::new();
    let program = lab.build("plain", "plain.c", &["-lpthread"]);
    // The loader may map libgcc_s and libdl for cushim's library.
    let own = |text: &str| {
        let line = |l: &&str| !["libgcc_s", "libdl", "libpthread"].iter().any(|n| l.contains(n));
        text.lines().filter(line).map(str::to_owned).collect::<Vec<_>>()
    };
    let bare = lab.run(&program, &[], &How::bare());
    let ran = lab.run(&program, &[], &How::shim());
    assert_eq!(own(&bare.stdout), own(&ran.stdout));
    assert_eq!((&bare.stderr, &bare.end), (&ran.stderr, &ran.end));
    assert!(ran.traces.is_empty(), "no trace");
    let count = |ran: &Ran| fs::read_dir(&ran.folder).unwrap().count();
    assert_eq!(count(&bare), count(&ran), "files in the folder");
}

/// One line says why nothing is recorded; the program runs as usual.
fn refused(how: &How, expected: &str) {
    let lab = Lab::new();
    let program = lab.program("many.c", 12);
    let bare = lab.run(&program, &["100"], &How::bare());
    let ran = lab.run(&program, &["100"], how);
    assert_eq!((&bare.stdout, &bare.end), (&ran.stdout, &ran.end));
    assert!(ran.traces.is_empty());
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("cushim: ") && ran.stderr.contains(expected), "{}", ran.stderr);
}

#[test]
fn a_folder_that_does_not_exist() {
    // A folder that cannot be created.
    refused(&How::shim().with("CUSHIM_OUTPUT", "/proc/no/such/x.cushim"), "/proc/no/such");
}

#[test]
fn a_folder_that_cannot_be_written() {
    // Not even root creates files in /proc.
    refused(&How::shim().with("CUSHIM_OUTPUT", "/proc/%p.cushim"), "/proc/");
}

#[test]
fn links_are_not_followed_and_files_not_overwritten() {
    let lab = Lab::new();
    let (victim, link) = (lab.path("victim"), lab.path("out.cushim"));
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, &link).unwrap();
    let how = How::shim().with("CUSHIM_OUTPUT", link.to_str().unwrap());
    lab.run(&lab.program("many.c", 12), &["10"], &how);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(fs::read_link(&link).unwrap(), victim);
    let beside = crate::trace::read(&lab.path("out.1.cushim"));
    assert_eq!(beside.launches().len(), 10, "the trace went beside what was there");
}

#[test]
fn a_limit_on_file_size_is_no_signal() {
    let lab = Lab::new();
    let program = lab.program("many.c", 12);
    // The stub's own log would reach the limit, too.
    let how = How::shim().with("STUB_LOG", "/dev/null").with("CUSHIM_EVENTS", "launch");
    for (limit, from_the_start) in [
        ("4096", true),
        ("20000", true),
        ("300000", true),
        ("1000000", true),
        ("200000", false),
        ("1000000", false),
    ] {
        let ran = if from_the_start {
            let shell = std::path::Path::new("/bin/sh");
            let line = format!("exec prlimit --fsize={limit} {} 20000", program.display());
            behaves(&lab, shell, &["-c", &line], &how)
        } else {
            behaves(&lab, &program, &["20000", "limit", limit], &how)
        };
        let Some(trace) = ran.traces.first() else { continue };
        let size = fs::metadata(&trace.path).unwrap().len();
        assert!(size <= limit.parse().unwrap(), "{size} bytes with a limit of {limit}");
        assert_eq!(recorded(&ran) + trace.lost.iter().sum::<u64>(), 20000);
    }
}

#[test]
fn our_own_limit() {
    let lab = Lab::new();
    let ran = behaves(
        &lab,
        &lab.program("many.c", 12),
        &["50000"],
        &How::shim()
            .with("CUSHIM_LIMIT", "1MiB")
            .with("STUB_LOG", "/dev/null")
            .with("CUSHIM_EVENTS", "launch"),
    );
    let lost = ran.traces[0].lost[Lost::Limit as usize];
    assert!(lost > 0 && recorded(&ran) + lost == 50000, "{lost} lost");
    assert_eq!(ran.traces[0].damaged, 0);
}

#[test]
fn a_full_disk() {
    let lab = Lab::new();
    let disk = lab.path("disk");
    fs::create_dir(&disk).unwrap();
    let mount = |size: &str| {
        let mut mount = Command::new("mount");
        let options = format!("size={size}");
        mount
            .args(["-t", "tmpfs", "-o", options.as_str(), "tmpfs"])
            .arg(&disk)
            .stderr(std::process::Stdio::null());
        mount.status().is_ok_and(|s| s.success())
    };
    let unmount = |disk: &Path| {
        // A process that ends may still have a file of it: then it goes with that.
        assert!(Command::new("umount").arg("-l").arg(disk).status().unwrap().success());
    };
    if !mount("1m") {
        cushim_testkit::needs::left_out(
            "a full disk under images: no small file system can be mounted here",
        );
        return;
    }
    let how = How::shim()
        .with("STUB_LOG", "/dev/null")
        .with("CUSHIM_OUTPUT", disk.join("%p.cushim").to_str().unwrap());
    let program = lab.program("many.c", 12);
    let bare = lab.run(&program, &["50000"], &How::bare().with("STUB_LOG", "/dev/null"));
    let ran = lab.run(&program, &["50000"], &how);
    let traces = crate::trace::read_all(&disk);
    unmount(&disk);
    assert_eq!((&ran.stdout, &ran.end), (&bare.stdout, &bare.end));
    let lost = traces[0].lost[Lost::NoSpace as usize];
    assert!(lost > 0 && traces[0].launches().len() as u64 + lost == 50000, "{lost} lost");
}
