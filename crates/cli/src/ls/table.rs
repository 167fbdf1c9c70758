//! Rows as text: aligned columns, one header for each file.

use std::collections::BTreeMap;
use std::io::{self, Write};

use cushim_image::kernel::{Kernel, Stack};

use super::kernels::{Merged, stack};
use super::listing::{Listing, Row, Totals};
use crate::images::tool;
use cushim_names::Foreign as _;

/// Prints one file; `shown` files were printed above it.
pub fn print(
    out: &mut impl Write,
    listing: &Listing<'_>,
    kernels: bool,
    shown: usize,
    several: bool,
) -> io::Result<()> {
    if several {
        let blank = if shown > 0 { "\n" } else { "" };
        writeln!(out, "{blank}{}:", listing.path.shown())?;
    }
    if kernels {
        kernel_table(out, &listing.kernels)?;
    } else {
        image_table(out, &listing.rows)?;
    }
    totals(out, listing.totals, kernels)?;
    if !kernels {
        tools(out, &listing.rows)?;
    }
    Ok(())
}

/// The last line below several files.
pub fn grand_total(out: &mut impl Write, files: usize, sum: Totals) -> io::Result<()> {
    write!(out, "\n{files} files: ")?;
    totals(out, sum, sum.kernels > 0)
}

fn totals(out: &mut impl Write, sum: Totals, kernels: bool) -> io::Result<()> {
    if kernels {
        write!(out, "{} in ", plural(sum.kernels, "kernel"))?;
    }
    write!(out, "{}, {} packed", plural(sum.images, "image"), size(sum.packed))?;
    write!(out, ", {} unpacked", size(sum.unpacked))?;
    if sum.problems > 0 {
        write!(out, ", {}", plural(sum.problems, "problem"))?;
    }
    writeln!(out)
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `1.5 MiB`; bytes below one KiB.
fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

fn image_table(out: &mut impl Write, rows: &[Row<'_>]) -> io::Result<()> {
    let mut table =
        Table::new(&[">#", "KIND", "ARCH", ">PACKED", ">UNPACKED", "CODEC", "HASH", "WHERE"]);
    for row in rows {
        let image = &row.numbered.image;
        let (codec, shared) = image.packing();
        let packed = if shared { "shared".to_owned() } else { image.place.stored.to_string() };
        let mut place = format!("{:#x}", image.place.start);
        let trail = image.trail.to_string();
        if !trail.is_empty() {
            place = format!("{place} {trail}");
        }
        if let Some(identifier) = &image.identifier {
            place = format!("{place} from {identifier}");
        }
        table.row([
            row.numbered.number.to_string(),
            image.kind.to_string(),
            image.arch.to_string(),
            packed,
            image.place.unpacked.to_string(),
            codec.to_string(),
            row.hash.map_or("-".to_owned(), |hash| format!("{hash:016x}")),
            place,
        ]);
    }
    table.print(out)
}

/// Names a tool for further inspection, once for each kind.
fn tools(out: &mut impl Write, rows: &[Row<'_>]) -> io::Result<()> {
    let kinds: BTreeMap<String, &str> = rows
        .iter()
        .filter_map(|row| {
            Some((row.numbered.image.kind.to_string(), tool(row.numbered.image.kind)?))
        })
        .collect();
    if kinds.is_empty() {
        return Ok(());
    }
    let list: Vec<_> = kinds.iter().map(|(kind, tool)| format!("{kind}: {tool}")).collect();
    writeln!(out, "after `cushim extract`: {}", list.join(", "))
}

fn kernel_table(out: &mut impl Write, kernels: &[Merged]) -> io::Result<()> {
    let mut table =
        Table::new(&[">REGS", ">SHARED", ">STACK", ">PARAMS", ">THREADS", "ARCH", "KERNEL"]);
    for kernel in kernels {
        let mut targets: Vec<&str> = kernel.instances.iter().map(|i| i.target.as_str()).collect();
        // Units of one library repeat them.
        let mut seen = std::collections::HashSet::new();
        targets.retain(|target| seen.insert(*target));
        let threads = kernel.most(|k| {
            let shape = k.required_threads.or(k.max_threads)?;
            Some(shape.iter().map(|&n| u64::from(n)).product())
        });
        table.row([
            range(kernel, |k| k.registers.map(u64::from)),
            range(kernel, |k| k.shared.map(u64::from)),
            if kernel.instances.iter().any(|i| i.kernel.stack == Some(Stack::Unbounded)) {
                "open".to_owned()
            } else {
                range(kernel, stack)
            },
            range(kernel, |k| Some(k.params.size.into())),
            threads.map_or("-".to_owned(), |count| count.to_string()),
            targets.join(","),
            kernel.signature.clone(),
        ]);
    }
    table.print(out)
}

/// `24`, or `24-40` where images differ; `-` where none has a value.
fn range(kernel: &Merged, of: impl Fn(&Kernel) -> Option<u64>) -> String {
    let values = || kernel.instances.iter().filter_map(|instance| of(&instance.kernel));
    match (values().min(), values().max()) {
        (Some(least), Some(most)) if least != most => format!("{least}-{most}"),
        (Some(one), _) => one.to_string(),
        _ => "-".to_owned(),
    }
}

/// Columns as wide as their widest cell; a title with `>` is aligned to the right.
struct Table<const N: usize> {
    right: [bool; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    fn new(titles: &[&str; N]) -> Self {
        let right = titles.map(|title| title.starts_with('>'));
        Self { right, rows: vec![titles.map(|title| title.trim_start_matches('>').to_owned())] }
    }

    /// Cells hold foreign text; each is one line without escape sequences.
    fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| cell.shown().text().into_owned()));
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let mut widths = [0; N];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        for row in &self.rows {
            for (index, cell) in row.iter().enumerate() {
                let width = widths[index];
                match (index + 1 == N, self.right[index]) {
                    (true, _) => writeln!(out, "{cell}")?,
                    (false, true) => write!(out, "{cell:>width$}  ")?,
                    (false, false) => write!(out, "{cell:<width$}  ")?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(
            [0, 1023, 1024, 1536, 5 << 30].map(size),
            ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "5.0 GiB"]
        );
    }

    #[test]
    fn columns() {
        let mut table = Table::new(&[">N", "WHAT", "END"]);
        table.row(["100".into(), "a".into(), "x".into()]);
        table.row(["1".into(), "bcdef".into(), String::new()]);
        let mut out = Vec::new();
        table.print(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "  N  WHAT   END\n100  a      x\n  1  bcdef  \n");
    }
}
