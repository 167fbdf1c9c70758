//! Times every reader on hostile inputs of n, 2n and 4n bytes: `hostile_bench [KIB, default 512] [CASE]`.
//!
//! Inputs are the worst that we know for each reader: tables that claim the same bytes again and again, what
//! begins and never ends, names that all share. A reader that goes through its input a number of times takes
//! twice as long for twice as much; one that does so for each of something in it, four times. Prints seconds
//! of the processor and both growths; ends with 1 where a reader takes more than three times as long each time, and a tenth of
//! a second in the end. `scripts/bench-image --hostile` runs it.

mod make;

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

/// Seconds of this thread's processor: other programs do not count.
fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The quickest of three runs, in seconds; a single run where it is long.
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
    ("trace: chunks of nothing", |n| vec![0; n], trace),
    ("trace: noise", noise, trace),
];

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

/// A trace's header, and the bytes behind it.
fn trace(data: &[u8]) {
    use cushim_trace::{meta::Process, reader::TraceFile, testing::FileBuilder};
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.cushim");
    FileBuilder::new(&Process::default()).write(&path).expect("room");
    let mut bytes = std::fs::read(&path).expect("what was written");
    bytes.extend_from_slice(data);
    std::fs::write(&path, bytes).expect("room");
    let Ok(mut file) = TraceFile::open(&path) else { return };
    let _ = file.look(true);
    while file.next_ns().is_some() {
        if file.take_next(&mut |_, event| _ = black_box(event.begin_ns)).is_err() {
            return;
        }
    }
}
