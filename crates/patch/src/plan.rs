//! The bytes to write into a program's code.
//!
//! Owns: the checks that each jump fits and overlaps nothing. Must not know: memory.

use crate::error::Error;
use crate::file::File;
use crate::jump::JUMP;
use crate::runtime::Runtime;

/// One entry and where it is to lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch<'d> {
    /// The function's name.
    pub name: &'d [u8],
    /// Its entry address, as the file has it.
    pub address: u64,
    /// The target, in memory.
    pub target: u64,
    /// What the file holds there; memory must hold the same before it is overwritten.
    pub before: &'d [u8],
}

/// Everything that is to be written into one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan<'d> {
    /// The entries, by address; there is at least one.
    pub patches: Vec<Patch<'d>>,
    /// PF_R, PF_W and PF_X of the code.
    pub flags: u32,
    /// The address range that is written, as the file has it.
    pub span: (u64, u64),
}

impl<'d> Plan<'d> {
    /// Redirects each function of `runtime` to the address that `target` gives for it. Others are
    /// not part of the runtime's interface.
    pub fn new(
        object: &File<'d>,
        runtime: &Runtime<'d>,
        node: &'static str,
        target: impl Fn(&[u8]) -> Option<u64>,
    ) -> Result<Self, Error> {
        let wanted = |name: &&&[u8]| target(name).is_some();
        if let Some(name) = runtime.unknown.iter().find(wanted) {
            let count = runtime.unknown.iter().filter(wanted).count();
            return Err(Error::Unknown { name: String::from_utf8_lossy(name).into_owned(), count });
        }
        let mut patches: Vec<Patch<'d>> = Vec::with_capacity(runtime.functions.len());
        let (mut rights, mut end) = (None, 0);
        for function in &runtime.functions {
            let Some(target) = target(function.name) else { continue };
            let name = || String::from_utf8_lossy(function.name).into_owned();
            if let Some(last) = patches.last().filter(|last| last.address == function.address) {
                let one = String::from_utf8_lossy(last.name).into_owned();
                return Err(Error::SharedEntry { one, other: name() });
            }
            if function.room < JUMP as u64 {
                return Err(Error::NoRoom { name: name(), room: function.room });
            }
            let code = object.code(function.address, JUMP as u64);
            let (before, flags) = code.ok_or_else(|| Error::NotCode { name: name() })?;
            if *rights.get_or_insert(flags) != flags {
                return Err(Error::NotCode { name: name() });
            }
            end = function.address + JUMP as u64;
            patches.push(Patch { name: function.name, address: function.address, target, before });
        }
        match (patches.first(), rights) {
            (Some(first), Some(flags)) => {
                let span = (first.address, end);
                Ok(Plan { patches, flags, span })
            }
            _ => Err(Error::NoTarget { node }),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::jump::jump;

    #[test]
    fn a_jump() {
        let code = jump(0x1122_3344_5566_7788);
        assert_eq!(code[..6], [0xff, 0x25, 0, 0, 0, 0]);
        assert_eq!(code[6..], [0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]);
    }
}
