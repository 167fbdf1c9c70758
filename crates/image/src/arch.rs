//! The architecture that an image is compiled for.

use std::fmt;

/// A device architecture as its vendor names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arch {
    /// NVIDIA: the decimal SM number and the variant.
    Sm(u32, SmVariant),
    /// Any other, or one that is only known by its text (`gfx90a:xnack+`).
    Named(String),
    /// The container says nothing.
    Unknown,
}

/// NVIDIA's architecture suffixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SmVariant {
    /// `sm_90`: runs on later minor versions, too.
    Plain,
    /// `sm_90a`: this architecture only.
    Specific,
    /// `sm_100f`: this family.
    Family,
}

impl fmt::Display for Arch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sm(number, SmVariant::Plain) => write!(out, "sm_{number}"),
            Self::Sm(number, SmVariant::Specific) => write!(out, "sm_{number}a"),
            Self::Sm(number, SmVariant::Family) => write!(out, "sm_{number}f"),
            Self::Named(name) => out.write_str(name),
            Self::Unknown => out.write_str("-"),
        }
    }
}

impl Arch {
    /// Reads `sm_90a`, `compute_80`; everything else becomes [`Arch::Named`].
    pub fn parse(text: &str) -> Self {
        let digits = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_"));
        let Some(digits) = digits else { return Self::Named(text.to_owned()) };
        let (digits, variant) = match digits.as_bytes().last() {
            Some(b'a') => (&digits[..digits.len() - 1], SmVariant::Specific),
            Some(b'f') => (&digits[..digits.len() - 1], SmVariant::Family),
            _ => (digits, SmVariant::Plain),
        };
        match digits.parse() {
            Ok(number) => Self::Sm(number, variant),
            Err(_) => Self::Named(text.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_round() {
        for name in ["sm_52", "sm_90a", "sm_100f", "gfx90a:xnack+", "sm_", "sm_x"] {
            assert_eq!(Arch::parse(name).to_string(), name);
        }
        assert_eq!(Arch::parse("compute_80"), Arch::Sm(80, SmVariant::Plain));
    }
}
