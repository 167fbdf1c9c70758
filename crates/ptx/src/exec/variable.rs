//! Finds the variable at an address in shared or local memory.
//!
//! Owns the search by the variables' offsets: in shared memory as [`shared_layout`] has them; in local memory in the
//! frames of a kernel and of the functions that it calls, where each function has the same offset on every call path.
//! Must not know who asks.

use std::collections::BTreeMap;

use super::layout::{shared_layout, shared_used};
use crate::ir::Module;
use crate::types::Space;

/// A variable in a block's shared memory, or in a thread's local memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// As the PTX calls it.
    pub symbol: String,
    /// `Shared` or `Local`.
    pub space: Space,
    /// It is the dynamic shared memory of the launch.
    pub dynamic: bool,
    /// Its address in that space.
    pub at: u64,
    /// In bytes.
    pub bytes: u64,
}

impl Variable {
    /// The position of an access of so many bytes relative to it, in words; `name` is its name in the message.
    pub fn near(&self, name: &str, access: (u64, u64)) -> String {
        let what = if self.dynamic { "dynamic shared memory" } else { "variable" };
        let whole = format!("{what} {name} of {} bytes at {:#x}", self.bytes, self.at);
        beside(access, (self.at, self.bytes), &whole)
    }

    /// The variable that an access of `bytes` bytes at `address` touches, else the nearest one; `None` if there is
    /// none, or several may be there. `function` contains the instruction, `dynamic` is the launch's dynamic shared
    /// memory.
    pub fn nearest(
        module: &Module,
        (kernel, function): (u32, u32),
        dynamic: u32,
        space: Space,
        (address, bytes): (u64, u64),
    ) -> Option<Variable> {
        let all = match space {
            Space::Shared => shared(module, kernel, dynamic),
            Space::Local => local(module, kernel, function),
            _ => return None,
        };
        let end = address.saturating_add(bytes);
        let distance = |v: &Variable| match v.at.saturating_add(v.bytes) {
            last if address >= last => address - last + 1,
            _ if end <= v.at => v.at - end + 1,
            _ => 0,
        };
        let least = all.iter().map(distance).min()?;
        let mut near = all.iter().filter(|v| distance(v) == least);
        match (near.next(), near.next()) {
            (Some(one), None) => Some(one.clone()),
            // Exactly between two, the first one is named.
            (Some(one), Some(_)) if least > 0 => Some(one.clone()),
            _ => None,
        }
    }
}

/// The position of bytes (address and number) relative to an object (the same), as the words before the object's
/// name.
pub fn beside((address, bytes): (u64, u64), (at, size): (u64, u64), whole: &str) -> String {
    let (end, last) = (address.saturating_add(bytes), at.saturating_add(size));
    match (address.checked_sub(last), at.checked_sub(end)) {
        _ if address >= at && end <= last => format!("{} bytes into {whole}", address - at),
        (Some(0), _) => format!("right after {whole}"),
        (Some(gap), _) => format!("{gap} bytes after {whole}"),
        (_, Some(0)) => format!("right before {whole}"),
        (_, Some(gap)) => format!("{gap} bytes before {whole}"),
        _ => format!("across a bound of {whole}"),
    }
}

/// The variables of a block. All names of the dynamic shared memory have the same address, so one represents all.
fn shared(module: &Module, kernel: u32, dynamic: u32) -> Vec<Variable> {
    let (offsets, _) = shared_layout(module, kernel);
    let mut named = false;
    let used = shared_used(module, kernel).into_iter().filter_map(|n| {
        let (v, at) = (module.shared.get(n as usize)?, offsets.get(n as usize)?);
        if v.dynamic && std::mem::replace(&mut named, true) {
            return None;
        }
        let bytes = if v.dynamic { u64::from(dynamic) } else { v.size };
        let (symbol, dynamic) = (v.name.clone(), v.dynamic);
        Some(Variable { symbol, space: Space::Shared, dynamic, at: u64::from(*at), bytes })
    });
    let mut all: Vec<Variable> = used.collect();
    all.sort_by_key(|v| v.at);
    all
}

