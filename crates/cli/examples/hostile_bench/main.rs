//! Times every reader on hostile inputs of n, 2n and 4n bytes: `hostile_bench [KIB, default 512] [CASE]`.
//!
//! The inputs are the worst known for each reader: tables that name the same bytes repeatedly, constructs that begin
//! and never end, names with a common part. A reader that reads its input a fixed number of times takes twice as long
//! for twice the size; one that reads it once per item takes four times as long. It prints processor seconds and both
//! growth factors, and exits with 1 if a reader takes more than three times as long each time, and more than a tenth
//! of a second at the largest size. `scripts/bench-image --hostile` runs it.

mod elf;
mod make;
mod traces;

use std::hint::black_box;
use std::path::Path;

use cushim_image::{Cubin, Limits, amdgpu, fatbin, index, inventory, ptx};
use cushim_names::{Name, distinct};
use make::*;

type Make = fn(usize) -> Vec<u8>;
type Read = fn(&[u8]);

const LIMITS: Limits = Limits::DEFAULT;

fn main() {
    let kib: usize = std::env::args().nth(1).map_or(512, |text| text.parse().expect("KiB"));
    let wanted = std::env::args().nth(2).unwrap_or_default();
    println!("{:<36} {:>9} {:>9} {:>9}  growth", "", "n", "2n", "4n");
    let mut bad = Vec::new();
    for (name, make, read) in CASES.iter().filter(|(name, ..)| name.contains(&wanted)) {
        let times = [1, 2, 4].map(|times| least(&make((times * kib) << 10), *read));
        let growth = [times[1] / times[0], times[2] / times[1]];
        println!(
            "{name:<36} {:>8.4}s {:>8.4}s {:>8.4}s  {:.1} {:.1}",
            times[0], times[1], times[2], growth[0], growth[1]
        );
        if growth.iter().all(|&growth| growth > 3.0) && times[2] > 0.1 {
            bad.push(name);
        }
    }
    if !bad.is_empty() {
        println!("more than linear: {bad:?}");
        std::process::exit(1);
    }
}

/// Processor time of this thread in seconds: other programs do not count.
fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The fastest of three runs, in seconds; a single run if it takes long.
fn least(data: &[u8], read: Read) -> f64 {
    let mut least = f64::MAX;
    for _ in 0..3 {
        let begun = processor_time();
        read(data);
        least = least.min(processor_time() - begun);
        if least > 1.0 {
            break;
        }
    }
    least.max(1e-6)
}

