//! The representation of a register in the code: one value, a value and steps, or vectors.

use crate::simt::plan::shape::{Class, Shape};
use cranelift_codegen::ir::{Type, Value, types};
use std::rc::Rc;

/// A register's value in the code.
#[derive(Debug, Clone)]
pub(super) enum Val {
    /// Uniform (a predicate: 0 or all ones), linear or extended.
    Known(Shape<Value>),
    /// 8 vectors of 4 (narrow), or 16 of 2 (wide).
    Lanes(Rc<[Value]>),
    /// A predicate: a bit per lane, or 8 vectors of 4 masks, or both.
    Mask { bits: Option<Value>, lanes: Option<Rc<[Value]>> },
}

impl Val {
    pub(super) fn uniform(&self) -> Option<Value> {
        match self {
            Val::Known(Shape::Uniform(v)) => Some(*v),
            _ => None,
        }
    }

    pub(super) fn shape(&self) -> Shape<Value> {
        match self {
            Val::Known(f) => f.clone(),
            _ => Shape::Varying,
        }
    }
}

pub(super) fn scalar(class: Class) -> Type {
    if class == Class::Wide { types::I64 } else { types::I32 }
}

pub(super) fn vector(class: Class) -> Type {
    if class == Class::Wide { types::I64X2 } else { types::I32X4 }
}

pub(super) fn chunks(class: Class) -> usize {
    if class == Class::Wide { 16 } else { 8 }
}
