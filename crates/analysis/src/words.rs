//! Shapes and foreign strings as words.
//!
//! Must not know: events.

use cushim_names::Foreign as _;

/// A `dim3` as `<<<>>>` takes it: trailing ones are left out.
pub fn dim(shape: [u32; 3]) -> String {
    match shape {
        [x, 1, 1] => format!("{x}"),
        [x, y, 1] => format!("({x}, {y})"),
        [x, y, z] => format!("({x}, {y}, {z})"),
    }
}

/// Foreign text as [`Shown`](cushim_names::Shown) has it.
pub fn printable(text: &str) -> String {
    text.shown().text().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_and_escapes() {
        assert_eq!(dim([16, 1, 1]), "16");
        assert_eq!(dim([16, 4, 1]), "(16, 4)");
        assert_eq!(dim([1, 1, 2]), "(1, 1, 2)");
        assert_eq!(printable("a\x1b[31m\n"), "a\\u{1b}[31m\\n");
        assert_eq!(printable("é"), "é");
    }
}
