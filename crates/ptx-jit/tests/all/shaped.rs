//! Kernels of every shape, by the interpreter and by both compilers.

use crate::common;
use crate::shapes;

use common::Device;

/// Runs a shape of roughly this many instructions.
fn run(name: &str, make: fn(usize) -> String, size: usize) {
    println!("{name} {size}");
    let d = Device::new(&make(size));
    let begin: Vec<u32> = (0..96u32).map(|k| k.wrapping_mul(0x9e37_79b9)).collect();
    let block = [70, 1, 1];
    for better in [false, true] {
        if better {
            d.kernel(d.find("k")).unwrap().improve(block).unwrap();
        }
        let out = d.upload(&begin, |v| v.to_le_bytes());
        d.launch_with("k", [1, 1, 1], block, 0, false, &[out, 5]).unwrap();
    }
}

#[test]
fn every_shape_runs_as_interpreted() {
    for (name, make) in shapes::ALL {
        run(name, *make, 120);
    }
}

/// Long straight code, in which values must move to the stack frame before its end.
#[test]
fn long_pieces_run_as_interpreted() {
    let long = ["straight", "live", "predicates", "guards", "products", "parted", "copies"];
    for (name, make) in shapes::ALL.iter().filter(|s| long.contains(&s.0)) {
        run(name, *make, 700);
    }
}

/// The quick compiler's code needs more stack than a thread may have.
#[test]
fn large_code_has_a_stack() {
    let (name, make) = shapes::ALL.iter().find(|s| s.0 == "ifs").unwrap();
    let size = 4000;
    // A kernel without loops has no step limit only if it needs a stack of its own.
    let steps = |size| {
        let d = Device::new(&make(size));
        d.kernel(d.find("k")).unwrap().steps([32, 1, 1])
    };
    assert!(steps(100).is_some() && steps(size).is_none(), "take a larger kernel");
    run(name, *make, size);
}
