//! The driver API: direct use, dlsym, cuGetProcAddress.

use crate::compare::{DRIVER, same};
use crate::lab::{How, Lab, stub};

#[test]
fn a_program_that_links_the_driver() {
    let lab = Lab::new();
    let folder = format!("-L{}", stub().display());
    let program = lab.build("linked", "driver.c", &[&folder, "-l:libcuda.so.1"]);
    let ran = same(&lab, &program, &[], DRIVER, &How::default());
    assert!(ran.traces[0].launches().len() >= 16);
}

#[test]
fn a_program_that_opens_the_driver() {
    let lab = Lab::new();
    let program = lab.build("opened", "driver.c", &["-DOPENED", "-ldl"]);
    for scope in ["handle", "default"] {
        same(&lab, &program, &[scope], DRIVER, &How::default());
    }
}

#[test]
fn the_rules_of_cu_get_proc_address() {
    let lab = Lab::new();
    let program = lab.build("procaddress", "procaddress.c", &["-ldl"]);
    let ran = same(&lab, &program, &[], DRIVER, &How::default());
    assert_eq!(ran.traces[0].launches().len(), 5);
    let asked = ran.traces[0].calls.iter().filter(|c| c.launch.is_none()).count();
    assert!(asked >= 4, "loads, copies and allocations by handed-out pointers: {asked}");
}
