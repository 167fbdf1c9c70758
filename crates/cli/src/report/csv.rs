//! Tables as CSV (RFC 4180): a line of names, CRLF, quotes where a field needs them.
//!
//! Must not know: what a table is about.

use std::io::{self, Write};

use super::tables::Table;

/// One field. A spreadsheet takes text that begins with `=`, `+`, `-`, `@`, a tab or a carriage
/// return for a formula and computes it, and names come from foreign programs: an apostrophe in
/// front makes it text. Numbers are unchanged.
fn field(text: &str) -> String {
    let formula =
        text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    let mark = if formula { "'" } else { "" };
    match text.contains([',', '"', '\r', '\n', '\t']) {
        true => format!("\"{mark}{}\"", text.replace('"', "\"\"")),
        false => format!("{mark}{text}"),
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

    #[test]
    fn formulas_are_text() {
        for (text, expected) in [
            ("=1+1", "'=1+1"),
            ("=HYPERLINK(\"x\",1)", "\"'=HYPERLINK(\"\"x\"\",1)\""),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("+k", "'+k"),
            ("-k", "'-k"),
            ("\t=1", "\"'\t=1\""),
            ("\r=1", "\"'\r=1\""),
            ("-12", "-12"),
            ("-0.5", "-0.5"),
            ("+3", "+3"),
            ("a=b", "a=b"),
        ] {
            assert_eq!(super::field(text), expected);
        }
    }
}
