//! Repeated strings, each with a number.
//!
//! Owns: one copy of each, so that a row does not copy its names. Must not know: columns.

use cushim_analysis::fast::Map;
use cushim_analysis::known::Known;

/// Appends `0x7f3a00000000`.
pub fn hexadecimal(out: &mut String, address: u64) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = (64 - address.leading_zeros()).div_ceil(4).max(1);
    out.push_str("0x");
    let nibbles = (0..digits).rev().map(|n| (address >> (4 * n)) as usize & 15);
    out.extend(nibbles.filter_map(|n| DIGITS.get(n)).map(|&digit| char::from(digit)));
}

/// Short name, declaration and symbol of a kernel.
pub type Names = [Option<u32>; 3];

/// The texts so far.
#[derive(Default)]
pub struct Texts {
    numbers: Map<Box<str>, u32>,
    list: Vec<Box<str>>,
    /// By the kernel's index in [`Known`].
    kernels: Vec<Option<Names>>,
}

impl Texts {
    /// The number of a text.
    pub fn get(&mut self, wanted: &str) -> u32 {
        if let Some(&number) = self.numbers.get(wanted) {
            return number;
        }
        let number = self.list.len() as u32;
        self.list.push(wanted.into());
        self.numbers.insert(wanted.into(), number);
        number
    }

    /// The text of a number.
    pub fn of(&self, number: u32) -> &str {
        self.list.get(number as usize).map_or("", |text| text)
    }

    /// The names of the kernel at `place`.
    pub fn kernel(&mut self, place: usize, known: &Known) -> Names {
        if place >= self.kernels.len() {
            self.kernels.resize(place + 1, None);
        }
        if let Some(Some(names)) = self.kernels.get(place) {
            return *names;
        }
        let Some(kernel) = known.kernels().get(place) else { return Names::default() };
        let name = &kernel.name;
        let symbol = Some(&name.mangled).filter(|symbol| !symbol.is_empty());
        let (short, full) = (self.get(&name.short), self.get(&name.full));
        let names = [Some(short), Some(full), symbol.map(|symbol| self.get(symbol))];
        if let Some(slot) = self.kernels.get_mut(place) {
            *slot = Some(names);
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_as_the_formatter_writes_it() {
        for address in [0, 1, 15, 16, 0xabc, 0x7f3a_0000_0000, u64::MAX, 1 << 63] {
            let mut out = String::new();
            hexadecimal(&mut out, address);
            assert_eq!(out, format!("{address:#x}"));
        }
    }

    #[test]
    fn a_text_has_one_number() {
        let mut texts = Texts::default();
        for n in 0..1000 {
            assert_eq!(texts.get(&format!("text {}", n % 100)), n % 100);
        }
        assert_eq!((texts.of(7), texts.of(100)), ("text 7", ""));
    }
}
