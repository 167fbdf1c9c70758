//! Tests kernels through the accelerator's interface: loaded, queued, waited for.

use super::*;
use cushim_accel::{Dispatch, Outcome, Packet, Signal, Work};

mod launching;

const HEAD: &str = ".version 7.0\n.target sm_80\n.address_size 64\n";

/// Adds one to as many words as there are threads, atomically, and counts blocks in a variable.
const COUNT: &str = "
.visible .global .align 4 .u32 blocks = 5;
.visible .const .align 8 .u64 where = blocks;
.visible .entry count (.param .u64 to, .param .u32 n) {
  .reg .u64 %p; .reg .u32 %i, %b, %n, %t; .reg .pred %q;
  ld.param.u64 %p, [to]; ld.param.u32 %n, [n];
  mov.u32 %i, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %t, %ntid.x;
  setp.ne.u32 %q, %i, 0;
  @%q bra next;
  { .reg .u64 %w; .reg .u32 %o; ld.const.u64 %w, [where]; atom.add.u32 %o, [%w], 1; }
next:
  rem.u32 %i, %i, %n;
  mad.wide.u32 %p, %i, 4, %p;
  red.global.add.u32 [%p], 1;
  ret;
}
.visible .entry refused (.param .u64 to) .maxntid 64, 1, 1 {
  .reg .b32 %r<9>; .reg .u64 %p; ld.param.u64 %p, [to];
  tcgen05.wait::ld.sync.aligned;
  ret;
}
.extern .func elsewhere;
.visible .entry undefined () .reqntid 8, 2, 1 { call elsewhere; ret; }";

fn load(cpu: &Cpu, texts: &[&str]) -> Result<Arc<dyn Code>, Failure> {
    let texts: Vec<String> = texts.iter().map(|text| format!("{HEAD}{text}\0")).collect();
    let parts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
    cpu.load(
        0,
        &Image {
            kind: ImageKind::Ptx,
            parts: &parts,
            externals: &|_| None,
            managed: None,
            optimised: true,
        },
    )
}

fn run(
    cpu: &Cpu,
    code: &Arc<dyn Code>,
    name: &str,
    shape: [u32; 2],
    arguments: &[u64],
    cooperative: bool,
) -> Outcome {
    let kernel = code.kernels().iter().position(|k| k.name == name).unwrap_or_else(|| panic!());
    let queue = cpu.queue(0, 0).unwrap_or_else(|e| panic!("{e}"));
    let mut bytes = Vec::new();
    arguments.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    let dispatch = Dispatch {
        tag: 0,
        code: code.clone(),
        kernel,
        grid: [shape[0], 1, 1],
        block: [shape[1], 1, 1],
        cluster: None,
        dynamic_shared: 0,
        arguments: bytes.into(),
        cooperative,
        call: 0,
        trail: None,
        stream: None,
        graph: None,
    };
    let done = Signal::new();
    let work = Work::Dispatch(Box::new(dispatch));
    queue.submit(Packet { work, waits: Vec::new(), done: done.clone() });
    done.wait()
}

fn word(cpu: &Cpu, address: u64) -> u32 {
    let mut to = 0u32;
    let place = (&raw mut to).expose_provenance() as u64;
    assert_eq!(cpu.copy_now(place, address, 4), Ok(()));
    to
}

#[test]
fn blocks_of_a_grid_add_up() {
    let cpu = new();
    let code = load(&cpu, &[COUNT]).unwrap();
    let variable = &code.variables()[0];
    assert_eq!((variable.name.as_str(), variable.bytes, variable.constant), ("blocks", 4, false));
    assert!(code.variables()[1].constant);
    assert_eq!(word(&cpu, variable.address), 5);
    let to = cpu.allocate(0, MemoryKind::Device, Layout::from_size_align(40, 1).unwrap()).unwrap();
    let zero = [0u32; 10];
    assert_eq!(cpu.copy_now(to, zero.as_ptr().expose_provenance() as u64, 40), Ok(()));
    for cooperative in [false, true] {
        let outcome = run(&cpu, &code, "count", [500, 60], &[to, 10], cooperative);
        assert_eq!(outcome.failure, None);
        assert!(outcome.end >= outcome.begin && outcome.begin > 0);
    }
    assert_eq!((0..10).map(|n| word(&cpu, to + n * 4)).collect::<Vec<_>>(), [6000; 10]);
    assert_eq!(word(&cpu, variable.address), 1005);
    cpu.free(to);
    assert_eq!(cpu.copy_now(to, to, 4), Ok(()), "small memory stays in its page");
}

