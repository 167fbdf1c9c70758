//! The supported target GPUs.

/// A GPU's instruction set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    name: String,
    /// Lanes of a wave: 64 or 32.
    pub wave: u32,
}

impl Target {
    /// The target of an LLVM name: `gfx90a`, `gfx1030`, with features after colons (`gfx90a:xnack-`). `None` if the
    /// name is invalid.
    pub fn from_name(name: &str) -> Option<Target> {
        let processor = name.split(':').next().unwrap_or_default();
        let number = processor.strip_prefix("gfx")?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '+' | '-');
        let hex = number.bytes().all(|c| c.is_ascii_hexdigit());
        if !(3..=4).contains(&number.len()) || !hex || !name.chars().all(plain) {
            return None;
        }
        // gfx9 and before have waves of 64; later ones have both, and compilers take 32.
        let wave = if number.len() == 4 { 32 } else { 64 };
        Some(Target { name: name.to_owned(), wave })
    }

    /// The name with its features.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the processor alone.
    pub fn processor(&self) -> &str {
        self.name.split(':').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_processors() {
        assert_eq!(Target::from_name("gfx90a").map(|t| t.wave), Some(64));
        assert_eq!(Target::from_name("gfx1030").map(|t| t.wave), Some(32));
        let with = Target::from_name("gfx90a:sramecc+:xnack-").unwrap();
        assert_eq!((with.processor(), with.name()), ("gfx90a", "gfx90a:sramecc+:xnack-"));
        for wrong in ["", "sm_80", "gfx", "gfx9", "gfx90a;rm", "gfx90z", "../gfx90a"] {
            assert_eq!(Target::from_name(wrong), None, "{wrong}");
        }
    }
}
