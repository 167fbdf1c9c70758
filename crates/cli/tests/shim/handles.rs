//! Driver objects that programs get in other ways than by name (`handles.c`): what the trace records about them, and
//! what is dumped.

use std::fs;
use std::path::PathBuf;

use cushim_trace::event::Body;
use cushim_trace::reader::TraceFile;

use crate::compare::{DRIVER, behaves, same};
use crate::lab::{How, Lab, Ran, stub};

fn program(lab: &Lab) -> PathBuf {
    let folder = format!("-L{}", stub().display());
    lab.build("handles", "handles.c", &[&folder, "-l:libcuda.so.1"])
}

/// The device of each launch, by its context; `None` where no context is current.
fn devices(ran: &Ran) -> Vec<Option<i32>> {
    let mut file = TraceFile::open(&ran.traces[0].path).unwrap();
    let mut devices = Vec::new();
    file.poll(true, &mut |meta, event| {
        if let Body::Launch(launch) = &event.body {
            devices.push(meta.contexts.device(launch.context));
        }
    })
    .unwrap();
    devices
}

#[test]
fn launches_are_on_the_device_of_the_current_context() {
    let lab = Lab::new();
    let ran = same(&lab, &program(&lab), &["contexts"], DRIVER, &How::default());
    assert!(ran.stdout.contains("created 0 0 0 0\ndestroyed 0 "), "{}", ran.stdout);
    assert_eq!(devices(&ran), [Some(1), Some(2), None, Some(1), Some(1)]);
}

/// The third context has the handle of the second one, which is destroyed by then, and is on another device.
#[test]
fn a_launch_stays_on_its_device_when_another_context_gets_the_handle() {
    let lab = Lab::new();
    let how = How::default().with("STUB_SAME_HANDLES", "1");
    let ran = same(&lab, &program(&lab), &["contexts"], DRIVER, &how);
    assert_eq!(devices(&ran), [Some(1), Some(2), None, Some(1), Some(1)]);
}

/// Their names and arguments are in the trace, which needs their image.
#[test]
fn kernels_that_are_enumerated() {
    let lab = Lab::new();
    let ran = same(&lab, &program(&lab), &["kernels"], DRIVER, &How::default());
    assert_eq!(ran.stdout, "module 0 0\nlibrary 0 0\nfailing 719\nno place 400\n");
    let launches = ran.traces[0].launches();
    assert_eq!(launches.len(), 2);
    for launch in launches {
        assert!(launch.contains(" _Z5alphaPfif<<<") && !launch.contains("unknown"), "{launch}");
    }
}

/// The driver's linker's inputs and its output are dumped, but not an input that it refused.
#[test]
fn images_that_are_linked() {
    let lab = Lab::new();
    let dump = lab.path("dump");
    let how = How::default().with("CUSHIM_DUMP_IMAGES", dump.to_str().unwrap());
    let ran = behaves(&lab, &program(&lab), &["linked"], &how);
    assert!(ran.stdout.starts_with("create 0 nothing 1 add 0 complete 0 "), "{}", ran.stdout);
    let index = fs::read_to_string(dump.join("images.jsonl")).unwrap();
    let lines = index.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<serde_json::Value> = lines.collect();
    let calls: Vec<&str> = lines.iter().map(|line| line["call"].as_str().unwrap()).collect();
    assert_eq!(calls, ["cuLinkAddData", "cuLinkComplete", "cuModuleLoadData"], "{index}");
    for line in lines {
        assert!(line["kernels"].as_array().unwrap().iter().any(|k| k == "_Z5alphaPfif"), "{line}");
    }
}