#[test]
fn kernels_say_what_they_are() {
    let cpu = new();
    let code = load(&cpu, &[COUNT]).unwrap();
    let [count, refused, undefined] = code.kernels() else { panic!() };
    assert_eq!((count.params.as_slice(), count.params_size), ([(0, 8), (8, 4)].as_slice(), 12));
    assert_eq!((count.max_threads, count.versions, &count.refused), (1024, (80, 80), &None));
    let why = refused.refused.as_deref().unwrap_or_default();
    assert!(why.contains("kernel refused") && why.contains("tcgen05"), "{why}");
    assert_eq!(refused.max_threads, 64);
    let why = undefined.refused.as_deref().unwrap_or_default();
    assert!(why.contains("undefined calls elsewhere"), "{why}");
    assert_eq!(undefined.required_threads, Some([8, 2, 1]));
    let linked = ".visible .func elsewhere () { ret; }";
    let code = load(&cpu, &[COUNT, linked]).unwrap();
    assert_eq!(code.kernels()[2].refused, None);
}

#[test]
fn a_wild_address_is_named() {
    let cpu = new();
    let code = load(&cpu, &[COUNT]).unwrap();
    let here = 7u32;
    let wild = (&raw const here).expose_provenance() as u64;
    let failure = run(&cpu, &code, "count", [1, 32], &[wild, 1], false).failure;
    let Some(Failure::IllegalAddress(text)) = failure else { panic!("{failure:?}") };
    assert!(text.contains("kernel count") && text.contains(&format!("{wild:#x}")), "{text}");
    // What the program registered is open, until it says otherwise.
    assert_eq!(cpu.register_host(wild, 4), Ok(wild));
    let outcome = run(&cpu, &code, "count", [1, 32], &[wild, 1], false);
    assert_eq!(outcome.failure, None);
    // SAFETY: a variable of this function, which the kernel changed.
    assert_eq!(unsafe { (&raw const here).read_volatile() }, 39);
    cpu.unregister_host(wild);
    assert!(run(&cpu, &code, "count", [1, 32], &[wild, 1], false).failure.is_some());
    let gone =
        cpu.allocate(0, MemoryKind::Device, Layout::from_size_align(3 << 20, 1).unwrap()).unwrap();
    cpu.free(gone);
    assert!(run(&cpu, &code, "count", [1, 32], &[gone, 1], false).failure.is_some());
    assert_eq!(cpu.copy_now(wild, gone, 4), Err(Failure::InvalidAddress(gone)));
}

#[test]
fn text_that_is_no_ptx_says_where() {
    let cpu = new();
    let failure = load(&cpu, &[".visible .entry k () { add.u32 %a; }"]).err();
    let Some(Failure::InvalidImage(text)) = failure else { panic!("{failure:?}") };
    assert!(text.contains("4:"), "{text}");
    let cubin = Image {
        kind: ImageKind::Cubin,
        parts: &[],
        externals: &|_| None,
        managed: None,
        optimised: true,
    };
    assert!(matches!(cpu.load(0, &cubin).err(), Some(Failure::NoImage(_))));
}

#[test]
fn kernels_are_compiled_unless_the_interpreter_is_asked_for() {
    let cpu = new();
    let code = load(&cpu, &[COUNT]).unwrap();
    let own = code.as_any().downcast_ref::<CpuCode>().unwrap();
    let interpreted = std::env::var("CUSHIM_CPU").is_ok_and(|how| how == "interpreter");
    assert_eq!(cpu.executor.range.is_none(), interpreted);
    assert!(own.machine_code(0, [64, 1, 1]).is_some(), "count is compiled");
    assert!(own.machine_code(1, [64, 1, 1]).is_none(), "refused is not");
}