/// The variables of all functions that may be active while `function` runs: the kernel's, and those on call paths to
/// it.
fn local(module: &Module, kernel: u32, function: u32) -> Vec<Variable> {
    let mut bases = bases(module, kernel);
    // A function that is called through a pointer may have its frame anywhere after the caller's.
    let pointers = |f: &u32| module.functions.get(*f as usize).is_some_and(|f| f.calls_indirectly);
    if module.reachable(kernel).iter().any(pointers) {
        bases.retain(|f, _| *f == kernel);
    }
    let active = |f: &u32| *f == function || module.reachable(*f).contains(&function);
    let mut all = Vec::new();
    for (f, base) in bases.iter().filter(|(f, _)| active(f)) {
        let (Some(base), Some(f)) = (base, module.functions.get(*f as usize)) else { continue };
        all.extend(f.locals.iter().map(|v| Variable {
            symbol: v.name.clone(),
            space: Space::Local,
            dynamic: false,
            at: base + u64::from(v.offset),
            bytes: v.size.into(),
        }));
    }
    all.sort_by_key(|v| v.at);
    all
}

/// Where the frame of each function that `kernel` calls by name lies, if it is the same in all ways: a frame begins where the
/// caller's ends.
fn bases(module: &Module, kernel: u32) -> BTreeMap<u32, Option<u64>> {
    let mut bases = BTreeMap::from([(kernel, Some(0))]);
    let mut rest = vec![kernel];
    while let Some(f) = rest.pop() {
        let (Some(caller), Some(base)) = (module.functions.get(f as usize), bases.get(&f)) else {
            continue;
        };
        let next = base.map(|base: u64| base + u64::from(caller.local_size));
        for callee in &caller.callees {
            let known = bases.get(callee).copied();
            // A second, different offset makes it unknown, and those of its callees. An offset changes at most twice.
            let now = if known.is_none_or(|known| known == next) { next } else { None };
            if known != Some(now) {
                bases.insert(*callee, now);
                rest.push(*callee);
            }
        }
    }
    bases
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const TEXT: &str = ".version 8.0\n.target sm_80\n.address_size 64
.extern .shared .align 4 .b8 room[];
.shared .align 4 .b8 _ZZ1kvE4tile[40];
.func leaf() { .local .align 4 .b8 deep[8]; .reg .u32 %r; ld.local.u32 %r, [deep]; ret; }
.func twice() { .local .align 4 .b8 other[8]; .reg .u32 %r; ld.local.u32 %r, [other]; call leaf; ret; }
.entry k() {
  .local .align 4 .b8 depot[16]; .reg .u32 %r;
  ld.shared.u32 %r, [_ZZ1kvE4tile]; ld.shared.u32 %r, [room];
  st.local.u32 [depot], %r; call twice; ret; }
.entry both() {
  .local .align 4 .b8 depot[16]; .reg .u32 %r; st.local.u32 [depot], %r;
  call leaf; call twice; ret; }";

    fn module() -> Module {
        crate::check(&crate::parse(TEXT).unwrap()).unwrap()
    }

    fn at(kernel: &str, function: &str, space: Space, address: u64) -> Option<(String, u64, u64)> {
        let module = module();
        let number = |name: &str| module.function(name).unwrap_or(u32::MAX);
        let of = (number(kernel), number(function));
        let found = Variable::nearest(&module, of, 64, space, (address, 4))?;
        Some((found.symbol, found.at, found.bytes))
    }

    fn named(name: &str, at: u64, bytes: u64) -> Option<(String, u64, u64)> {
        Some((name.to_owned(), at, bytes))
    }

    #[test]
    fn shared_variables_are_found_by_address() {
        let shared = |address| at("k", "k", Space::Shared, address);
        assert_eq!(shared(0), named("_ZZ1kvE4tile", 0, 40));
        assert_eq!(shared(36), named("_ZZ1kvE4tile", 0, 40));
        assert_eq!(shared(48), named("room", 48, 64));
        assert_eq!(shared(112), named("room", 48, 64), "behind it");
        assert_eq!(at("both", "both", Space::Shared, 0), None, "it has none");
    }

    #[test]
    fn local_variables_are_found_in_frames() {
        let local = |function, address| at("k", function, Space::Local, address);
        assert_eq!(local("k", 4), named("depot", 0, 16));
        assert_eq!(local("k", 1 << 20), named("depot", 0, 16), "far behind it");
        assert_eq!(local("twice", 4), named("depot", 0, 16), "by a pointer");
        assert_eq!(local("twice", 64), named("other", 64, 8));
        assert_eq!(local("leaf", 132), named("deep", 128, 8));
        // Called in two ways, its variable has two addresses.
        assert_eq!(at("both", "leaf", Space::Local, 0), named("depot", 0, 16));
        assert_eq!(at("both", "leaf", Space::Local, 68), named("other", 64, 8));
    }
}
