//! Texture and surface references: variables of a module that are bound to arrays or memory.
//!
//! Owns a reference's settings and binding. The reference's variable contains a texture handle for kernels, which is
//! created anew at each change, after the submitted work has ended. Source: CUDA Driver API, "Texture Reference
//! Management \[DEPRECATED\]". Must not know: objects.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use cushim_abi::types::*;

use super::{ResourceDesc, TextureDesc, flag, realize, resource, sampler};
use crate::argument::{At, In, Place, Text};
use crate::context;
use crate::entry::entry;
use crate::handle::{Handles, handle};
use crate::memory::{self, mipmap};
use crate::module::{self, Loaded};
use crate::state::{accelerator, check, give, offer};
use crate::status;
use cushim_accel::locks::lock;

/// The settings of a reference.
#[derive(Clone, Copy)]
struct State {
    how: TextureDesc,
    /// The format of linear memory.
    format: (u32, u32),
    bound: Option<ResourceDesc>,
    /// The texture that the variable holds; 0 for none.
    handle: u64,
}

/// A reference.
struct Reference {
    /// The address of its variable, if it is a module's.
    variable: Option<u64>,
    module: Weak<Loaded>,
    surface: bool,
    state: Mutex<State>,
}

static REFERENCES: Handles<Reference> = Handles::new();
/// The references of modules, by the address of the variable.
static BY_VARIABLE: OnceLock<Mutex<HashMap<u64, Arc<Reference>>>> = OnceLock::new();

/// The alignment of addresses for cuTexRefSetAddress.
const ALIGNMENT: usize = 512;
/// `CU_TRSA_OVERRIDE_FORMAT`.
const OVERRIDE_FORMAT: u32 = 1;

impl Reference {
    fn new(variable: Option<u64>, module: Weak<Loaded>, surface: bool) -> Arc<Reference> {
        let how =
            TextureDesc { address_mode: [1; 3], mipmap_max: 1000.0, ..TextureDesc::default() };
        let state = State { how, format: (0x20, 1), bound: None, handle: 0 };
        Arc::new(Reference { variable, module, surface, state: Mutex::new(state) })
    }

    /// Changes its settings; the variable then holds a new texture with these.
    fn change(&self, how: impl FnOnce(&mut State) -> Result<(), i32>) -> Result<(), i32> {
        let mut state = lock(&self.state);
        let mut new = *state;
        how(&mut new)?;
        let made = match (&new.bound, self.variable) {
            (Some(bound), Some(_)) => {
                let mut texture = resource::texture(bound)?;
                if !self.surface {
                    texture.sampler = Some(sampler(&new.how, &texture)?);
                }
                realize(&texture)?
            }
            _ => 0,
        };
        let old = std::mem::replace(&mut new.handle, made);
        if let Some(variable) = self.variable
            && (old != made)
            && self.module.strong_count() > 0
        {
            memory::quiesce();
            let bytes = made.to_le_bytes();
            let from = bytes.as_ptr().expose_provenance() as u64;
            let written = accelerator().copy_now(variable, from, bytes.len());
            written.map_err(|failure| status::of(&failure))?;
            if old != 0 {
                accelerator().forget_texture(old);
            }
        }
        *state = new;
        Ok(())
    }

    fn get<T>(&self, what: impl FnOnce(&State) -> T) -> T {
        what(&lock(&self.state))
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        let handle = self.get(|state| state.handle);
        if handle != 0 {
            accelerator().forget_texture(handle);
        }
    }
}

/// Forgets the references of a module that is unloaded.
fn forget_module(module: &Loaded) {
    let Some(all) = BY_VARIABLE.get() else { return };
    for variable in module.code.variables().iter().filter(|variable| variable.reference) {
        if let Some(gone) = lock(all).remove(&variable.address) {
            REFERENCES.remove(handle(&gone));
        }
    }
}

