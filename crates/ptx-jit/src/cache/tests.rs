//! Cached code is read back unchanged, and changed files are never used.

use super::*;
use crate::checked::Checked;
use crate::emit;
use crate::error::CacheRefused;
use crate::warp::Quality;
use crate::{Arena, Kernel};
use cushim_ptx::Level;
use cushim_ptx::exec::{Host, KernelLaunch, Memory as _};
use cushim_ptx::ir::Module;
use std::fs::File;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A loop, a barrier, shared memory, helpers with and without steps.
const TEXT: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
    .reg .u64 %rd<6>;
    .reg .u32 %r<12>;
    .reg .pred %p<2>;
    .shared .align 4 .b8 s[1024];
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd1, %rd2;
    mov.u32 %r3, 0;
    mov.u32 %r4, 0;
LOOP:
    mad.lo.u32 %r3, %r3, 3, %r2;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p1, %r4, %r1;
    @%p1 bra LOOP;
    shl.b32 %r5, %r2, 2;
    mov.u32 %r6, s;
    add.u32 %r7, %r6, %r5;
    st.shared.u32 [%r7], %r3;
    bar.sync 0;
    ld.shared.u32 %r8, [%r7];
    atom.global.add.u32 %r9, [%rd1], 1;
    st.global.u32 [%rd3+4], %r8;
    ret;
}";

fn module(text: &str) -> Arc<Module> {
    Arc::new(cushim_ptx::parse(text).and_then(|tree| cushim_ptx::check(&tree)).unwrap())
}

fn source() -> Source {
    Source::new(module(TEXT), 0, None, Checked::default()).unwrap()
}

fn made(source: &Source, quality: Quality) -> Kept {
    let isa = if quality == Quality::Best { &source.best } else { &source.quick };
    let output =
        crate::emit::compile(isa, &source.module, &source.lowered, Layout::Row, source.checked)
            .unwrap();
    Kept { quality, took: Duration::from_micros(7), output }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

struct Quiet;

impl Host for Quiet {
    fn print(&self, _: &[u8]) {}
    fn allocate(&self, _: u64) -> u64 {
        0
    }
    fn free(&self, _: u64) {}
    fn nanoseconds(&self) -> u64 {
        0
    }
    fn interrupted(&self) -> bool {
        false
    }
}

/// What the kernel leaves in memory.
fn run(kernel: &Kernel, module: &Module) -> Vec<u8> {
    let mut memory = vec![0u64; (1 << 14) + 8];
    let base = (memory.as_mut_ptr() as u64).next_multiple_of(Arena::ALIGNED);
    // SAFETY: used through this address only until `memory` goes.
    let arena = unsafe { Arena::new(base, 1 << 17) }.unwrap();
    let mut params = base.to_le_bytes().to_vec();
    params.extend(5u32.to_le_bytes());
    let launch = KernelLaunch {
        module,
        kernel: 0,
        globals: &[],
        grid: [3, 1, 1],
        block: [64, 1, 1],
        dynamic_shared: 0,
        params: &params,
        cluster: [1; 3],
        explicit_cluster: false,
        cooperative: false,
        workspace: base + 4096,
        local_limit: 1 << 16,
    };
    kernel.run(&launch, &arena, &Quiet, 1).unwrap();
    let mut bytes = vec![0; 65 * 4];
    arena.load(base, &mut bytes).unwrap();
    bytes
}

#[test]
fn what_is_kept_comes_back_and_does_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b");
    let cache = Arc::new(Cache::open(&path, Cache::LIMIT).unwrap());
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
    let module = module(TEXT);
    let open = || Kernel::with_cache(&module, 0, [64, 1, 1], Some(cache.clone())).unwrap();
    let first = open();
    assert!(!first.is_kept([64, 1, 1]));
    let expected = run(&first, &module);
    assert!(expected[4..].iter().any(|byte| *byte != 0));
    first.improve([64, 1, 1]).unwrap();
    let second = open();
    assert!(second.is_kept([64, 1, 1]));
    assert_eq!(second.code_size([64, 1, 1]), first.code_size([64, 1, 1]));
    assert_eq!(run(&second, &module), expected);
    // Good cached code is not compiled again.
    second.improve([64, 1, 1]).unwrap();
    // Blocks of another layout have other code.
    second.code_size([4, 8, 1]).unwrap();
    assert!(!second.is_kept([4, 8, 1]));
}

