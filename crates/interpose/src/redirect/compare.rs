//! Running a program's kernel and its replacement on the same data, and comparing what they wrote.
//!
//! Owns: saving, restoring and comparing the buffers of one launch. Every allocation that a word of the parameter
//! block points into is saved first and restored between the two runs, so that both kernels see the same data; the
//! rule chooses which allocations are compared. Must not know: how a replacement was made.

use std::fmt::Write;

use cushim_abi::types::*;
use cushim_rules::{Action, Compare, Keep};

use super::asked::AskedLaunch;
use super::binding::Binding;
use super::plan::Planned;
use super::say::say;
use crate::arguments::block;
use crate::device;
use crate::registry;
use crate::site::Site;

/// Differing launches that are shown one by one; the rest is counted.
const SHOWN: u64 = 10;
/// The most bytes that are saved for one launch. Three copies exist for a moment.
const MOST: u64 = 8 << 30;

/// An allocation that a launch may change.
struct Buffer {
    base: u64,
    /// The parameters that point into it: number and address.
    pointers: Vec<(usize, u64)>,
    /// The program's variable in it, if it is one that both kernels use.
    variable: Option<&'static str>,
    before: Vec<u8>,
}

/// Launches what the program asked for and `other`, and compares. Returns the status of the launch
/// whose results the program keeps.
pub fn run(
    site: &'static Site,
    planned: &'static Planned,
    launch: AskedLaunch,
    (other, binding): (usize, Option<&'static Binding>),
    call: &mut dyn FnMut(AskedLaunch) -> i32,
) -> i32 {
    let Action::Kernel { compare: Some(compare), .. } = &planned.rule.action else {
        return call(launch);
    };
    let stream = site.stream(launch.stream);
    let (first, second) = {
        let other = AskedLaunch { func: Func(other), ..launch };
        match compare.keep {
            Keep::Original => (other, launch),
            Keep::Replacement => (launch, other),
        }
    };
    let prepared = if device::is_capturing(stream) {
        Err("it is captured into a graph, so its memory cannot be read".to_owned())
    } else {
        device::relaxed(|| prepare(&launch, stream, binding))
            .and_then(|buffers| holds(compare, buffers))
    };
    let buffers = match prepared {
        Ok(buffers) => buffers,
        Err(why) => {
            planned.refuse(format_args!("a launch is not compared: {why}"));
            return call(launch);
        }
    };
    let status = call(first);
    let results = device::relaxed(|| {
        let results = if status == 0 { results(&buffers, stream) } else { Ok(Vec::new()) };
        // The second kernel begins with the memory that the first began with.
        restore(&buffers).and(results)
    });
    let kept = call(second);
    let compared = match (status, kept, results) {
        (0, 0, Ok(results)) => device::relaxed(|| {
            let mut kept = self::results(&buffers, stream)?;
            let (mut original, mut replacement) = (&results, &mut kept);
            let swapped = compare.keep == Keep::Original;
            let mut first = Vec::new();
            if swapped {
                first.clone_from(&results);
                (original, replacement) = (&*replacement, &mut first);
            }
            tell(planned, compare, &launch, &buffers, original, replacement);
            Ok(())
        }),
        (0, 0, Err(why)) => Err(why),
        (status, kept, _) => Err(format!(
            "one of the two launches failed: {status} and {kept} (the last is the one that the program gets)"
        )),
    };
    if let Err(why) = compared {
        planned.refuse(format_args!("a launch is not compared: {why}"));
    }
    kept
}

/// Finds and saves the buffers that the launch may change.
fn prepare(
    launch: &AskedLaunch,
    stream: usize,
    binding: Option<&'static Binding>,
) -> Result<Vec<Buffer>, String> {
    let kernel = registry::find(launch.func.0).ok_or("the kernel is unknown")?;
    let layout = kernel.known_layout()?;
    // SAFETY: the program's own arguments, which CUDA is about to read.
    let block =
        unsafe { block(layout, launch.params, launch.extra) }.ok_or("its arguments are unknown")?;
    device::synchronize(stream).map_err(|e| format!("waiting for its stream: error {e}"))?;
    let mut buffers: Vec<Buffer> = Vec::new();
    let mut total = 0;
    for (index, param) in layout.params.iter().enumerate() {
        let at = param.offset as usize;
        let bytes = block.get(at..at + param.size as usize).unwrap_or_default();
        for word in bytes.chunks_exact(8) {
            let address = word.iter().rev().fold(0u64, |word, b| (word << 8) | u64::from(*b));
            // Small numbers cannot be addresses: the driver is not asked.
            let Some((base, size)) =
                (address > 0xffff).then(|| device::range(address).ok()).flatten()
            else {
                continue;
            };
            if let Some(known) = buffers.iter_mut().find(|buffer| buffer.base == base) {
                known.pointers.push((index, address));
                continue;
            }
            total += size;
            if total > MOST {
                return Err(format!("its buffers take more than {MOST} bytes"));
            }
            let mut before = Vec::new();
            read(base, size, &mut before)?;
            let (pointers, variable) = (vec![(index, address)], None);
            buffers.push(Buffer { base, pointers, variable, before });
        }
    }
    let Some(binding) = binding else { return Ok(buffers) };
    let addresses = binding.addresses()?;
    for (place, name) in binding.written() {
        let Some(&(base, size)) = addresses.get(place) else { continue };
        total += size;
        if total > MOST {
            return Err(format!("its buffers and variables take more than {MOST} bytes"));
        }
        let mut before = Vec::new();
        read(base, size, &mut before)?;
        buffers.push(Buffer { base, pointers: Vec::new(), variable: Some(name), before });
    }
    Ok(buffers)
}

/// The buffers, if those that are to be compared are among them.
fn holds(compare: &Compare, buffers: Vec<Buffer>) -> Result<Vec<Buffer>, String> {
    let pointed = |index: usize| buffers.iter().any(|b| b.pointers.iter().any(|p| p.0 == index));
    let missing = compare.parameters.iter().flatten().find(|index| !pointed(**index));
    match missing {
        Some(index) => Err(format!("parameter {index} holds no address of device memory")),
        None if buffers.is_empty() => Err("no parameter holds an address of device memory".into()),
        None => Ok(buffers),
    }
}

fn read(base: u64, size: u64, into: &mut Vec<u8>) -> Result<(), String> {
    into.try_reserve_exact(size as usize)
        .map_err(|_| format!("{size} bytes of memory cannot be allocated"))?;
    into.resize(size as usize, 0);
    device::read(into, base).map_err(|e| format!("reading {size} bytes of its buffers: error {e}"))
}

fn results(buffers: &[Buffer], stream: usize) -> Result<Vec<Vec<u8>>, String> {
    device::synchronize(stream).map_err(|e| format!("a kernel failed: error {e}"))?;
    let mut results = Vec::new();
    for buffer in buffers {
        let mut bytes = Vec::new();
        read(buffer.base, buffer.before.len() as u64, &mut bytes)?;
        results.push(bytes);
    }
    Ok(results)
}

fn restore(buffers: &[Buffer]) -> Result<(), String> {
    for Buffer { base, before, .. } in buffers {
        device::write(*base, before).map_err(|e| format!("restoring its buffers: error {e}"))?;
    }
    Ok(())
}

/// Compares, says what differs, and counts.
fn tell(
    planned: &Planned,
    compare: &Compare,
    launch: &AskedLaunch,
    buffers: &[Buffer],
    original: &[Vec<u8>],
    replacement: &[Vec<u8>],
) {
    let mut largest = 0.0f64;
    let mut text = String::new();
    for (buffer, (a, b)) in buffers.iter().zip(original.iter().zip(replacement)) {
        if let Some(name) = buffer.variable {
            if compare.parameters.is_none() && a != b {
                let _ = write!(text, "; variable {name} differs");
            }
            continue;
        }
        let wanted = |index: &usize| compare.parameters.as_ref().is_none_or(|p| p.contains(index));
        let Some((index, address)) = buffer.pointers.iter().find(|(index, _)| wanted(index)) else {
            continue;
        };
        // Elements are aligned to the parameter's address; memory before it is compared, too.
        let skew = (*address - buffer.base) as usize % compare.element.size();
        let (Some(a), Some(b)) = (a.get(skew..), b.get(skew..)) else { continue };
        let Some(found) = compare.differ(a, b) else { continue };
        largest = largest.max(found.largest);
        let at =
            found.at as i64 - ((*address - buffer.base) as usize / compare.element.size()) as i64;
        let _ = write!(
            text,
            "; parameter {index}: {} of {} elements differ, most at element {at}: {} and {}",
            found.count, found.of, found.values.0, found.values.1
        );
    }
    let mut summary = planned.compared.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    summary.launches += 1;
    if text.is_empty() {
        return;
    }
    summary.differing += 1;
    summary.largest = summary.largest.max(largest);
    if summary.differing <= SHOWN {
        let name = registry::find(launch.func.0).map_or("", |kernel| kernel.name);
        say(format_args!(
            "{}: launch {} that was compared, {name}{text} (original and replacement)",
            planned.rule.name, summary.launches
        ));
    }
}
