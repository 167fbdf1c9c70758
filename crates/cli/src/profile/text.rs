//! The profile as text for a terminal.

use std::fmt::Write;

use cushim_profile::Count;

use super::figures::Figures;
use super::gather::{Kernel, Profile};
use super::gpus::Gpu;
use super::rows::{hot, number, rows};

/// All kernels, each with its hottest `lines`.
pub fn report(profile: &Profile, gpu: &Gpu, lines: usize) -> String {
    let mut out = String::new();
    for kernel in &profile.kernels {
        describe(&mut out, kernel, gpu, lines);
    }
    let launches: usize = profile.kernels.iter().map(|kernel| kernel.launches.len()).sum();
    let s = |n: usize, more: &'static str| if n == 1 { "" } else { more };
    let (kernels, processes) = (profile.kernels.len(), profile.processes.len());
    let _ = match processes {
        0 => writeln!(out, "cushim profile: no process of the program said that it used CUDA"),
        _ => writeln!(
            out,
            "cushim profile: {kernels} kernel{}, {launches} launch{}, {processes} process{}; for {} ({})",
            s(kernels, "s"),
            s(launches, "es"),
            s(processes, "es"),
            gpu.arch,
            gpu.name
        ),
    };
    // No escape sequence of the program's names gets through.
    let shown = cushim_names::lines(&out).to_string();
    if shown.ends_with('\n') { shown } else { shown + "\n" }
}

fn describe(out: &mut String, kernel: &Kernel, gpu: &Gpu, lines: usize) {
    let _ = writeln!(out, "cushim profile: {}", kernel.name);
    for (name, text) in rows(kernel, gpu) {
        let _ = writeln!(out, "    {name:<15} {text}");
    }
    let all = kernel.counts.get(Count::Instructions).max(1);
    for (place, counts) in hot(kernel).into_iter().take(lines) {
        let figures = Figures { counts, written: 0 };
        let share = 100.0 * counts.get(Count::Instructions) as f64 / all as f64;
        let _ = write!(
            out,
            "    {:<15} {share:.1} % of instructions, {} lanes",
            place.short(),
            number(figures.active_lanes())
        );
        for (name, sectors) in ["load", "store"].into_iter().zip(figures.sectors()) {
            if sectors.is_some() {
                let _ = write!(out, ", {} sectors a {name}", number(sectors));
            }
        }
        if figures.conflicts().is_some() {
            let _ = write!(out, ", {} bank conflicts an access", number(figures.conflicts()));
        }
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::super::gather::gather;
    use super::super::gpus::Gpu;

    #[test]
    fn a_profile_names_kernels_figures_and_lines() {
        let gpu = Gpu::named("sm_90").unwrap();
        let line = r#"{"pid":7,"kernel":"add(int*)","symbol":"_Z3addPi","grid":[2,1,1],"block":[64,1,1],"shared":0,"registers":9,"local":0,"dram_written":16,"rows":[{"class":"load","file":"/x/a.cu","line":3,"n":[4,128,64,0,0,4,16,4,512]}]}"#;
        let text = super::report(&gather(format!("{{\"begin\":7}}\n{line}\n").as_bytes()), &gpu, 5);
        for expected in [
            "cushim profile: add(int*)\n    launches        1, the last of (2,1,1) blocks of (64,1,1) threads\n",
            "    instructions    4: load 4\n    lanes           16.00 of 32 active; 0 of 0 branches diverge\n",
            "4 loads of 4.00 sectors in 1.00 lines, 0 stores of - in -; 100.0 % of their bytes used",
            "512 to and from memory",
            "64 of 64 warps (100.0 %), limited by warps; 9 registers (estimate)",
            "    a.cu:3          100.0 % of instructions, 16.00 lanes, 4.00 sectors a load\n",
            "cushim profile: 1 kernel, 1 launch, 1 process; for sm_90 (H100 SXM5)\n",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        let none = super::report(&gather(b""), &gpu, 5);
        assert_eq!(none, "cushim profile: no process of the program said that it used CUDA\n");
    }
}
