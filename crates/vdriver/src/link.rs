//! Linking at run time.
//!
//! Owns `cuLink*`. PTX texts are collected, and the accelerator links them when the resulting image is loaded; at the
//! end of a link they are loaded once to check that no symbol is missing. Machine code and NVIDIA's own intermediate
//! code cannot be linked here, and the error says so. Source: CUDA Driver API, "Module Management". Must not know:
//! how modules are linked.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use cushim_abi::types::*;

use super::context;
use super::entry::entry;
use super::handle::{Handles, handle};
use super::jit::Options;
use super::module::{self, file};
use super::state::{accelerator, give, pointer};
use super::status;
use crate::argument::Text;
use cushim_accel::locks::lock;
use cushim_vbase::code::{self, Source, Target, choose, linked};

/// `CUjitInputType`.
const PTX: i32 = 1;
const LIBRARY: i32 = 4;
const TYPES: i32 = 6;

static LINKS: Handles<Link> = Handles::new();

/// A link under way.
struct Link {
    options: Options,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    parts: Vec<Vec<u8>>,
    /// The program may use its address until the link is destroyed.
    image: Option<Vec<u8>>,
}

fn of(state: Ptr) -> Result<Arc<Link>, i32> {
    context::current()?;
    LINKS.get(state.0).ok_or(status::INVALID_HANDLE)
}

impl Link {
    /// Takes one input.
    fn add(&self, kind: i32, bytes: Vec<u8>) -> Result<(), i32> {
        if !(0..TYPES).contains(&kind) {
            return Err(status::INVALID_VALUE);
        }
        let context = context::current()?;
        let target = Target::of(accelerator(), context.device);
        let source = Source::owned(bytes);
        let parts = match choose(&source, &target) {
            Ok(chosen) => chosen.parts,
            // Functions that are machine code in a library are named in the final error.
            Err(_) if kind == LIBRARY => Vec::new(),
            Err(error) => {
                let why = error.to_string();
                if !self.options.error(&why) {
                    code::say_once(&format!("cuLinkAddData: {why}"));
                }
                return Err(if kind == PTX { status::INVALID_PTX } else { error.status() });
            }
        };
        lock(&self.state).parts.extend(parts.into_iter().map(Cow::into_owned));
        Ok(())
    }

    /// The image of everything.
    fn complete(&self) -> Result<(usize, usize), i32> {
        let context = context::current()?;
        let state = &mut *lock(&self.state);
        let parts: Vec<Cow<'_, [u8]>> =
            state.parts.iter().map(|part| Cow::Borrowed(part.as_slice())).collect();
        let source = Source::owned(linked::write(&parts));
        let code = module::load(&source, context.device, &self.options, None)?;
        if let Some(name) = code.undefined().first() {
            let why = format!("undefined symbol {name}: no linked PTX defines it");
            if !self.options.error(&why) {
                code::say_once(&format!("cuLinkComplete: {why}"));
            }
            return Err(status::INVALID_PTX);
        }
        let image = state.image.insert(source.whole.into_owned());
        Ok((image.as_ptr().expose_provenance(), image.len()))
    }
}

unsafe fn add_file(
    state: Ptr,
    kind: i32,
    path: &Text,
    count: u32,
    options: (Ptr, Ptr),
) -> Result<(), i32> {
    let link = of(state)?;
    // SAFETY: an entry point's arguments: two arrays of `count` options.
    unsafe { Options::read(count, options.0, options.1)? };
    let source = file(path)?;
    link.add(kind, source.whole.into_owned())
}

entry! {
    fn cuLinkCreate cuLinkCreate_v2 (numOptions: u32, options: Ptr, optionValues: Ptr, stateOut: Out<Ptr>) {
        context::current()?;
        if stateOut.is_null() {
            return Err(status::INVALID_VALUE);
        }
        // The program keeps buffers for logs until the link ends. SAFETY: as many options as the
        // call says.
        let options = unsafe { Options::read(numOptions, options, optionValues)? };
        let link = Arc::new(Link { options, state: Mutex::default() });
        LINKS.add(link.clone());
        give(stateOut, Ptr(handle(&link)))
    }

    fn cuLinkAddData cuLinkAddData_v2 (state: Ptr, type_: i32, data: Ptr, size: usize, name: Str, numOptions: u32, options: Ptr, optionValues: Ptr) {
        let _ = name;
        let link = of(state)?;
        if data.0 == 0 || size == 0 {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: as many options as the call says.
        unsafe { Options::read(numOptions, options, optionValues)? };
        // SAFETY: as many bytes as the call says.
        let bytes = unsafe { std::slice::from_raw_parts(pointer::<u8>(data).cast_const(), size) };
        link.add(type_, bytes.to_vec())
    }

    fn cuLinkAddFile cuLinkAddFile_v2 (state: Ptr, type_: i32, path: Str, numOptions: u32, options: Ptr, optionValues: Ptr) {
        // SAFETY: as many options as the call says.
        unsafe { add_file(state, type_, &path, numOptions, (options, optionValues)) }
    }

    fn cuLinkComplete (state: Ptr, cubinOut: Out<Ptr>, sizeOut: Out<usize>) {
        let link = of(state)?;
        if cubinOut.is_null() {
            return Err(status::INVALID_VALUE);
        }
        let (address, size) = link.complete()?;
        give(cubinOut, Ptr(address))?;
        super::state::offer(sizeOut, size);
        Ok(())
    }

    fn cuLinkDestroy (state: Ptr) {
        of(state)?;
        LINKS.remove(state.0);
        Ok(())
    }
}
