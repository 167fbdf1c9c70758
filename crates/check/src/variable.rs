//! The variable that a finding is about.
//!
//! Owns its description, and its name in messages. Must not know where variables are: the module does
//! ([`cushim_ptx::exec::Variable`]), and the table of allocations.

use cushim_names::{Name, elide};
use cushim_ptx::exec;
use cushim_ptx::types::Space;

use super::json::Object;

/// Columns of a name, at most.
const LONGEST: usize = 200;

/// A variable of a module, a block or a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// As the PTX calls it.
    pub symbol: String,
    /// `global`, `const`, `shared`, `local`; `dynamic shared` for what the launch asked for.
    pub space: &'static str,
    /// The offset of the access's first byte from the variable's first one: outside of it if that was the error.
    pub offset: i64,
    /// Bytes of the variable.
    pub bytes: u64,
}

impl Variable {
    /// One of the block's or the thread's own memory, for an access at `address`.
    pub fn own(of: &exec::Variable, address: u64) -> Variable {
        let space = match of.space {
            Space::Shared if of.dynamic => "dynamic shared",
            Space::Shared => "shared",
            _ => "local",
        };
        let offset = address.wrapping_sub(of.at) as i64;
        Variable { symbol: of.symbol.clone(), space, offset, bytes: of.bytes }
    }

    /// As JSON.
    pub fn json(&self) -> String {
        let name = Name::new(&self.symbol).full;
        let object = Object::new().text("name", &name).text("symbol", &self.symbol);
        let object = object.text("space", self.space).raw("offset", self.offset);
        object.raw("bytes", self.bytes).end()
    }
}

/// How an access of so many bytes at an address lies to a variable, in words.
pub fn near(of: &exec::Variable, access: (u64, u64)) -> String {
    of.near(&elide(&Name::new(&of.symbol).full, LONGEST, "..."), access)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        let symbol = "_ZZ1kvE4tile".to_owned();
        let of = exec::Variable { symbol, space: Space::Shared, dynamic: false, at: 16, bytes: 8 };
        let whole = "variable k()::tile of 8 bytes at 0x10";
        assert_eq!(near(&of, (20, 4)), format!("4 bytes into {whole}"));
        assert_eq!(near(&of, (24, 4)), format!("right after {whole}"));
        assert_eq!(near(&of, (12, 8)), format!("across a bound of {whole}"));
        let json = Variable::own(&of, 12).json();
        let expected = r#"{"name":"k()::tile","symbol":"_ZZ1kvE4tile","space":"shared","offset":-4,"bytes":8}"#;
        assert_eq!(json, expected);
    }
}