#[test]
fn quick_code_is_kept_by_a_thread_of_its_own_and_made_better() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Arc::new(Cache::open(folder.path(), Cache::LIMIT).unwrap());
    let module = module(TEXT);
    let open = || Kernel::with_cache(&module, 0, [64, 1, 1], Some(cache.clone())).unwrap();
    let first = open();
    let expected = run(&first, &module);
    let end = std::time::Instant::now() + Duration::from_secs(30);
    let finished = || files(folder.path()).iter().any(|f| f.extension().unwrap() == "code");
    while !finished() {
        assert!(std::time::Instant::now() < end, "nothing was written");
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = open();
    assert!(second.is_kept([64, 1, 1]));
    assert_eq!(run(&second, &module), expected);
    second.improve([64, 1, 1]).unwrap();
    assert_eq!(run(&second, &module), expected);
    let source = source();
    let key = Key::of(&source, Layout::Row, None);
    assert_eq!(cache.load(&source, &key).unwrap().quality, Quality::Best);
    // Quick code of another process does not replace it.
    cache.store(&source, &key, &made(&source, Quality::Quick));
    assert_eq!(cache.load(&source, &key).unwrap().quality, Quality::Best);
}

#[test]
fn no_changed_byte_is_accepted() {
    let source = source();
    let (f, key) = (source.function(), Key::of(&source, Layout::Row, None));
    let kept = made(&source, Quality::Quick);
    let good = file::write(&key, f, &kept).unwrap();
    let back = file::read(&good, &key, f).unwrap();
    assert_eq!((back.output, back.quality, back.took), (kept.output, kept.quality, kept.took));
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for n in 0..3000 {
        let mut bad = good.clone();
        // Every byte of the header and the hash, and others at random.
        let at = match n {
            0..60 => n,
            60..92 => good.len() - 1 - (n - 60),
            _ => random(&mut state) as usize % good.len(),
        };
        bad[at] ^= 1 << (random(&mut state) % 8);
        assert!(file::read(&bad, &key, f).is_none(), "byte {at}");
    }
    for n in (0..good.len()).step_by(good.len() / 200 + 1) {
        assert!(file::read(&good[..n], &key, f).is_none(), "{n} bytes");
    }
    assert!(file::read(&[&good[..], &[0]].concat(), &key, f).is_none());
    let mut other = key;
    other.0[31] ^= 1;
    assert!(file::read(&good, &other, f).is_none());
}

/// After a correct hash, any bytes may follow: nothing beyond them is read.
#[test]
fn a_body_of_any_bytes_is_read_or_refused() {
    let source = source();
    let (f, key) = (source.function(), Key::of(&source, Layout::Row, None));
    let good = file::write(&key, f, &made(&source, Quality::Quick)).unwrap();
    let body = &good[52..good.len() - 32];
    assert!(file::body(body, f).is_some());
    let mut state = 0x1234_5678_9abc_def1;
    let (mut refused, instructions) = (0, f.code.len() as u32);
    for n in 0..20_000 {
        let mut bad = body.to_vec();
        for _ in 0..1 + n % 3 {
            let (value, at) = (random(&mut state) as u8, random(&mut state) as usize);
            // Every other byte after the code, where the structure is.
            let code = u32::from_le_bytes(bad[26..30].try_into().unwrap()) as usize;
            let at = match n % 2 {
                0 if code < bad.len() - 30 => 30 + code + at % (bad.len() - 30 - code),
                _ => at % 30,
            };
            bad[at] = value;
        }
        if n % 5 == 0 {
            bad.truncate(random(&mut state) as usize % bad.len());
        }
        match file::body(&bad, f) {
            None => refused += 1,
            Some(kept) => {
                assert!(kept.output.origins.iter().all(|(_, o)| o.inst < instructions));
                assert!(kept.output.sites.iter().all(|s| f.code[s.at as usize] == s.inst));
            }
        }
    }
    assert!(refused > 5000, "{refused}");
}

#[test]
fn files_that_are_damaged_are_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path(), Cache::LIMIT).unwrap();
    let source = source();
    let key = Key::of(&source, Layout::Row, None);
    cache.store(&source, &key, &made(&source, Quality::Best));
    let file = folder.path().join(key.name());
    assert_eq!(files(folder.path()), std::slice::from_ref(&file));
    let good = std::fs::read(&file).unwrap();
    for damage in [&good[..good.len() / 2], b"", b"cushimK\n", &[0; 4096]] {
        std::fs::write(&file, damage).unwrap();
        assert!(cache.load(&source, &key).is_none());
        cache.store(&source, &key, &made(&source, Quality::Quick));
        assert!(cache.load(&source, &key).is_some());
    }
    // Files of other users, files that others may write, and things that are no file.
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o666)).unwrap();
    assert!(cache.load(&source, &key).is_none());
    std::fs::remove_file(&file).unwrap();
    std::fs::write(folder.path().join("real"), &good).unwrap();
    std::os::unix::fs::symlink("real", &file).unwrap();
    assert!(cache.load(&source, &key).is_none());
    cache.store(&source, &key, &made(&source, Quality::Best));
    assert!(cache.load(&source, &key).is_some());
}

