//! The bodies of the fuzz targets for `cushim-names`, one function for each target.
//!
//! A function panics only if the code under test breaks a promise.

use cushim_names::{Name, Type, Value, distinct, elide};

/// A symbol, and every operation on the names of a kernel.
pub fn symbol(data: &[u8]) {
    let symbol = String::from_utf8_lossy(data);
    let name = Name::new(&symbol);
    assert_eq!(name.mangled, symbol);
    for kind in name.parameters.iter().flatten() {
        let _ = Value::read(Some(Type::of(kind)), data).text("…");
    }
    for width in [0, 1, 3, 20, 80] {
        let short = elide(&name.short, width, "...");
        assert!(short.chars().count() <= width.max(3));
    }
    // Half of it is another symbol; both have different labels.
    let half =
        Name::new(symbol.chars().take(symbol.chars().count() / 2).collect::<String>().as_str());
    if half.mangled != name.mangled {
        let labels = distinct(&[&name, &half]);
        assert_ne!(labels[0], labels[1]);
    }
}

/// A type as C++ writes it, a zero byte, and the bytes of a value.
pub fn value(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let kind = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let bytes = parts.next().unwrap_or_default();
    for kind in [Some(Type::of(&kind)), None] {
        let value = Value::read(kind, bytes);
        assert!(!value.text("…").is_empty());
        assert_eq!(value.text("x"), Value::read(kind, bytes).text("x"));
    }
}
