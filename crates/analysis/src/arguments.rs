//! The arguments of events, decoded.
//!
//! Owns: cutting a parameter block by its layout, and reading the words of other calls by their shape.
//! Must not know: text or JSON.

use cushim_names::Value;
use cushim_trace::event::{Call, LaunchEvent};
use cushim_trace::layout::{LAUNCH_ARGS_CUT, LAUNCH_ARGS_NULL, LAUNCH_ARGS_UNKNOWN};
use cushim_trace::meta::{Api, Metadata};

use crate::known::Kernel;

/// One argument of a kernel.
pub struct Argument<'a> {
    /// Where it lies in the parameter block, bytes.
    pub offset: u32,
    /// Its size, bytes.
    pub size: u32,
    /// Its bytes; `None` where they were not recorded.
    pub bytes: Option<&'a [u8]>,
    /// Its C++ type, where the symbol tells it.
    pub kind: Option<&'a str>,
    /// Its value; `None` where the bytes were not recorded.
    pub value: Option<Value>,
}

/// The arguments of a launch, or why they are not known.
pub fn arguments<'a>(
    launch: &LaunchEvent<'a>,
    kernel: &'a Kernel,
    meta: &'a Metadata,
) -> Result<Vec<Argument<'a>>, &'a str> {
    let layout = match meta.kernels.get(&launch.kernel).map(|k| &k.params) {
        Some(Ok(layout)) => layout,
        Some(Err(why)) => return Err(why),
        None => return Err("the kernel is unknown"),
    };
    if !layout.is_empty() && launch.flags & LAUNCH_ARGS_NULL != 0 {
        return Err("the caller passed no arguments");
    }
    if launch.flags & LAUNCH_ARGS_UNKNOWN != 0 {
        return Err("the parameter layout was unknown at the launch");
    }
    // A declaration with another number of parameters is not the one of this layout.
    let names = kernel.name.parameters.as_ref().filter(|list| list.len() == layout.len());
    let types = kernel.types.as_ref().filter(|list| list.len() == layout.len());
    Ok(layout
        .iter()
        .enumerate()
        .map(|(n, &(offset, size))| {
            let end = offset.checked_add(size).map(|end| end as usize);
            let bytes = end.and_then(|end| launch.args.get(offset as usize..end));
            Argument {
                offset,
                size,
                bytes,
                kind: names.and_then(|list| list.get(n)).map(String::as_str),
                value: bytes.map(|b| Value::read(types.and_then(|t| *t.get(n)?), b)),
            }
        })
        .collect())
}

/// Why an argument of this launch has no bytes.
pub fn why_no_bytes(launch: &LaunchEvent<'_>) -> &'static str {
    match launch.flags & LAUNCH_ARGS_CUT {
        0 => "not recorded",
        _ => "beyond the recorded 4096 bytes",
    }
}

/// One argument of a call that is no launch.
pub struct Word<'a> {
    /// Its name in CUDA's manual.
    pub name: &'a str,
    /// Its shape, a word of the trace file such as `ptr`.
    pub shape: &'a str,
    /// Its words: one, or those of a structure by value.
    pub words: Vec<u64>,
    /// The value is what the call wrote there.
    pub is_out: bool,
    /// The text that it points to, where that was recorded.
    pub text: Option<String>,
}

/// The arguments of a call. Words that have no name in the metadata come last, without one.
pub fn words<'a>(call: &Call<'_>, api: Option<&'a Api>) -> Vec<Word<'a>> {
    let names = api.map_or(&[][..], |api| &api.args);
    let mut list: Vec<Word<'a>> = Vec::new();
    for (n, word) in call.words.iter().enumerate() {
        let is_out = u32::from(call.outs).checked_shr(n as u32).is_some_and(|bits| bits & 1 != 0);
        let (name, shape) = names.get(n).map_or(("", ""), |(name, shape)| (name, shape));
        // `gridDim.0`, `gridDim.1`, …: the words of one structure.
        let part = name.split_once('.');
        let base = part.map_or(name, |(base, _)| base);
        if part.is_some()
            && let Some(last) = list.last_mut().filter(|last| last.name == base)
        {
            last.words.push(word);
            continue;
        }
        let text = call.texts.get(n).map(|text| text.into_owned());
        list.push(Word { name: base, shape, words: vec![word], is_out, text });
    }
    list
}

/// From where to where a GPU copied: a `CUpti_ActivityMemcpyKind` (cupti_activity.h).
pub fn copy_direction(kind: u8) -> &'static str {
    match kind {
        1 => "host to device",
        2 => "device to host",
        3 => "host to array",
        4 => "array to host",
        5 => "array to array",
        6 => "array to device",
        7 => "device to array",
        8 => "device to device",
        9 => "host to host",
        10 => "peer to peer",
        _ => "unknown",
    }
}

/// The name of a `cudaMemcpyKind` (driver_types.h).
pub fn copy_kind(kind: u64) -> Option<&'static str> {
    Some(match kind {
        0 => "cudaMemcpyHostToHost",
        1 => "cudaMemcpyHostToDevice",
        2 => "cudaMemcpyDeviceToHost",
        3 => "cudaMemcpyDeviceToDevice",
        4 => "cudaMemcpyDefault",
        _ => return None,
    })
}