#[test]
fn keys_differ_where_code_would() {
    let base = source();
    let key = Key::of(&base, Layout::Row, None);
    assert_eq!(Key::of(&source(), Layout::Row, None), key);
    let mut keys =
        vec![key, Key::of(&base, Layout::Any, None), Key::of(&base, Layout::Rows(4), None)];
    keys.push(Key::of(&base, Layout::Rows(8), None));
    // LLVM's code, of each version.
    keys.extend([[19, 1, 7], [19, 1, 6], [20, 1, 7]].map(|v| Key::of(&base, Layout::Row, Some(v))));
    // An instruction, a constant, the offset of a shared variable.
    let more =
        "    .shared .align 4 .b8 t[64];\n    .shared .align 4 .b8 s[1024];\n    mov.u32 %r6, t;\n";
    for (from, to) in [
        ("add.u32 %r4, %r4, 1", "sub.u32 %r4, %r4, 1"),
        ("%r3, 3, %r2", "%r3, 4, %r2"),
        ("    .shared .align 4 .b8 s[1024];\n", more),
    ] {
        assert!(TEXT.contains(from));
        let source =
            Source::new(module(&TEXT.replace(from, to)), 0, None, Checked::default()).unwrap();
        keys.push(Key::of(&source, Layout::Row, None));
    }
    // Other processors.
    let mut other = base.clone();
    for level in Level::ALL {
        other.best = emit::machine_of(level, Quality::Best).unwrap();
        if Ok(level) != Level::in_use() {
            keys.push(Key::of(&other, Layout::Row, None));
        }
    }
    let lesser = if Level::in_use() == Ok(Level::V1) { Level::V2 } else { Level::V1 };
    other.best = emit::machine_of(lesser, Quality::Best).unwrap();
    let names: std::collections::BTreeSet<String> = keys.iter().map(Key::name).collect();
    assert_eq!(names.len(), keys.len());
    // And what was cached for the one is not found for the other.
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path(), Cache::LIMIT).unwrap();
    cache.store(&base, &key, &made(&base, Quality::Best));
    assert!(cache.load(&base, &key).is_some());
    assert!(cache.load(&other, &Key::of(&other, Layout::Row, None)).is_none());
}

/// A product and a sum that may be fused, or must not be.
fn sum(mul: &str, fused: bool) -> Source {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 o, .param .f32 a) {{
         .reg .f32 x, y; .reg .b64 w; ld.param.f32 x, [a]; ld.param.b64 w, [o]; {mul} y, x, x; add.f32 y, y, x;
         st.global.f32 [w], y; ret; }}"
    );
    let mut module = cushim_ptx::parse(&text).and_then(|tree| cushim_ptx::check(&tree)).unwrap();
    if fused {
        cushim_ptx::contract(&mut module);
    }
    Source::new(Arc::new(module), 0, None, Checked::default()).unwrap()
}

/// The same text is loaded with and without contraction (`CUSHIM_FMAD`, the level of optimisation, `.target debug`).
#[test]
fn code_that_is_fused_is_not_taken_for_code_that_is_not() {
    let [fused, rounded] = [true, false].map(|fused| sum("mul.f32", fused));
    let [a, b] = [&fused, &rounded].map(|s| Key::of(s, Layout::Row, None));
    assert_ne!(a, b);
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path(), Cache::LIMIT).unwrap();
    cache.store(&fused, &a, &made(&fused, Quality::Best));
    assert!(cache.load(&fused, &a).is_some() && cache.load(&rounded, &b).is_none());
    cache.store(&rounded, &b, &made(&rounded, Quality::Best));
    let [a, b] =
        [cache.load(&fused, &a), cache.load(&rounded, &b)].map(|k| k.unwrap().output.bytes);
    assert_ne!(a, b);
    // An instruction that names its rounding has the same key in both.
    let [a, b] = [true, false].map(|fused| Key::of(&sum("mul.rn.f32", fused), Layout::Row, None));
    assert_eq!(a, b);
}

