//! Arguments and results of calls that can be registers.
//!
//! Both sides of a call write and read a variable of space `.param` almost always in pieces that do not overlap. Owns
//! finding those pieces: cells. A variable that is used in any other way stays in local memory. Must not know how
//! calls are lowered.

use cushim_ptx::ir::{Base, Function, Place, Src, Symbol};
use cushim_ptx::sem::{Access, Operation};
use cushim_ptx::work;
use std::collections::{BTreeMap, HashMap};

/// Variables of a function for arguments and results, its own and those of its calls.
#[derive(Debug, Clone, Default)]
pub(super) struct Cells {
    pub(super) variables: Vec<Variable>,
    /// The variables that begin at an offset of the frame, by the start of their scopes.
    by_place: HashMap<u32, Vec<usize>>,
}

#[derive(Debug, Clone)]
pub(super) struct Variable {
    pub(super) offset: u32,
    pub(super) size: u32,
    /// The first instruction that may name it, and the one after the last.
    pub(super) scope: (u32, u32),
    /// Width in bytes of each cell, by its offset in the variable; `None` if it stays in memory.
    pub(super) cells: Option<BTreeMap<u32, u32>>,
}

impl Variable {
    /// The cell at exactly this offset; `Err` if it overlaps others.
    pub(super) fn cell(&self, at: u32, width: u32) -> Result<Option<u32>, ()> {
        let Some(cells) = &self.cells else { return Err(()) };
        let mut found = cells.range(..at + width).rev().take_while(|(o, w)| **o + **w > at);
        match (found.next(), found.next()) {
            (None, _) => Ok(None),
            (Some((o, w)), None) if *o == at && *w == width => Ok(Some(at)),
            _ => Err(()),
        }
    }
}

impl Cells {
    /// The variables of a function, by how its code uses them.
    pub(super) fn of(f: &Function) -> Cells {
        let mut variables = Vec::new();
        let whole = (0, u32::MAX);
        let mut add = |offset, size, scope| {
            variables.push(Variable { offset, size, scope, cells: Some(BTreeMap::new()) });
        };
        if !f.entry {
            for p in f.returns.iter().chain(&f.params) {
                if let Place::Memory(offset) = p.place {
                    add(offset, p.size, whole);
                }
            }
        }
        f.variables.iter().for_each(|v| add(v.offset, v.size, v.scope));
        let mut cells = Cells::with(variables);
        for (at, inst) in f.code.iter().enumerate() {
            for (n, src) in inst.src.iter().enumerate() {
                match src {
                    Src::Memory(Base::Symbol(Symbol::Local(o)), offset) => {
                        let access = match &inst.sem {
                            Operation::Load(a) | Operation::Store(a) if n == 0 => Some(parts(a)),
                            _ => None,
                        };
                        cells.note(at, *o, *offset, access);
                    }
                    Src::Address(Symbol::Local(o), _) => cells.note(at, *o, 0, None),
                    _ => {}
                }
            }
        }
        cells
    }

    /// For known variables.
    pub(super) fn with(variables: Vec<Variable>) -> Cells {
        let mut by_place: HashMap<u32, Vec<usize>> = HashMap::new();
        for (n, v) in variables.iter().enumerate() {
            by_place.entry(v.offset).or_default().push(n);
        }
        for list in by_place.values_mut() {
            list.sort_by_key(|n| variables[*n].scope.0);
        }
        Cells { variables, by_place }
    }

    /// The variable that an instruction names by an offset in the frame.
    pub(super) fn find(&self, at: usize, offset: u32) -> Option<usize> {
        let at = at as u32;
        let open = |v: &Variable| v.scope.0 <= at && at < v.scope.1;
        // Mostly the start is named, and consecutive scopes use the same offsets.
        if let Some(list) = self.by_place.get(&offset) {
            let begun = list.partition_point(|n| self.variables[*n].scope.0 <= at);
            if let Some(n) = list[..begun].last().filter(|n| open(&self.variables[**n])) {
                return Some(*n);
            }
        }
        work::step(self.variables.len());
        self.variables.iter().position(|v| {
            let there = offset == v.offset || offset > v.offset && offset - v.offset < v.size;
            there && open(v)
        })
    }

    /// Records an access of so many bytes, or any other use of a variable.
    fn note(&mut self, at: usize, symbol: u32, offset: i64, access: Option<(u32, u32)>) {
        let Some(n) = self.find(at, symbol) else { return };
        let v = &mut self.variables[n];
        let from = i64::from(symbol - v.offset) + offset;
        let Some((width, count)) = access else { return v.cells = None };
        let inside = from >= 0 && from + i64::from(width * count) <= i64::from(v.size);
        // A misaligned access is a fault.
        let aligned = (i64::from(v.offset) + from) % i64::from(width * count) == 0;
        if !inside || !aligned || width > 8 {
            return v.cells = None;
        }
        for k in 0..count {
            let place = from as u32 + k * width;
            match v.cell(place, width) {
                Ok(Some(_)) => {}
                Ok(None) => {
                    if let Some(cells) = &mut v.cells {
                        cells.insert(place, width);
                    }
                }
                Err(()) => return v.cells = None,
            }
        }
    }
}

/// Bytes of each part of a load or store, and how many parts.
pub(super) fn parts(access: &Access) -> (u32, u32) {
    (access.element.bytes(), access.parts.into())
}
