//! Instances of function bodies in the code: their position, their registers, their return points.

use std::collections::HashMap;

/// An instruction of a function of the module.
pub(super) type Place = (u32, u32);

/// Where frames of an instance begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frame {
    Fixed(u32),
    /// At the register's value plus so many bytes.
    Moving(u32, u32),
}

impl Frame {
    pub(super) fn behind(self, size: u32) -> Frame {
        match self {
            Frame::Fixed(at) => Frame::Fixed(at + size),
            Frame::Moving(register, at) => Frame::Moving(register, at + size),
        }
    }
}

/// Where lanes go that return.
#[derive(Debug, Clone)]
pub(super) enum Back {
    /// They end.
    Exit,
    /// To a label.
    One(u32),
    /// To the one of these labels that the register selects; the label of the selection.
    Many { register: u32, sites: Vec<u32>, label: u32 },
}

/// A body of a function in the code.
#[derive(Debug, Clone)]
pub(super) struct Instance {
    pub(super) function: u32,
    /// Its registers in the code: the function's own first.
    pub(super) registers: (u32, u32),
    /// The cells of its variables.
    pub(super) cells: HashMap<(usize, u32), u32>,
    pub(super) frame: Frame,
    pub(super) back: Back,
    /// The labels of its instructions, one each.
    pub(super) label: u32,
}

/// A call that may return to the function that contains it.
pub(super) struct Circular {
    pub(super) instance: usize,
    /// The instructions before and after.
    pub(super) save: usize,
    pub(super) restore: usize,
}
