//! Records of unloaded modules, to be reused for modules of the same content.
//!
//! Owns: which records may be reused, and the list of them. Records are never freed, because launches hold them
//! without a lock, and events refer to kernels by number. But the record of an equal module has the same contents, so
//! reusing it is right for any holder. So a program that loads and unloads a library all day keeps its records once,
//! in memory and in the trace. (Each new address of a handle or stub still takes some 50 bytes of the tables;
//! addresses recur.)
//!
//! Must not know: how content is compared.

use std::sync::atomic::{AtomicBool, Ordering};

use cushim_process::table::PointerTable;
use cushim_trace::meta;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::record::{Kernel, Key, Module};
use crate::layouts::{Code, Content};
use crate::loaded;
use crate::lock::Held;
use crate::origin::Origin;

/// The last unloaded module, by key; others of the key follow it.
static GONE: PointerTable<Module> = PointerTable::new();
/// The last unregistered kernel, by the key of its module and name.
static SPARE: PointerTable<Kernel> = PointerTable::new();
/// Keys of locations whose bytes were not hashed at first.
static MET: PointerTable<()> = PointerTable::new();
/// Whether equal modules get separate records.
static APART: AtomicBool = AtomicBool::new(false);

/// From now on each module has its own record: rules and tools identify modules by it.
pub fn keep_apart() {
    APART.store(true, Ordering::Release);
}

impl Key {
    /// The key of a module; hashes the bytes of its code if its location was seen before.
    pub(super) fn of(code: &Code, images: &[meta::Image], api: &str, origin: Origin) -> Key {
        let more = [&[origin as u8], api.as_bytes()].concat();
        let content = match images {
            [] => code.content(),
            images => {
                let images: Vec<u8> = images.iter().flat_map(meta::Image::encode).collect();
                Content::of(code.owner().as_bytes()).with(&images)
            }
        };
        match content.with(&more) {
            Content::Unknown => Key::None,
            Content::Bytes(of) => Key::Same(of),
            Content::Place(of) if MET.get(short(of)).is_none() => Key::Place(of),
            place @ Content::Place(_) => match code.hash().map(|h| place.with(&h.to_le_bytes())) {
                Some(Content::Place(of)) => Key::Same(of),
                _ => Key::None,
            },
        }
    }
}

/// A key of a table: never 0.
fn short(key: u128) -> usize {
    (key as usize).max(1)
}

/// `module` is gone, its code forgotten: its record may be used again.
pub(super) fn add(held: &mut Held, module: &'static Module) {
    match module.key {
        Key::Same(key) => {
            let before = GONE.get(short(key));
            module.gone.store(pointer(before), Ordering::Relaxed);
            GONE.set(&mut held.tables, short(key), Some(module));
        }
        Key::Place(place) => MET.set(&mut held.tables, short(place), Some(&())),
        Key::None => {}
    }
}

/// `kernel` is registered no more.
pub(super) fn add_kernel(held: &mut Held, module: &Module, kernel: &'static Kernel) {
    let reusable = matches!(module.key, Key::Same(_));
    if !reusable || !kernel.registered.swap(false, Ordering::Relaxed) {
        return;
    }
    kernel.direct.forget();
    loaded::forget(kernel.number);
    let key = key_of_kernel(module, kernel.name);
    kernel.before.store(pointer(SPARE.get(key)), Ordering::Relaxed);
    SPARE.set(&mut held.tables, key, Some(kernel));
    module.spare.fetch_add(1, Ordering::Relaxed);
}

/// The record of an unloaded module with the same content; its code becomes what `code` was, and `code` loses
/// what was read of it.
pub(super) fn take(
    held: &mut Held,
    key: Key,
    handle: usize,
    code: &mut Code,
) -> Option<&'static Module> {
    let Key::Same(key) = key else { return None };
    let first = GONE.get(short(key)).filter(|gone| gone.key == Key::Same(key));
    let module = first.filter(|_| !APART.load(Ordering::Acquire))?;
    if !module.code.renew(code) {
        return None;
    }
    let next = module.gone.load(Ordering::Relaxed);
    // SAFETY: null, or a record, which is never freed.
    GONE.set(&mut held.tables, short(key), unsafe { next.as_ref() });
    module.handle.store(handle, Ordering::Relaxed);
    module.functions.store(0, Ordering::Relaxed);
    module.alive.store(true, Ordering::Release);
    Some(module)
}

/// The record of a kernel of this name that `module` had before; it is registered now.
pub(super) fn take_kernel(held: &mut Held, module: &Module, name: &str) -> Option<&'static Kernel> {
    // Most modules are registered once: none of their names is hashed.
    if name.is_empty() || module.spare.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let key = key_of_kernel(module, name);
    let same = |kernel: &&Kernel| {
        kernel.name == name && kernel.module.is_some_and(|its| std::ptr::eq(its, module))
    };
    let kernel = SPARE.get(key).filter(same)?;
    let next = kernel.before.load(Ordering::Relaxed);
    // SAFETY: null, or a record, which is never freed.
    SPARE.set(&mut held.tables, key, unsafe { next.as_ref() });
    kernel.registered.store(true, Ordering::Relaxed);
    module.spare.fetch_sub(1, Ordering::Relaxed);
    if kernel.layout.load(Ordering::Relaxed).is_null() {
        // Perhaps it was missing only because the launch came too late: it is searched again.
        kernel.ready.store(0, Ordering::Relaxed);
    }
    Some(kernel)
}

fn key_of_kernel(module: &Module, name: &str) -> usize {
    let place = std::ptr::from_ref(module).addr() as u64;
    (xxh3_64_with_seed(name.as_bytes(), place) as usize).max(1)
}

fn pointer<T>(of: Option<&'static T>) -> *mut T {
    of.map_or(std::ptr::null_mut(), |of| std::ptr::from_ref(of).cast_mut())
}
