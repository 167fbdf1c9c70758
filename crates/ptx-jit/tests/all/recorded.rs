//! Every form of every instruction that computes, and sequences of them: compares compiled code,
//! the interpreter and a GPU. The cases and the GPU's results belong to the interpreter's crate.

use crate::cases;
use crate::common;

use cases::inputs;
use cases::kernels::{self, Case, Lanes, ROWS};
use cases::matrix;
use cases::results::{self, Results};
use cases::sequences::{self, Shown};
use cases::tally::{self, Tally};
use common::Device;
use cushim_ptx::exec::{KernelLaunch, Memory as _};
use cushim_ptx::interp;
use cushim_ptx_jit::Kernel;
use cushim_testkit::sample;

/// Kernels in one module, which gets its own memory.
const KERNELS: usize = 20;

fn shape(lanes: Lanes) -> (u32, u32) {
    match lanes {
        Lanes::Threads => (1, ROWS as u32),
        Lanes::Blocks => (ROWS as u32, 1),
    }
}

/// A column for each result of each form, interpreted and compiled. The case is the
/// `number`th of the module.
fn run(
    device: &Device,
    number: usize,
    compiled: &Kernel,
    case: &Case,
    lanes: Lanes,
) -> [Vec<Vec<u64>>; 2] {
    let input = device.upload(&case.input(), |b| [*b]);
    let out = device.alloc(case.bytes() as u64);
    let (grid, block) = shape(lanes);
    let f = &device.module.functions[number];
    assert_eq!(f.name, case.name);
    let params = f.packed(&[input, out]);
    let launch = KernelLaunch {
        module: &device.module,
        kernel: number as u32,
        globals: &[],
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        dynamic_shared: 0,
        params: &params,
        cluster: [1; 3],
        explicit_cluster: false,
        cooperative: false,
        workspace: 0,
        local_limit: 1 << 16,
    };
    [false, true].map(|compile| {
        device.arena.store(out, &vec![0; case.bytes()]).unwrap();
        let done = match compile {
            false => interp::run(&launch, &device.arena, device),
            true => compiled.run(&launch, &device.arena, device, 1),
        };
        done.unwrap_or_else(|e| panic!("{}: {e}", case.name));
        let mut bytes = vec![0; case.slots() * ROWS * 8];
        device.arena.load(out, &mut bytes).unwrap();
        let words = bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap()));
        words.collect::<Vec<_>>().chunks(ROWS).map(<[u64]>::to_vec).collect()
    })
}

/// Compares a form; reports the first row in which both differ.
fn compare(
    case: &Case,
    n: usize,
    interpreted: &[Vec<u64>],
    compiled: &[Vec<u64>],
) -> Option<String> {
    let form = &case.forms[n];
    let row = (0..ROWS).find(|r| interpreted.iter().zip(compiled).any(|(a, b)| a[*r] != b[*r]))?;
    Some(format!(
        "{}: row {row}: {} -> compiled {}, interpreted {}",
        form.name,
        tally::given(case, form, row),
        tally::hex(compiled, row),
        tally::hex(interpreted, row)
    ))
}

/// Usually one in this many of the slow kernels is tried.
const AMONG: usize = 4;

/// The code to try for a kernel: the quick compiler's (false), the optimised (true). Usually kernels take turns.
fn qualities(number: usize) -> &'static [bool] {
    match number % 2 {
        _ if sample::all() => &[false, true],
        0 => &[false],
        _ => &[true],
    }
}

fn check(all: Vec<Case>, kept: Results, lanes: Lanes, who: &str) {
    let mut tally = Tally::new(kept);
    let mut differ = Vec::new();
    // A lone lane cannot read other lanes.
    let fits = |c: &Case| lanes == Lanes::Threads || c.forms[0].lane;
    let cases: Vec<Case> = all.into_iter().filter(fits).collect();
    let modules = cases.chunk_by(|a, b| a.forms[0].device == b.forms[0].device);
    for some in modules.flat_map(|m| m.chunks(KERNELS)) {
        let text: String = some.iter().map(|c| c.text(lanes)).collect();
        let device = Device::new(&(kernels::head(some[0].forms[0].device) + &text));
        for (number, case) in some.iter().enumerate() {
            let kernel = Kernel::new(&device.module, number as u32, [shape(lanes).1, 1, 1])
                .unwrap_or_else(|e| panic!("{}: {e}", case.name));
            let qualities = qualities(number);
            // With the inputs that the GPU got, and with others.
            for better in qualities.iter().copied() {
                if better {
                    let improved = kernel.improve([shape(lanes).1, 1, 1]);
                    improved.unwrap_or_else(|e| panic!("{}: {e}", case.name));
                }
                let seed = format!("{} {better}", case.forms[0].family());
                let rows = inputs::rows(&seed, &case.forms[0].sorts, ROWS);
                let other = Case { name: case.name.clone(), forms: case.forms.clone(), rows };
                for given in [case, &other] {
                    let [interpreted, compiled] = run(&device, number, &kernel, given, lanes);
                    let mut at = 0;
                    for (n, form) in case.forms.iter().enumerate() {
                        let part = at..at + form.results.len();
                        at = part.end;
                        let ours = &compiled[part.clone()];
                        differ.extend(compare(given, n, &interpreted[part], ours));
                        if Some(&better) == qualities.last() && std::ptr::eq(given, case) {
                            tally.add(case, form, ours);
                        }
                    }
                }
            }
        }
    }
    assert!(differ.is_empty(), "{} forms:\n{}", differ.len(), differ.join("\n"));
    tally.finish(who);
}

#[test]
fn compiled_code_gives_what_the_interpreter_and_a_gpu_give() {
    check(kernels::all(), results::kept(), Lanes::Threads, "compiled code");
}

#[test]
fn compiled_code_of_one_value_for_all_lanes_gives_the_same() {
    check(kernels::all(), results::kept(), Lanes::Blocks, "compiled code of one value");
}

#[test]
fn compiled_code_gives_the_same_of_sequences() {
    let all = sample::of(sequences::all(Shown::Digest), AMONG);
    check(all, results::of_sequences(), Lanes::Threads, "compiled code of sequences");
}

#[test]
fn compiled_code_gives_the_same_of_matrices() {
    let all = sample::of(matrix::all(), AMONG);
    check(all, results::of_matrices(), Lanes::Threads, "compiled code of matrices");
}

#[test]
fn compiled_code_of_one_value_gives_the_same_of_sequences() {
    let all = sample::of(sequences::all(Shown::Digest), AMONG);
    check(all, results::of_sequences(), Lanes::Blocks, "compiled code of one value of sequences");
}
