//! Redirection at a launch: rules with conditions, changed shapes, skipped launches; the same for nodes that a
//! program adds to graphs explicitly.
//!
//! Owns the decision that was made about a kernel when it became known, by the address that launches it. Must not
//! know: how a replacement was made, how results are compared.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use cushim_abi::types::*;
use cushim_process::table::PointerTable;
use cushim_rules::{Action, LaunchShape as Shape};

pub use super::asked::{AskedLaunch, enabled};
use super::binding::{self, Binding};
use super::place::Place;
use super::plan::Planned;
use super::{compare, nothing};
use crate::device;
use crate::registry::{self, Module};
use crate::site::Site;
use crate::{thread, tools};

static DECISIONS: PointerTable<Decisions> = PointerTable::new();

/// What was decided about one launchable address, in the order of the rules.
struct Decisions {
    /// Launches so far; shared by all addresses of a kernel.
    count: &'static AtomicU64,
    /// The module that the kernel is in: the decisions end with it, as the address may be reused.
    module: &'static Module,
    /// The context of the address, where it is a function of one context; 0 where it is valid in
    /// all.
    context: usize,
    list: Vec<Decision>,
}

#[derive(Clone)]
struct Decision {
    planned: &'static Planned,
    /// What is launched instead, by the same call.
    other: Option<usize>,
    /// What must be bound before that, or the address itself, can be launched.
    binding: Option<&'static Binding>,
}

impl PartialEq for Decision {
    fn eq(&self, other: &Decision) -> bool {
        let binding = |decision: &Decision| decision.binding.map(|b| std::ptr::from_ref(b).addr());
        std::ptr::eq(self.planned, other.planned)
            && self.other == other.other
            && binding(self) == binding(other)
    }
}

/// What happens to a launch.
enum Verdict {
    Happens(AskedLaunch),
    LeftOut,
    /// This address is launched too, and the results are compared.
    Compared(&'static Planned, usize, Option<&'static Binding>),
    /// It cannot happen: the status to return.
    Refused(i32),
}

std::thread_local! {
    /// The frame of the launch that this thread is in, while it is checked.
    static WITHIN: Cell<usize> = const { Cell::new(0) };
}

/// A rule matches launches of `address`, a kernel of `module`; `other` is what it launches instead,
/// if anything. Known addresses are skipped: programs ask for a kernel many times.
pub(super) fn decide(
    address: usize,
    module: &'static Module,
    planned: &'static Planned,
    other: Option<usize>,
    binding: Option<&'static Binding>,
) {
    let changes = matches!(planned.rule.action, Action::Launch(_) | Action::Skip);
    if other.is_none() && !changes && planned.foreign().is_none() && binding.is_none() {
        return;
    }
    let before = DECISIONS.get(address).filter(|before| std::ptr::eq(before.module, module));
    let mut list = before.map_or_else(Vec::new, |before| before.list.clone());
    let decision = Decision { planned, other, binding };
    if list.contains(&decision) {
        return;
    }
    let count =
        before.map_or_else(|| Box::leak(Box::default()) as &'static _, |before| before.count);
    list.push(decision);
    let context = before.map_or(0, |before| before.context);
    set(address, Decisions { count, module, context, list });
}

/// The decisions about an address, while its kernel is loaded.
fn decisions(address: usize) -> Option<&'static Decisions> {
    DECISIONS.get(address).filter(|decisions| decisions.module.is_alive())
}

fn set(address: usize, decisions: Decisions) {
    crate::lock::registry(|held| {
        DECISIONS.set(&mut held.tables, address, Some(Box::leak(Box::new(decisions))));
    });
}

