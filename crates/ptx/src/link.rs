//! Links several checked modules into one (`nvcc -rdc`, `cuLinkAddData`).
//!
//! Owns the resolution of names with several declarations: names of internal linkage stay separate; for others the
//! strong definition wins, else the first weak one, else the first declaration. A name without a definition stays
//! declared, because the loader knows further names. Must not know where texts came from.

use crate::ast::Linkage;
use crate::error::{Error, Pos};
use crate::ir::{Base, Callee, Function, Global, Module, Src, Symbol};
use crate::source::Sources;
use std::collections::HashMap;

/// How much a declaration counts among those of one name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Declared,
    Common,
    Weak,
    Strong,
}

impl Strength {
    fn of(linkage: Linkage, defined: bool) -> Strength {
        match linkage {
            _ if !defined => Strength::Declared,
            Linkage::Extern => Strength::Declared,
            Linkage::Common => Strength::Common,
            Linkage::Weak => Strength::Weak,
            Linkage::Internal | Linkage::Visible => Strength::Strong,
        }
    }
}

/// Items of one kind, each with the module it came from, and their names.
struct Joined<T> {
    list: Vec<(T, usize)>,
    names: HashMap<String, (usize, Strength)>,
}

impl<T> Joined<T> {
    fn new() -> Self {
        Joined { list: Vec::new(), names: HashMap::new() }
    }

    /// Takes in one; gives its number. `None` where the name is defined already.
    fn add(&mut self, item: T, part: usize, name: &str, outside: bool, s: Strength) -> Option<u32> {
        let next = self.list.len();
        let at = match self.names.get_mut(name).filter(|_| outside) {
            None => {
                if outside {
                    self.names.insert(name.into(), (next, s));
                }
                self.list.push((item, part));
                next
            }
            Some((_, old)) if *old == Strength::Strong && s == Strength::Strong => return None,
            Some((at, old)) => {
                if s > *old {
                    *old = s;
                    if let Some(place) = self.list.get_mut(*at) {
                        *place = (item, part);
                    }
                }
                *at
            }
        };
        Some(at as u32)
    }
}

/// The new numbers of one module's functions, globals and shared variables, and by how many lines its positions
/// move.
#[derive(Default)]
struct Numbers {
    lines: u32,
    functions: Vec<u32>,
    globals: Vec<u32>,
    shared: u32,
}

/// Joins modules into one, in order.
///
/// # Errors
/// [`Error::Defined`] where two modules define a name that both let others see.
pub fn link(modules: Vec<Module>) -> Result<Module, Error> {
    let version = modules.iter().map(|m| m.version).max().unwrap_or((0, 0));
    let sm = modules.iter().map(|m| m.sm).max().unwrap_or(0);
    let (mut globals, mut functions) = (Joined::<Global>::new(), Joined::<Function>::new());
    let mut shared = Vec::new();
    let mut sources = Sources::default();
    let mut numbers = Vec::with_capacity(modules.len());
    for (part, module) in modules.into_iter().enumerate() {
        let mut n = Numbers {
            functions: Vec::with_capacity(module.functions.len()),
            globals: Vec::with_capacity(module.globals.len()),
            shared: shared.len() as u32,
            lines: sources.offset(),
        };
        shared.extend(module.shared);
        sources.append(&module.sources);
        for g in module.globals {
            let (name, outside) = (g.name.clone(), g.linkage != Linkage::Internal);
            let s = Strength::of(g.linkage, true);
            let at = globals.add(g, part, &name, outside, s);
            n.globals.push(at.ok_or(Error::Defined { pos: Pos::default(), name })?);
        }
        for f in module.functions {
            let (name, pos) = (f.name.clone(), f.pos);
            // A declaration without linkage is one of a function defined elsewhere too.
            let outside = f.linkage != Linkage::Internal || !f.defined;
            let s = Strength::of(f.linkage, f.defined);
            let at = functions.add(f, part, &name, outside, s);
            n.functions.push(at.ok_or(Error::Defined { pos, name })?);
        }
        numbers.push(n);
    }
    // A module without numbers was not merged.
    let own = Numbers::default();
    let of = |part: usize| numbers.get(part).unwrap_or(&own);
    Ok(Module {
        version,
        sm,
        globals: globals.list.into_iter().map(|(g, part)| of(part).global(g)).collect(),
        shared,
        functions: functions.list.into_iter().map(|(f, p)| of(p).function(f)).collect(),
        sources,
    })
}

/// The new number of the one that had this.
fn new(numbers: &[u32], old: u32) -> u32 {
    numbers.get(old as usize).copied().unwrap_or(u32::MAX)
}

impl Numbers {
    fn symbol(&self, symbol: Symbol) -> Symbol {
        match symbol {
            Symbol::Global(n) => Symbol::Global(new(&self.globals, n)),
            Symbol::Shared(n) => Symbol::Shared(n + self.shared),
            Symbol::Function(n) => Symbol::Function(new(&self.functions, n)),
            Symbol::Local(_) | Symbol::Param(_) => symbol,
        }
    }

    fn global(&self, mut g: Global) -> Global {
        for r in &mut g.relocations {
            r.target = self.symbol(r.target);
        }
        g
    }

    fn function(&self, mut f: Function) -> Function {
        let places = f.code.iter_mut().map(|i| &mut i.pos);
        let places = places.chain(f.refusals.iter_mut().map(|r| &mut r.pos));
        places.chain([&mut f.pos]).for_each(|pos| pos.line = pos.line.saturating_add(self.lines));
        for src in f.code.iter_mut().flat_map(|i| &mut i.src) {
            match src {
                Src::Address(s, _) | Src::Memory(Base::Symbol(s), _) => *s = self.symbol(*s),
                Src::Call(call) => {
                    if let Callee::Direct(n) = &mut call.callee {
                        *n = new(&self.functions, *n);
                    }
                }
                _ => {}
            }
        }
        f.shared_used.iter_mut().for_each(|n| *n += self.shared);
        f.callees.iter_mut().for_each(|n| *n = new(&self.functions, *n));
        f
    }
}
