//! The cost of a launch, and of a kernel's first launch, which compiles it.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cushim_accel::Code;

use crate::measure::{least, processor_time};
use crate::side::{P, Side, launch, load};

/// A kernel of some thousand instructions: arithmetic, with a branch and a store at every fiftieth.
/// Each number gives a different kernel, for the cache.
fn long_kernel(number: u32) -> String {
    let mut text = String::from(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry long (.param .u64 to) {\n\
         .reg .u64 %p; .reg .b32 %r<16>; .reg .f32 %f<16>; .reg .pred %q;\n\
         ld.param.u64 %p, [to]; mov.u32 %r0, %tid.x; mul.wide.u32 %p, %r0, 4; ld.param.u64 %p, [to];\n",
    );
    for k in 1..16 {
        let more = k + 100 * number;
        let _ = writeln!(text, "add.u32 %r{k}, %r0, {more}; cvt.rn.f32.u32 %f{k}, %r{k};");
    }
    text += "mov.f32 %f0, %f1;\n";
    for k in 0..976u32 {
        let (x, y, z) = (k % 16, (k * 7 + 3) % 16, (k * 5 + 1) % 16);
        let _ = match k % 50 {
            0 => writeln!(text, "setp.lt.u32 %q, %r{x}, %r{y}; @%q bra L{k};"),
            25 => writeln!(text, "st.global.f32 [%p+{}], %f{z}; L{}:", k * 4, k - 25),
            n if n % 3 == 0 => writeln!(text, "mad.lo.u32 %r{x}, %r{y}, %r{z}, %r{x};"),
            n if n % 3 == 1 => writeln!(text, "fma.rn.f32 %f{x}, %f{y}, %f{z}, %f{x};"),
            _ => writeln!(text, "xor.b32 %r{x}, %r{y}, %r{z};"),
        };
    }
    text + "st.global.u32 [%p], %r1; ret; }\n"
}

/// Prints both tables.
pub fn tables(one: &Side) {
    println!("\n| launch and wait, empty kernel | µs |\n|---|--:|");
    for (name, grid) in [("1 block, 1 core", 1), ("1,024 blocks, 1 core", 1024)] {
        let launch = || {
            for _ in 0..1000 {
                one.launch("empty", [grid, 1, 1], [32, 1, 1], &[]);
            }
        };
        launch();
        println!("| {name} | {:.2} |", least(5, &[&launch])[0] * 1e3);
    }

    let run = |code: &Arc<dyn Code>| {
        let (start, busy) = (Instant::now(), processor_time());
        launch(code, &*one.queue, "long", [1, 1, 1], [32, 1, 1], &[P(one.output)]);
        (start.elapsed().as_secs_f64(), processor_time() - busy)
    };
    let (mut loads, mut firsts, mut kept, mut again) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for n in 0..5 {
        let text = long_kernel(n);
        let start = Instant::now();
        let code = load(&one.cpu, &text);
        loads.push(start.elapsed().as_secs_f64());
        firsts.push(run(&code));
        again.push(run(&code));
        // Meanwhile the file is written; the next load takes the kernel from there.
        std::thread::sleep(Duration::from_secs(1));
        for _ in 0..4 {
            kept.push(run(&load(&one.cpu, &text)));
        }
    }
    let min = |v: &mut dyn Iterator<Item = f64>| v.fold(f64::INFINITY, f64::min) * 1e3;
    println!("\n| a kernel of 1,000 instructions | ms, wall | processor |\n|---|--:|--:|");
    println!("| parse and check | {:.2} | |", min(&mut loads.iter().copied()));
    for (name, times) in [
        ("first launch, which compiles", &firsts),
        ("first launch of a kernel that is kept", &kept),
        ("a later launch", &again),
    ] {
        let (wall, busy) = (times.iter().map(|t| t.0), times.iter().map(|t| t.1));
        println!("| {name} | {:.3} | {:.3} |", min(&mut { wall }), min(&mut { busy }));
    }
}