const CASES: &[(&str, Make, Read)] = &[
    ("fatbin: magic, wrong header", |n| repeat(&[&MAGIC, &[1, 0, 0, 0]], n), file),
    ("fatbin: magic, nothing", |n| repeat(&[&MAGIC], n), file),
    ("fatbin: empty, then a comment", comments, file),
    ("fatbin: entries of no bytes", entries, file),
    ("fatbin: parameters of no kernel", entries, parameters),
    ("fatbin: containers one by one", |n| repeat(&[&MAGIC, &[1, 0, 0, 0]], n), containers),
    ("all magics in turn", magics, file),
    ("offload: entries with one image", |n| offload_binary(n, n / 2, 8), file),
    ("offload: entries with one string", |n| offload_binary(n, 8, n / 2), file),
    ("bundle: tables that join", bundles, file),
    ("bundle: streams that join", streams, file),
    ("bundle: bombs side by side", bombs, file),
    ("archive: members of one long name", |n| archive(n, true), file),
    ("archive: members", |n| archive(n, false), file),
    ("host: sections upon each other", |n| sections(n, ".nv_fatbin\0", 1, 62), file),
    ("host: wrappers upon each other", |n| sections(n, ".nvFatBinSegment\0", 1, 62), file),
    ("host: relocations upon each other", |n| sections(n, ".nvFatBinSegment\0", 4, 62), file),
    ("host: sections of one long name", |n| long_names(n, 62), file),
    ("host: segments upon each other", segments, file),
    ("cubin: sections of one long name", |n| long_names(n, 190), cubin),
    ("cubin: sections upon each other", |n| sections(n, ".nv.info\0", 1, 190), cubin),
    ("cubin: attributes upon each other", |n| sections(n, ".nv.info.k\0", 1, 190), cubin),
    ("cubin: symbols of one endless name", |n| elf::symbols(n, 190, 2, false), cubin),
    ("code object: symbols of one name", |n| elf::symbols(n, 224, 11, true), variables),
    ("code object: notes upon each other", |n| sections(n, ".note\0", 7, 224), code_object),
    ("MessagePack: arrays of arrays", |n| vec![0x91; n], message),
    ("MessagePack: a long array", long_array, message),
    ("signatures: a long name, a list", |n| ptx_list(n), scan),
    ("signatures: braces that stay open", |n| after_head(&b".entry a{".repeat(n / 9)), scan),
    ("signatures: comments that stay open", |n| after_head(&b"/*".repeat(n / 2)), scan),
    ("signatures: kernels", |n| after_head(&b".entry a(.param .b8 b){}".repeat(n / 24)), scan),
    (
        "signatures: bounds",
        |n| after_head(&[b".global .b8 a", &b"[2]".repeat(n / 3)[..]].concat()),
        scan,
    ),
    ("PTX: one long word", |n| after_head(&vec![b'a'; n]), parse),
    ("PTX: comments that stay open", |n| after_head(&b"/*".repeat(n / 2)), parse),
    ("PTX: braces", |n| after_head(&[b".entry k() ", &vec![b'{'; n][..]].concat()), parse),
    ("PTX: parentheses", |n| body(&[b"mov.u32 r, ", &vec![b'('; n][..]].concat()), parse),
    ("PTX: labels", |n| body(&many(n, |i| format!("L{i}:\n"))), parse),
    (
        "PTX: branches to one label",
        |n| body(&[b"L:", &b"bra L;\n".repeat(n / 7)[..]].concat()),
        parse,
    ),
    ("PTX: registers", |n| body(&many(n, |i| format!(".reg .b32 r{i};\n"))), parse),
    ("PTX: functions", |n| after_head(&many(n, |i| format!(".func f{i}() {{ ret; }}\n"))), parse),
    ("PTX: variables", |n| after_head(&many(n, |i| format!(".global .b32 v{i};\n"))), parse),
    ("manifest: rules", |n| b"[[rule]]\nkernel = 'k'\naction = 'skip'\n".repeat(n / 40), manifest),
    ("manifest: brackets", |n| vec![b'['; n], manifest),
    ("manifest: a nested value", |n| [b"a = ", &vec![b'['; n][..]].concat(), manifest),
    ("manifest: keys", |n| many(n, |i| format!("k{i} = 1\n")), manifest),
    ("names: templates", |n| [b"_Z1f", &b"I1a".repeat(n / 3)[..]].concat(), name),
    ("names: substitutions", |n| [b"_Z1fI1aE", &b"S_".repeat(n / 2)[..]].concat(), name),
    ("names: pointers", |n| [b"_Z1fv", &vec![b'P'; n][..]].concat(), name),
    ("names: each part twice the last", doubled, name),
    ("names: brackets", |n| [b"f", &vec![b'<'; n][..]].concat(), name),
    ("names: many alike", |n| many(n, |i| format!("_Z{}k{i}v\n", 1 + i.to_string().len())), alike),
    ("trace: chunks of nothing", traces::nothing, traces::read),
    ("trace: noise", traces::noise, traces::read),
    ("trace: buffers of one call", traces::buffers, traces::read),
    ("trace: a ring of such", traces::ring, traces::read),
    ("trace: chunks of one name", traces::metadata, traces::read),
    ("trace: calls that stay open", traces::open, traces::read),
    ("shown: calls that stay open", traces::open, cushim_testkit::trace::file),
    ("shown: kernels", traces::kernels, cushim_testkit::trace::file),
    ("shown: shapes of one kernel", traces::shapes, cushim_testkit::trace::file),
    ("report: buffers of one call", traces::buffers, cushim_testkit::analysis::report),
    ("report: kernels", traces::kernels, cushim_testkit::analysis::report),
    ("report: shapes of one kernel", traces::shapes, cushim_testkit::analysis::report),
    ("export: kernels", traces::kernels, cushim_testkit::analysis::export),
    ("replay: buffers", captured, cushim_testkit::replay::launch),
    ("replay: brackets", |n| vec![b'['; n], cushim_testkit::replay::launch),
    ("load: kernels", |n| after_head(&many(n, |i| format!(".entry k{i}() {{ ret; }}\n"))), load),
    ("load: constructors", constructors, load),
    ("load: sections upon each other", |n| sections(n, ".nv.info.k\0", 1, 190), load),
    ("doctor: files that are loaded", |n| many(n, |i| format!("object /a/b{i}\n")), told),
    ("doctor: sections upon each other", |n| sections(n, ".dynsym\0", 11, 62), object),
    ("doctor: sections of one long name", |n| long_names(n, 62), object),
    ("doctor: symbols of one long name", |n| elf::symbols(n, 62, 2, true), object),
    ("doctor: exports of one long name", |n| elf::symbols(n, 62, 11, true), object),
    ("doctor: names in one chain", elf::chain, object),
    ("doctor: versions of one long name", elf::versions, object),
    ("doctor: functions at one place", elf::functions, object),
    ("runtime: relocations upon each other", elf::relocations, runtimes),
    ("runtime: functions upon each other", elf::upon, runtimes),
    (
        "translate: kernels",
        |n| after_head(&many(n, |i| format!(".entry k{i}() {{ ret; }}\n"))),
        translate,
    ),
    ("translate: blocks", |n| body(&many(n, |i| format!("L{i}: @p bra L{};\n", i / 2))), translate),
    ("translate: registers that live long", lives, translate),
];