/// Returns the reference of a module's variable.
fn of_module(to: Place<Ptr>, module: Module, name: Text, surface: bool) -> Result<(), i32> {
    context::current()?;
    let module = module::of(module)?;
    let name = name.read()?;
    if to.is_null() {
        return Err(status::INVALID_VALUE);
    }
    let variable = module.reference(name).ok_or(status::NOT_FOUND)?.address;
    let all = BY_VARIABLE.get_or_init(|| {
        module::tell_when_gone(forget_module);
        Mutex::default()
    });
    let found = lock(all)
        .entry(variable)
        .or_insert_with(|| Reference::new(Some(variable), Arc::downgrade(&module), surface))
        .clone();
    give(to, Ptr(REFERENCES.add(found)))
}

fn by_handle(reference: Ptr) -> Result<Arc<Reference>, i32> {
    check()?;
    REFERENCES.get(reference.0).ok_or(status::INVALID_HANDLE)
}

fn set(reference: Ptr, how: impl FnOnce(&mut State) -> Result<(), i32>) -> Result<(), i32> {
    context::current()?;
    by_handle(reference)?.change(how)
}

fn memory_of(kind: i32, at: usize, format: (u32, u32)) -> ResourceDesc {
    ResourceDesc { kind, at, format: format.0, channels: format.1, ..ResourceDesc::default() }
}

fn bind_plane(reference: Ptr, plane: [u64; 3], at: usize, pitch: usize) -> Result<(), i32> {
    let [width, height, element] = plane;
    let format = (element as u32, (element >> 32) as u32);
    set(reference, |state| {
        state.format = format;
        let (width, height) = (width as usize, height as usize);
        let found = memory_of(resource::PITCHED, at, format);
        state.bound = Some(ResourceDesc { width, height, pitch, ..found });
        Ok(())
    })
}

