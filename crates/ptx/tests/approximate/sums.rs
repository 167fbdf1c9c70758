//! The output of `record.cu`, in the format described there: a title, the device, and for each form its name and sums.

use super::forms;

const TITLE: &str = "cushim: sums of approximate instructions, version 1";
/// Blocks of operands, in ascending order.
pub const BLOCKS: usize = 64;
/// Samples of operands, which follow the blocks.
pub const SAMPLES: usize = 32;
/// Operands of a sample.
pub const SAMPLE: usize = 4096;

pub struct Recording {
    /// Device, driver, date.
    pub device: String,
    sums: Vec<(String, Vec<u64>)>,
}

impl Recording {
    /// # Errors
    /// Text that says what is wrong with the file.
    pub fn read(text: &str) -> Result<Recording, String> {
        let mut lines = text.lines();
        if lines.next() != Some(TITLE) {
            return Err(format!("expected {TITLE:?}"));
        }
        let device = lines.next().ok_or("no device")?.to_owned();
        let mut sums = Vec::new();
        while let Some(name) = lines.next() {
            let mut list = Vec::new();
            for line in lines.by_ref().take((BLOCKS + SAMPLES) / 8) {
                for word in line.split(' ') {
                    let whole = word.len() == 16;
                    let v = u64::from_str_radix(word, 16).ok().filter(|_| whole);
                    list.push(v.ok_or_else(|| format!("{name}: {word:?} is no sum"))?);
                }
            }
            if list.len() != BLOCKS + SAMPLES {
                return Err(format!("{name}: {} sums", list.len()));
            }
            sums.push((name.to_owned(), list));
        }
        let recording = Recording { device, sums };
        match forms::all().iter().find(|f| !recording.has(f.name)) {
            Some(form) => Err(format!("no {}", form.name)),
            None => Ok(recording),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.sums.iter().any(|(n, _)| n == name)
    }

    /// The sums of a form.
    pub fn of(&self, name: &str) -> &[u64] {
        self.sums.iter().find(|(n, _)| n == name).map_or(&[], |(_, list)| list)
    }
}

/// The hash of an operand and a result.
pub fn mix(x: u32, result: u32) -> u64 {
    let h = (u64::from(x) << 32 | u64::from(result)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let h = (h ^ h >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h ^ h >> 32
}