/// `handle` launches the same as `address`, in all contexts or, if it is a function of one, in the
/// current one; `translate` returns the handle of what is launched instead.
pub fn alias(
    handle: usize,
    address: usize,
    is_function: bool,
    translate: impl Fn(usize) -> Option<usize>,
) {
    if !enabled() || handle == address {
        return;
    }
    let Some(of) = decisions(address) else { return };
    let context = if is_function { device::context().unwrap_or(0) } else { 0 };
    let same = |known: &Decisions| std::ptr::eq(known.count, of.count) && known.context == context;
    if DECISIONS.get(handle).is_some_and(same) {
        return;
    }
    let list = of.list.iter().map(|decision| Decision {
        planned: decision.planned,
        other: decision.other.and_then(&translate),
        binding: decision.binding,
    });
    set(handle, Decisions { count: of.count, module: of.module, context, list: list.collect() });
}

/// While this exists, CUDA's own calls inside are not checked. It is also dropped where an
/// exception passes through; a frame that a longjmp left is below the next.
pub struct Outermost(());

impl Drop for Outermost {
    fn drop(&mut self) {
        WITHIN.set(0);
    }
}

/// `None` inside another call that is checked, or inside CUDA (libomptarget calls CUDA as a program
/// does); `stack` is an address in the caller's frame.
pub fn outermost(stack: usize) -> Option<Outermost> {
    let within = WITHIN.get() > stack
        // SAFETY: it is looked at, and let go of.
        || unsafe { thread::current_if_any() }.is_some_and(|thread| thread.is_inside_cuda(stack));
    if within {
        return None;
    }
    WITHIN.set(stack);
    Some(Outermost(()))
}

/// A launch, where launches are checked. `stack` is an address in the caller's frame: a launch that
/// CUDA makes inside another one is not checked again. `call` launches and returns the status.
#[cold]
pub fn around(
    site: &'static Site,
    launch: AskedLaunch,
    stack: usize,
    call: &mut dyn FnMut(AskedLaunch) -> i32,
) -> i32 {
    let Some(_outermost) = outermost(stack) else { return call(launch) };
    match decided(site, launch) {
        Verdict::Happens(launch) => tools::launch::around(site, launch, call),
        Verdict::LeftOut => 0,
        Verdict::Compared(planned, other, binding) => {
            compare::run(site, planned, launch, (other, binding), call)
        }
        Verdict::Refused(status) => status,
    }
}

/// Checks a launch of `func` into `stream` that cannot be changed: one of a list, or one that is
/// not fully seen.
///
/// # Errors
/// The status that the call is to answer.
pub fn ready(site: &'static Site, func: Func, stream: usize) -> Result<(), i32> {
    let Some(decisions) = known(site, func)? else { return Ok(()) };
    let own = |decision: &&Decision| decision.other.is_none();
    let bindings = decisions.list.iter().filter(own).filter_map(|decision| decision.binding);
    bindings.into_iter().try_for_each(|binding| binding.ready(site, stream))
}