entry! {
    fn cuModuleGetTexRef (pTexRef: Out<Ptr>, hmod: Module, name: Str) {
        of_module(pTexRef, hmod, name, false)
    }

    fn cuModuleGetSurfRef (pSurfRef: Out<Ptr>, hmod: Module, name: Str) {
        of_module(pSurfRef, hmod, name, true)
    }

    fn cuTexRefCreate (pTexRef: Out<Ptr>) {
        context::current()?;
        if pTexRef.is_null() {
            return Err(status::INVALID_VALUE);
        }
        give(pTexRef, Ptr(REFERENCES.add(Reference::new(None, Weak::new(), false))))
    }

    fn cuTexRefDestroy (hTexRef: Ptr) {
        context::current()?;
        if by_handle(hTexRef)?.variable.is_none() {
            REFERENCES.remove(hTexRef.0);
        }
        Ok(())
    }

    fn cuTexRefSetArray (hTexRef: Ptr, hArray: Ptr, flags: Flags) {
        if flags.0 != OVERRIDE_FORMAT {
            return Err(status::INVALID_VALUE);
        }
        let form = memory::array::by_handle(hArray)?.form;
        set(hTexRef, |state| {
            state.format = (form.format, form.channels);
            state.bound = Some(memory_of(resource::ARRAY, hArray.0, state.format));
            Ok(())
        })
    }

    fn cuTexRefSetMipmappedArray (hTexRef: Ptr, hMipmappedArray: Ptr, flags: Flags) {
        if flags.0 != OVERRIDE_FORMAT {
            return Err(status::INVALID_VALUE);
        }
        mipmap::by_handle(hMipmappedArray)?;
        set(hTexRef, |state| {
            state.bound = Some(memory_of(resource::MIPMAPPED, hMipmappedArray.0, state.format));
            Ok(())
        })
    }

    fn cuTexRefSetAddress_v2 (ByteOffset: Out<usize>, hTexRef: Ptr, dptr: Ptr, bytes: usize) {
        let over = dptr.0 % ALIGNMENT;
        if over > 0 && ByteOffset.is_null() {
            return Err(status::INVALID_VALUE);
        }
        set(hTexRef, |state| {
            let found = memory_of(resource::LINEAR, dptr.0 - over, state.format);
            let bound = ResourceDesc { width: bytes + over, ..found };
            state.bound = if dptr.0 == 0 { None } else { Some(bound) };
            Ok(())
        })?;
        offer(ByteOffset, over);
        Ok(())
    }

    fn cuTexRefSetAddress2D_v2 cuTexRefSetAddress2D_v3 (hTexRef: Ptr, desc: In<[u64; 3]>, dptr: Ptr, Pitch: usize) {
        bind_plane(hTexRef, desc.read()?, dptr.0, Pitch)
    }

    fn cuTexRefSetFormat (hTexRef: Ptr, fmt: i32, NumPackedComponents: i32) {
        let format = (fmt as u32, NumPackedComponents as u32);
        memory::array::element(format.0, format.1)?;
        set(hTexRef, |state| {
            state.format = format;
            Ok(())
        })
    }

    fn cuTexRefSetAddressMode (hTexRef: Ptr, dim: i32, am: i32) {
        set(hTexRef, |state| {
            let place = usize::try_from(dim).ok().and_then(|n| state.how.address_mode.get_mut(n));
            *place.ok_or(status::INVALID_VALUE)? = am;
            if (0..=3).contains(&am) { Ok(()) } else { Err(status::INVALID_VALUE) }
        })
    }

    fn cuTexRefSetFilterMode (hTexRef: Ptr, fm: i32) {
        set(hTexRef, |state| {
            state.how.filter_mode = fm;
            if (0..=1).contains(&fm) { Ok(()) } else { Err(status::INVALID_VALUE) }
        })
    }

    fn cuTexRefSetMipmapFilterMode (hTexRef: Ptr, fm: i32) {
        set(hTexRef, |state| {
            state.how.mipmap_filter = fm;
            if (0..=1).contains(&fm) { Ok(()) } else { Err(status::INVALID_VALUE) }
        })
    }

    fn cuTexRefSetMipmapLevelBias (hTexRef: Ptr, bias: f32) {
        set(hTexRef, |state| {
            state.how.mipmap_bias = bias;
            Ok(())
        })
    }

    fn cuTexRefSetMipmapLevelClamp (hTexRef: Ptr, minMipmapLevelClamp: f32, maxMipmapLevelClamp: f32) {
        set(hTexRef, |state| {
            (state.how.mipmap_min, state.how.mipmap_max) = (minMipmapLevelClamp, maxMipmapLevelClamp);
            Ok(())
        })
    }

    fn cuTexRefSetMaxAnisotropy (hTexRef: Ptr, maxAniso: u32) {
        set(hTexRef, |state| {
            state.how.max_anisotropy = maxAniso;
            Ok(())
        })
    }

    fn cuTexRefSetBorderColor (hTexRef: Ptr, pBorderColor: In<[f32; 4]>) {
        let color = pBorderColor.read()?;
        set(hTexRef, |state| {
            state.how.border = color;
            Ok(())
        })
    }

    fn cuTexRefSetFlags (hTexRef: Ptr, flags: Flags) {
        if flags.0 & !flag::OF_ALL != 0 {
            return Err(status::INVALID_VALUE);
        }
        set(hTexRef, |state| {
            state.how.flags = flags.0;
            Ok(())
        })
    }

    fn cuTexRefGetAddress_v2 (pdptr: Out<Ptr>, hTexRef: Ptr) {
        let bound = by_handle(hTexRef)?.get(|state| state.bound);
        let memory = |bound: &ResourceDesc| matches!(bound.kind, resource::LINEAR | resource::PITCHED);
        give(pdptr, Ptr(bound.filter(memory).ok_or(status::INVALID_VALUE)?.at))
    }

    fn cuTexRefGetArray (phArray: Out<Ptr>, hTexRef: Ptr) {
        let bound = by_handle(hTexRef)?.get(|state| state.bound);
        let bound = bound.filter(|bound| bound.kind == resource::ARRAY);
        give(phArray, Ptr(bound.ok_or(status::INVALID_VALUE)?.at))
    }

    fn cuTexRefGetMipmappedArray (phMipmappedArray: Out<Ptr>, hTexRef: Ptr) {
        let bound = by_handle(hTexRef)?.get(|state| state.bound);
        let bound = bound.filter(|bound| bound.kind == resource::MIPMAPPED);
        give(phMipmappedArray, Ptr(bound.ok_or(status::INVALID_VALUE)?.at))
    }

    fn cuTexRefGetAddressMode (pam: Out<i32>, hTexRef: Ptr, dim: i32) {
        let modes = by_handle(hTexRef)?.get(|state| state.how.address_mode);
        let mode = usize::try_from(dim).ok().and_then(|n| modes.get(n).copied());
        give(pam, mode.ok_or(status::INVALID_VALUE)?)
    }

    fn cuTexRefGetFilterMode (pfm: Out<i32>, hTexRef: Ptr) {
        give(pfm, by_handle(hTexRef)?.get(|state| state.how.filter_mode))
    }

    fn cuTexRefGetMipmapFilterMode (pfm: Out<i32>, hTexRef: Ptr) {
        give(pfm, by_handle(hTexRef)?.get(|state| state.how.mipmap_filter))
    }

    fn cuTexRefGetFormat (pFormat: Out<i32>, pNumChannels: Out<i32>, hTexRef: Ptr) {
        let (format, channels) = by_handle(hTexRef)?.get(|state| state.format);
        give(pFormat, format as i32)?;
        offer(pNumChannels, channels as i32);
        Ok(())
    }

    fn cuTexRefGetMipmapLevelBias (pbias: At<f32>, hTexRef: Ptr) {
        give(pbias, by_handle(hTexRef)?.get(|state| state.how.mipmap_bias))
    }

    fn cuTexRefGetMipmapLevelClamp (pminMipmapLevelClamp: At<f32>, pmaxMipmapLevelClamp: At<f32>, hTexRef: Ptr) {
        let (least, most) =
            by_handle(hTexRef)?.get(|state| (state.how.mipmap_min, state.how.mipmap_max));
        give(pminMipmapLevelClamp, least)?;
        give(pmaxMipmapLevelClamp, most)
    }

    fn cuTexRefGetMaxAnisotropy (pmaxAniso: Out<i32>, hTexRef: Ptr) {
        give(pmaxAniso, by_handle(hTexRef)?.get(|state| state.how.max_anisotropy as i32))
    }

    fn cuTexRefGetBorderColor (pBorderColor: At<[f32; 4]>, hTexRef: Ptr) {
        give(pBorderColor, by_handle(hTexRef)?.get(|state| state.how.border))
    }

    fn cuTexRefGetFlags (pFlags: Out<u32>, hTexRef: Ptr) {
        give(pFlags, by_handle(hTexRef)?.get(|state| state.how.flags))
    }

    // Kernels name their references: since CUDA 4.0 this call does nothing.
    fn cuParamSetTexRef (hfunc: Func, texunit: i32, hTexRef: Ptr) {
        let _ = (hfunc, texunit);
        by_handle(hTexRef).map(drop)
    }

    fn cuSurfRefSetArray (hSurfRef: Ptr, hArray: Ptr, flags: Flags) {
        if flags.0 != 0 {
            return Err(status::INVALID_VALUE);
        }
        memory::array::by_handle(hArray)?;
        set(hSurfRef, |state| {
            state.bound = Some(memory_of(resource::ARRAY, hArray.0, state.format));
            Ok(())
        })
    }

    fn cuSurfRefGetArray (phArray: Out<Ptr>, hSurfRef: Ptr) {
        let bound = by_handle(hSurfRef)?.get(|state| state.bound);
        give(phArray, Ptr(bound.ok_or(status::INVALID_VALUE)?.at))
    }
}
