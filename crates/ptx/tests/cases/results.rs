//! A GPU's results for the cases, as recorded by `scripts/record-instructions`, which
//! describes the format.

use super::kernels::ROWS;
use flate2::read::ZlibDecoder;
use std::collections::HashMap;
use std::io::Read;

const TITLE: &str = "cushim: results of instructions, version 1";

/// Results by the keys of forms ([`super::kernels::Case::key`]).
pub struct Results {
    /// Device and driver.
    pub device: String,
    columns: HashMap<u64, Vec<Vec<u64>>>,
}

/// The recorded results of single instructions in this folder.
pub fn kept() -> Results {
    read(include_bytes!("results.bin")).unwrap_or_else(|e| panic!("results.bin: {e}"))
}

/// The recorded results of sequences.
pub fn of_sequences() -> Results {
    let packed = include_bytes!("sequences/results.bin");
    read(packed).unwrap_or_else(|e| panic!("sequences/results.bin: {e}"))
}

/// The recorded results of matrix products.
pub fn of_matrices() -> Results {
    read(include_bytes!("matrices.bin")).unwrap_or_else(|e| panic!("matrices.bin: {e}"))
}

impl Results {
    /// A column of [`ROWS`] values for each result of a form; `None` if the form
    /// with these inputs was not recorded.
    pub fn get(&self, key: u64) -> Option<&[Vec<u64>]> {
        self.columns.get(&key).map(Vec::as_slice)
    }

    /// The number of forms.
    pub fn len(&self) -> usize {
        self.columns.len()
    }
}

/// Bytes of a column, and of one value in it.
fn size(width: u8) -> Result<(usize, usize), String> {
    match width {
        b'p' => Ok((ROWS / 8, 0)),
        b'2' | b'4' | b'8' => Ok((ROWS * usize::from(width - b'0'), (width - b'0').into())),
        other => Err(format!("width {:?}, expected p, 2, 4 or 8", char::from(other))),
    }
}

fn column(data: &[u8], bytes: usize) -> Vec<u64> {
    let bit = |row: usize| u64::from(data[row / 8] >> (row % 8) & 1);
    let byte = |row: usize, k: usize| u64::from(data[k * ROWS + row]) << (8 * k);
    (0..ROWS)
        .map(|row| if bytes == 0 { bit(row) } else { (0..bytes).map(|k| byte(row, k)).sum() })
        .collect()
}

/// Reads a file of results.
///
/// # Errors
/// Text that says what is wrong with the file.
pub fn read(packed: &[u8]) -> Result<Results, String> {
    let mut data = Vec::new();
    ZlibDecoder::new(packed).read_to_end(&mut data).map_err(|e| e.to_string())?;
    let end = data.windows(3).position(|w| w == b"\n.\n").ok_or("no line `.`")?;
    let text = std::str::from_utf8(&data[..end]).map_err(|e| e.to_string())?;
    let mut body = &data[end + 3..];
    let mut lines = text.lines();
    let title = lines.next().unwrap_or_default();
    if title != TITLE {
        return Err(format!("begins with {title:?}, expected {TITLE:?}"));
    }
    let device = lines.next().unwrap_or_default().to_string();
    let mut columns: HashMap<u64, Vec<Vec<u64>>> = HashMap::new();
    // The number of columns of this kernel so far, by width.
    let mut before: HashMap<u8, Vec<Vec<u64>>> = HashMap::new();
    for line in lines {
        if line == "kernel" {
            before.clear();
            continue;
        }
        let bad = |what: &str| format!("line {line:?}: {what}");
        let mut words = line.split(' ');
        let key = words.next().and_then(|w| u64::from_str_radix(w, 16).ok());
        let key = key.ok_or_else(|| bad("expected a key"))?;
        let widths = words.next().ok_or_else(|| bad("expected widths"))?;
        let mut list = Vec::new();
        for width in widths.bytes() {
            let n: usize = words
                .next()
                .and_then(|w| w.parse().ok())
                .ok_or_else(|| bad("expected a number for each width"))?;
            let (bytes, each) = size(width)?;
            let (now, rest) = body.split_at_checked(bytes).ok_or_else(|| bad("no data"))?;
            body = rest;
            let mut values = column(now, each);
            let before = before.entry(width).or_default();
            if n != 0 {
                let other = before.len().checked_sub(n).ok_or_else(|| bad("no such column"))?;
                values.iter_mut().zip(&before[other]).for_each(|(v, w)| *v ^= w);
            }
            before.push(values.clone());
            list.push(values);
        }
        columns.insert(key, list);
    }
    if body.is_empty() {
        Ok(Results { device, columns })
    } else {
        Err(format!("{} bytes after the last result", body.len()))
    }
}