/// The decisions about an address.
///
/// # Errors
/// The status for a replacement whose module in the program is gone, with the variables that it
/// uses.
fn known(site: &'static Site, func: Func) -> Result<Option<&'static Decisions>, i32> {
    let Some(decisions) = DECISIONS.get(func.0) else { return Ok(None) };
    if decisions.module.is_alive() {
        return Ok(Some(decisions));
    }
    // The address may belong to another kernel by now.
    let another = registry::find(func.0).is_some();
    let bound = decisions.list.iter().any(|d| d.other.is_none() && d.binding.is_some());
    if bound && !another { Err(binding::refused(site, true)) } else { Ok(None) }
}

fn decided(site: &'static Site, launch: AskedLaunch) -> Verdict {
    let decisions = match known(site, launch.func) {
        Ok(Some(decisions)) => decisions,
        Ok(None) => return Verdict::Happens(launch),
        Err(status) => return Verdict::Refused(status),
    };
    let nth = decisions.count.fetch_add(1, Ordering::Relaxed) + 1;
    let three = |d: Dim3| [d.x, d.y, d.z];
    for Decision { planned, other, binding } in &decisions.list {
        let condition = &planned.rule.matching.launch;
        if !condition.holds(three(launch.grid), three(launch.block), nth) {
            continue;
        }
        if let Some(why) = planned.foreign() {
            planned.refuse_once(format_args!("{}: {why}", name(launch.func)));
            continue;
        }
        if let Some(binding) = binding
            && let Err(status) = binding.ready(site, launch.stream)
        {
            match other {
                // The program's own kernel is there too.
                Some(_) => {
                    planned
                        .refuse_once(format_args!("{} is launched unchanged", name(launch.func)));
                    continue;
                }
                None => return Verdict::Refused(status),
            }
        }
        match (&planned.rule.action, other) {
            (Action::Skip, _) => return Verdict::LeftOut,
            (Action::Launch(shape), _) => return Verdict::Happens(changed(launch, shape)),
            (Action::Kernel { compare: Some(_), .. }, Some(other)) => {
                return Verdict::Compared(planned, *other, *binding);
            }
            (_, Some(other)) => {
                return Verdict::Happens(AskedLaunch { func: Func(*other), ..launch });
            }
            _ => {}
        }
    }
    Verdict::Happens(launch)
}

/// The kernel of a graph node that the program adds or changes, as the rules change it; `None`
/// where it stays as it is. It will run in `place`.
///
/// # Errors
/// The status that the call must return, where the node's replacement cannot be launched.
pub fn node(
    site: &'static Site,
    launch: AskedLaunch,
    place: Place,
) -> Result<Option<AskedLaunch>, i32> {
    let Some(decisions) = known(site, launch.func)? else { return Ok(None) };
    let place = match (place, decisions.context) {
        // A node's function runs in its own context, whichever is current.
        (Place::Current, context @ 1..) => Place::Context(context),
        (place, _) => place,
    };
    for Decision { planned, other, binding } in &decisions.list {
        let condition = &planned.rule.matching.launch;
        let unclear = match &planned.rule.action {
            _ if condition.nth.is_some() => "`nth` counts launches",
            Action::Kernel { compare: Some(_), .. } => "`compare` compares launches",
            _ => "",
        };
        if !unclear.is_empty() {
            planned.refuse_once(format_args!(
                "{} is a graph node, which runs whenever its graph does: {unclear}, so the node is left unchanged",
                name(launch.func)
            ));
            continue;
        }
        let three = |d: Dim3| [d.x, d.y, d.z];
        if !condition.holds(three(launch.grid), three(launch.block), 1) {
            continue;
        }
        if let Some(why) = planned.foreign() {
            planned.refuse_once(format_args!("{}: {why}", name(launch.func)));
            continue;
        }
        if let Some(binding) = binding {
            match (binding.ready_in(site, place), other) {
                (Ok(()), _) => {}
                (Err(_), Some(_)) => {
                    planned.refuse_once(format_args!("{} is left unchanged", name(launch.func)));
                    continue;
                }
                (Err(status), None) => return Err(status),
            }
        }
        match (&planned.rule.action, other) {
            (Action::Skip, _) => match nothing::instead_of(site, launch.func) {
                Ok(func) => return Ok(Some(AskedLaunch { func, ..launch })),
                Err(why) => planned.refuse_once(format_args!(
                    "graph node {} cannot be skipped: {why}",
                    name(launch.func)
                )),
            },
            (Action::Launch(shape), _) => return Ok(Some(changed(launch, shape))),
            (_, Some(other)) => return Ok(Some(AskedLaunch { func: Func(*other), ..launch })),
            _ => {}
        }
    }
    Ok(None)
}

/// The symbol of the launched kernel, for a message.
fn name(func: Func) -> &'static str {
    registry::find(func.0).map_or("a kernel", |kernel| kernel.name)
}

fn changed(launch: AskedLaunch, shape: &Shape) -> AskedLaunch {
    let dim = |given: Option<[u32; 3]>, own: Dim3| given.map_or(own, |[x, y, z]| Dim3 { x, y, z });
    AskedLaunch {
        grid: dim(shape.grid, launch.grid),
        block: dim(shape.block, launch.block),
        shared: shape.shared.map_or(launch.shared, |bytes| bytes as usize),
        ..launch
    }
}
