//! Tables as CSV (RFC 4180): a line of names, CRLF, quotes where a field needs them.
//!
//! Must not know: what a table is about.

use std::io::{self, Write};

use super::tables::Table;

/// One field. What a spreadsheet would take for a formula is quoted like any other text: the value is
/// kept as it is, since programs read it too.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\r', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// Writes one line.
pub fn line<S: AsRef<str>>(out: &mut dyn Write, fields: impl Iterator<Item = S>) -> io::Result<()> {
    let fields: Vec<String> = fields.map(|text| field(text.as_ref())).collect();
    write!(out, "{}\r\n", fields.join(","))
}

/// Writes a table.
pub fn write(out: &mut dyn Write, table: &Table, top: Option<usize>) -> io::Result<()> {
    line(out, table.columns.iter().map(|(_, name)| name))?;
    for row in table.rows.iter().take(top.unwrap_or(usize::MAX)) {
        line(out, row.iter().map(|cell| cell.plain()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn quoting() {
        for (text, expected) in
            [("a", "a"), ("", ""), ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\""), ("a\nb", "\"a\nb\"")]
        {
            assert_eq!(super::field(text), expected);
        }
    }
}
