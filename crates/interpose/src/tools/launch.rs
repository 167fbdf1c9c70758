//! Tools at a launch.
//!
//! Owns: passing a launch to the tools, and carrying out their changes. Must not know: rules.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};

use cushim_abi::types::*;
use cushim_tool::{CushimDim3, CushimLaunch, CushimParam};

use super::tool::{Tool, calling, say, text};
use super::{all, any, host};
use crate::arguments::block;
use crate::redirect::asked::AskedLaunch;
use crate::redirect::substitute;
use crate::registry;
use crate::site::Site;

static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Shows a launch to the tools before and after. `call` launches and returns the status.
pub fn around(
    site: &'static Site,
    launch: AskedLaunch,
    call: &mut dyn FnMut(AskedLaunch) -> i32,
) -> i32 {
    let wants = |tool: &Tool| tool.table.launch_begin.is_some() || tool.table.launch_end.is_some();
    if !any() || !all().iter().any(wants) {
        return call(launch);
    }
    let kernel = registry::find(launch.func.0);
    let layout = kernel.and_then(|kernel| kernel.known_layout().ok());
    // SAFETY: the program's own arguments, which CUDA is about to read.
    let mut args = layout.and_then(|l| unsafe { block(l, launch.params, launch.extra) });
    let params: Vec<CushimParam> = layout.map_or_else(Vec::new, |layout| {
        layout.params.iter().map(|p| CushimParam { offset: p.offset, bytes: p.size }).collect()
    });
    let code = kernel.and_then(|kernel| kernel.module()).map(registry::Module::code);
    let image = code.and_then(|code| code.bytes());
    let name = text(kernel.map_or("", |kernel| kernel.name));
    let owner = text(&code.map(|code| code.owner()).unwrap_or_default());
    let three = |d: Dim3| CushimDim3 { x: d.x, y: d.y, z: d.z };
    let mut shown = CushimLaunch {
        size: size_of::<CushimLaunch>() as u32,
        skip: 0,
        name: name.as_ptr(),
        call: site.name.as_ptr(),
        owner: owner.as_ptr(),
        handle: launch.func.0 as u64,
        number: NUMBER.fetch_add(1, Ordering::Relaxed) + 1,
        grid: three(launch.grid),
        block: three(launch.block),
        shared: launch.shared as u32,
        param_count: params.len() as u32,
        stream: site.stream(launch.stream) as u64,
        params: params.as_ptr(),
        args: args.as_mut().map_or(std::ptr::null_mut(), |args| args.as_mut_ptr().cast()),
        args_bytes: args.as_ref().map_or(0, |args| args.len() as u64),
        image: image.map_or(std::ptr::null(), |image| image.as_ptr().cast()),
        image_bytes: image.map_or(0, |image| image.len() as u64),
        other_image: 0,
        other_kernel: std::ptr::null(),
        user: std::ptr::null_mut(),
    };
    let original = args.clone();
    let mut own = Vec::new();
    for tool in all() {
        shown.user = std::ptr::null_mut();
        if let Some(begin) = tool.table.launch_begin {
            // SAFETY: the tool's callback, with a structure that is valid for the call.
            calling(|| unsafe { begin(&mut shown) });
        }
        own.push(shown.user);
    }
    let mut changed = launch;
    changed.grid = Dim3 { x: shown.grid.x, y: shown.grid.y, z: shown.grid.z };
    changed.block = Dim3 { x: shown.block.x, y: shown.block.y, z: shown.block.z };
    changed.shared = shown.shared as usize;
    // The program's own pointers are passed on where no tool changed their values.
    let mut pointers: Vec<usize> = Vec::new();
    if let Some(args) = args.as_ref().filter(|args| Some(*args) != original.as_ref()) {
        let at = args.as_ptr().addr();
        pointers.extend(params.iter().map(|param| at + param.offset as usize));
        (changed.params, changed.extra) = (Ptr(pointers.as_ptr().addr()), Ptr(0));
    }
    if shown.other_image != 0
        && let Err(status) = substituted(site, &shown, &name, &launch, &mut changed)
    {
        return status;
    }
    let status = if shown.skip == 0 { call(changed) } else { 0 };
    for (tool, own) in all().iter().zip(own).rev() {
        let Some(end) = tool.table.launch_end else { continue };
        shown.user = own;
        // SAFETY: the tool's callback, with a structure that is valid for the call.
        calling(|| unsafe { end(&shown, status) });
    }
    status
}

/// The kernel that a tool wants instead of the launch's, if it can be had; else the status of what
/// failed.
fn substituted(
    site: &'static Site,
    shown: &CushimLaunch,
    name: &CStr,
    launch: &AskedLaunch,
    changed: &mut AskedLaunch,
) -> Result<(), i32> {
    // SAFETY: the tool's string.
    let wanted = unsafe { crate::given::text(Str(shown.other_kernel.addr())) };
    let wanted = wanted.unwrap_or(name).to_string_lossy();
    let other = host::kept(shown.other_image)
        .ok_or_else(|| format!("no image has the number {}", shown.other_image))
        .and_then(|image| substitute::kernel(site, launch.func, image, &wanted));
    match other {
        Ok((func, binding)) => {
            let ready = binding.map_or(Ok(()), |binding| binding.ready(site, launch.stream));
            match ready {
                Ok(()) => changed.func = func,
                Err(status) => return Err(status),
            }
        }
        Err(why) => say("substitute", format_args!("{}: {why}", name.to_string_lossy())),
    }
    Ok(())
}