fn captured(n: usize) -> Vec<u8> {
    let one = r#"{"before":"a","after":"b","bytes":4,"pointers":[{"at":0,"offset":4}]}"#;
    let all = vec![one; n / (one.len() + 1)].join(",");
    let begin = r#"{"format":1,"kernel":"k","grid":[1,1,1],"block":[1,1,1],"shared":0,"image":"i","arguments":"c","parameters":[],"buffers":["#;
    format!("{begin}{all}]}}").into_bytes()
}

/// Variables with the names that constructors have.
fn constructors(n: usize) -> Vec<u8> {
    let start = ".visible .entry _start(.param .u32 a, .param .u64 b, .param .u64 c, .param .u64 d) { ret; }\n";
    let one = |i| format!(".visible .const .align 8 .u64 __init_array_object_{i}_1 = 0;\n");
    after_head(&[start.as_bytes(), &many(n, one)].concat())
}

/// Registers that are set at the start and read at the end, with branches between.
fn lives(n: usize) -> Vec<u8> {
    let each = |line: fn(usize) -> String| (0..n / 80).map(line).collect::<String>();
    let text = [
        ".reg .pred p;\n".to_owned(),
        each(|i| format!(".reg .b32 r{i};\n")),
        each(|i| format!("mov.b32 r{i}, {i};\n")),
        each(|i| format!("@p bra M{i};\nM{i}:\n")),
        each(|i| format!("add.u32 r0, r0, r{i};\n")),
    ];
    body(text.concat().as_bytes())
}

fn load(data: &[u8]) {
    let _ = black_box(cushim_cli::load::image::Image::read(data));
}

fn told(data: &[u8]) {
    cushim_testkit::doctor::told(data);
}

fn object(data: &[u8]) {
    cushim_testkit::patch::object(data);
}

fn runtimes(data: &[u8]) {
    cushim_testkit::patch::archive(data);
}

fn variables(data: &[u8]) {
    let _ = black_box(amdgpu::globals(data, &LIMITS));
}

fn translate(data: &[u8]) {
    cushim_testkit::translate::emitted(data);
}

fn file(data: &[u8]) {
    let found = inventory::read(data, &LIMITS);
    black_box((found.images.len(), found.problems.len()));
}

fn parameters(data: &[u8]) {
    let _ = black_box(index(data, &LIMITS));
}

fn containers(data: &[u8]) {
    black_box(fatbin::containers(data, 0).count());
}

fn cubin(data: &[u8]) {
    file(data);
    let Ok(cubin) = Cubin::read(data, &LIMITS) else { return };
    black_box((cubin.kernels(&LIMITS).is_ok(), cubin.all_params(&LIMITS).is_ok()));
    black_box((cubin.globals(&LIMITS).is_ok(), cubin.memory(), cubin.arch()));
}

fn code_object(data: &[u8]) {
    let _ = black_box(amdgpu::read(data, &LIMITS));
}

fn message(data: &[u8]) {
    let _ = black_box(amdgpu::msgpack::read(data, 0));
}

fn scan(data: &[u8]) {
    let _ = black_box(ptx::scan(data, &LIMITS));
}

fn parse(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let _ = black_box(cushim_ptx::parse(&text).and_then(|module| cushim_ptx::check(&module)));
}

fn manifest(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let _ = black_box(cushim_manifest::Manifest::parse(&text, Path::new("m.toml")));
}

fn name(data: &[u8]) {
    black_box(Name::new(&String::from_utf8_lossy(data)));
}

fn alike(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let names: Vec<Name> = text.lines().map(Name::new).collect();
    black_box(distinct(&names.iter().collect::<Vec<_>>()));
}