#[test]
fn folders_that_others_may_write_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for mode in [0o777, 0o770, 0o1777] {
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(mode)).unwrap();
        let refused = Cache::open(folder.path(), 0).unwrap_err();
        assert!(matches!(refused, CacheRefused::Writable { mode: m, .. } if m == mode));
    }
    let (file, source) = (folder.path().join("file"), source());
    std::fs::write(&file, "").unwrap();
    assert!(matches!(Cache::open(&file, 0), Err(CacheRefused::Folder(..))));
    assert!(matches!(Cache::open(&file.join("x"), 0), Err(CacheRefused::Folder(..))));
    // Also if it comes later.
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
    let cache = Cache::open(folder.path(), Cache::LIMIT).unwrap();
    let key = Key::of(&source, Layout::Row, None);
    cache.store(&source, &key, &made(&source, Quality::Best));
    assert!(cache.load(&source, &key).is_some());
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o707)).unwrap();
    assert!(cache.load(&source, &key).is_none());
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
}

#[test]
fn where_nothing_can_be_written_kernels_run() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Arc::new(Cache::open(folder.path(), Cache::LIMIT).unwrap());
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o500)).unwrap();
    let (module, source) = (module(TEXT), source());
    let open = || Kernel::with_cache(&module, 0, [64, 1, 1], Some(cache.clone())).unwrap();
    let expected = run(&Kernel::new(&module, 0, [64, 1, 1]).unwrap(), &module);
    let kernel = open();
    assert_eq!(run(&kernel, &module), expected);
    kernel.improve([64, 1, 1]).unwrap();
    assert_eq!(run(&kernel, &module), expected);
    // The superuser writes wherever it likes.
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } != 0 {
        assert!(files(folder.path()).is_empty());
    }
    // The folder goes, though better code may be on its way into it from another thread.
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
    while let Err(error) = std::fs::remove_dir_all(folder.path()) {
        assert_eq!(error.kind(), std::io::ErrorKind::DirectoryNotEmpty);
    }
    let key = Key::of(&source, Layout::Row, None);
    cache.store(&source, &key, &made(&source, Quality::Best));
    assert!(cache.load(&source, &key).is_none());
    assert_eq!(run(&open(), &module), expected);
}

#[test]
fn the_oldest_go() {
    let folder = tempfile::tempdir().unwrap();
    let source = source();
    let kept = made(&source, Quality::Best);
    let mut keys: Vec<Key> = Vec::new();
    let size = file::write(&Key([0; 32]), source.function(), &kept).unwrap().len() as u64;
    let cache = Cache::open(folder.path(), 16 * size).unwrap();
    std::fs::write(folder.path().join("notes.code"), "somebody's").unwrap();
    let part = folder.path().join("1-1-1.part");
    let old = File::create(&part).unwrap();
    old.set_modified(SystemTime::now() - 2 * ABANDONED).unwrap();
    for n in 0..20u8 {
        let key = Key([n; 32]);
        keys.push(key);
        cache.store(&source, &key, &kept);
        let file = File::open(folder.path().join(key.name())).unwrap();
        let age = Duration::from_secs(1000 - u64::from(n));
        file.set_modified(SystemTime::now() - age).unwrap();
    }
    let there: Vec<bool> = keys.iter().map(|k| folder.path().join(k.name()).exists()).collect();
    assert!(there.is_sorted() && !there[0] && there[19], "{there:?}");
    assert!(there.iter().filter(|there| **there).count() >= 14);
    assert!(files(folder.path()).len() <= 17);
    assert!(folder.path().join("notes.code").exists() && !part.exists());
}

/// Two processes at once: the test starts itself.
#[test]
fn two_processes_share_a_folder() {
    const FOLDER: &str = "CUSHIM_TEST_CACHE_FOLDER";
    let work = |path: &Path, seed: u64| {
        let cache = Cache::open(path, Cache::LIMIT).unwrap();
        let source = source();
        let key = Key::of(&source, Layout::Row, None);
        let both = [Quality::Quick, Quality::Best].map(|quality| made(&source, quality));
        let mut state = seed;
        for _ in 0..60 {
            let n = random(&mut state) as usize % 2;
            cache.store(&source, &key, &both[n]);
            // A file is there from the first on, and always whole.
            let found = cache.load(&source, &key).expect("a whole file");
            assert!(found.output.sites == both[0].output.sites);
        }
    };
    if let Some(path) = std::env::var_os(FOLDER) {
        return work(Path::new(&path), 77);
    }
    let folder = tempfile::tempdir().unwrap();
    let mut other = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "cache::tests::two_processes_share_a_folder"])
        .env(FOLDER, folder.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    work(folder.path(), 99);
    assert!(other.wait().unwrap().success());
    assert_eq!(files(folder.path()).len(), 1);
}
