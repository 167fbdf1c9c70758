//! Sums and products that may be fused: compares both code generators with a GPU's recorded results. The kernels
//! belong to the interpreter's crate.

use crate::common;
use crate::contraction;

use common::Device;
use contraction::ROWS;
use cushim_ptx::exec::{KernelLaunch, Memory as _};
use cushim_ptx_jit::Kernel;
use cushim_testkit::sample;

/// Kernels in one module, which gets its own memory.
const KERNELS: usize = 50;

/// Compares every eighth module of a sample with the recording, usually fewer: compiling all of them takes minutes.
fn compare(name: &str) {
    let sample = contraction::SAMPLES.iter().find(|s| s.name == name).unwrap();
    let cases = sample.cases();
    let recorded = sample.recorded(&cases).unwrap();
    let unforetold = sample.unforetold();
    let mut wrong = Vec::new();
    let modules = cases.chunks(KERNELS).zip(recorded.columns.chunks(KERNELS)).step_by(8);
    for (some, columns) in sample::of(modules.collect(), 4) {
        let text: String = some.iter().map(|c| c.text.as_str()).collect();
        let text = contraction::head() + &text;
        let checked = cushim_ptx::parse(&text).and_then(|m| cushim_ptx::check(&m));
        let mut module = checked.unwrap_or_else(|e| panic!("{e}"));
        cushim_ptx::contract(&mut module);
        let device = Device::of(module);
        for (case, expected) in some.iter().zip(columns) {
            if unforetold.contains(&case.name.as_str()) {
                continue;
            }
            let number = device.module.functions.iter().position(|f| f.name == case.name).unwrap();
            let input = device.upload(&contraction::input(case.ty), |b| [*b]);
            let bytes = case.slots * ROWS * 8;
            let out = device.alloc(bytes as u64);
            let f = &device.module.functions[number];
            let given = [&[input, out], case.params.as_slice()].concat();
            let params = f.packed(&given);
            let block = [ROWS as u32, 1, 1];
            let launch = KernelLaunch {
                module: &device.module,
                kernel: number as u32,
                globals: &device.globals,
                grid: [1; 3],
                block,
                dynamic_shared: 0,
                params: &params,
                cluster: [1; 3],
                explicit_cluster: false,
                cooperative: false,
                workspace: 0,
                local_limit: 1 << 16,
            };
            let kernel = Kernel::new(&device.module, number as u32, block)
                .unwrap_or_else(|e| panic!("{}: {e}", case.name));
            for better in [false, true] {
                if better {
                    kernel.improve(block).unwrap_or_else(|e| panic!("{}: {e}", case.name));
                }
                device.arena.store(out, &vec![0; bytes]).unwrap();
                kernel
                    .run(&launch, &device.arena, &device, 1)
                    .unwrap_or_else(|e| panic!("{}: {e}", case.name));
                let mut data = vec![0; bytes];
                device.arena.load(out, &mut data).unwrap();
                let words: Vec<u64> = data
                    .chunks_exact(8)
                    .map(|b| u64::from_le_bytes(b.try_into().unwrap()))
                    .collect();
                let same = words.chunks(ROWS).zip(expected).all(|(a, b)| a == b);
                if !same {
                    wrong.push(format!("{} (better: {better})", case.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ: {}", wrong.len(), wrong.join(", "));
}

#[test]
fn compiled_code_fuses_where_a_gpu_does() {
    compare("first");
}

#[test]
fn so_it_does_with_parameters_arms_and_memory() {
    compare("second");
}
