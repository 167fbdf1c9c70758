//! Names inside a function: nested scopes of registers, variables and labels.

use crate::types::Scalar;
use std::collections::HashMap;

/// The meaning of a name inside a function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Entity {
    /// A register; vectors take several numbers from this one on.
    Reg { first: u32, ty: Scalar, vector: u32 },
    /// A register of 128 bits: two of 64 bits from this number on, the low half first.
    Wide { first: u32 },
    /// A parameter or local variable in the function's local memory.
    Local { offset: u32, size: u32 },
    /// A parameter of a kernel.
    Param { offset: u32 },
    /// A shared, global or constant variable declared in the function.
    Symbol(crate::ir::Symbol),
    /// A label, by number.
    Label(u32),
    /// A list of branch targets, by number.
    Targets(u32),
    /// The shape of a call, by number.
    Prototype(u32),
}

#[derive(Default)]
struct Level<'a> {
    names: HashMap<&'a str, Entity>,
    /// `%r<10>`: prefix -> how many, the first number, the type.
    ranges: HashMap<&'a str, (u32, u32, Scalar)>,
}

/// The open scopes, innermost last.
#[derive(Default)]
pub(super) struct Scopes<'a> {
    levels: Vec<Level<'a>>,
}

impl<'a> Scopes<'a> {
    pub(super) fn push(&mut self) {
        self.levels.push(Level::default());
    }

    pub(super) fn pop(&mut self) {
        self.levels.pop();
    }

    /// Declares a name in the innermost scope; false if it is there already.
    pub(super) fn declare(&mut self, name: &'a str, entity: Entity) -> bool {
        let Some(level) = self.levels.last_mut() else { return false };
        level.names.insert(name, entity).is_none()
    }

    /// Declares `prefix0` to `prefix(count-1)`, of 128 bits as [`Entity::Wide`]; false if the prefix is there.
    pub(super) fn declare_range(
        &mut self,
        prefix: &'a str,
        count: u32,
        first: u32,
        ty: Scalar,
    ) -> bool {
        let Some(level) = self.levels.last_mut() else { return false };
        level.ranges.insert(prefix, (count, first, ty)).is_none()
    }

    /// The meaning of a name at module scope.
    pub(super) fn outermost(&self, name: &str) -> Option<Entity> {
        self.levels.first()?.get(name)
    }

    pub(super) fn get(&self, name: &str) -> Option<Entity> {
        self.levels.iter().rev().find_map(|l| l.get(name))
    }
}

impl Level<'_> {
    fn get(&self, name: &str) -> Option<Entity> {
        if let Some(e) = self.names.get(name) {
            return Some(*e);
        }
        if self.ranges.is_empty() {
            return None;
        }
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        // `%r12` is 12 of `%r<..>`, or 2 of `%r1<..>`; `%r012` is nothing.
        for split in name.len() - digits..name.len() {
            let (prefix, number) = name.split_at(split);
            let Some(&(count, first, ty)) = self.ranges.get(prefix) else { continue };
            if number.len() > 1 && number.starts_with('0') {
                continue;
            }
            if let Ok(n) = number.parse::<u32>()
                && n < count
            {
                return Some(match ty {
                    Scalar::B128 => Entity::Wide { first: first + 2 * n },
                    _ => Entity::Reg { first: first + n, ty, vector: 1 },
                });
            }
        }
        None
    }
}
