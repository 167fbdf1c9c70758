//! The style of text output: colors, signs, durations.
//!
//! Must not know: events.

use anstyle::{AnsiColor, Style as Ansi};

/// What the reader's terminal can show.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Colors.
    pub color: bool,
    /// Characters beyond ASCII.
    pub utf8: bool,
}

/// The meaning of a piece of text, which decides its color.
#[derive(Clone, Copy, Debug)]
pub enum Ink {
    /// The name of a kernel.
    Kernel,
    /// Details.
    Faint,
    /// Something went wrong.
    Bad,
    /// A heading.
    Head,
}

impl Style {
    /// `text` in its color.
    pub fn paint(self, ink: Ink, text: &str) -> String {
        if !self.color || text.is_empty() {
            return text.to_owned();
        }
        let ansi = match ink {
            Ink::Kernel => Ansi::new().fg_color(Some(AnsiColor::Cyan.into())),
            Ink::Faint => Ansi::new().dimmed(),
            Ink::Bad => Ansi::new().fg_color(Some(AnsiColor::Red.into())).bold(),
            Ink::Head => Ansi::new().bold(),
        };
        format!("{ansi}{text}{ansi:#}")
    }
    /// The sign for text that was left out.
    pub fn ellipsis(self) -> &'static str {
        if self.utf8 { "…" } else { "..." }
    }
    /// The sign before a count.
    pub fn times(self) -> char {
        if self.utf8 { '×' } else { 'x' }
    }
    /// A time span in the unit that suits it, three digits.
    pub fn duration(self, ns: f64) -> String {
        let micro = if self.utf8 { "µs" } else { "us" };
        // The bounds are where three digits would round up to the next unit.
        let (value, unit) = match ns {
            ns if ns < 999.5 => return format!("{} ns", ns.round()),
            ns if ns < 999.5e3 => (ns / 1e3, micro),
            ns if ns < 999.5e6 => (ns / 1e6, "ms"),
            ns => (ns / 1e9, "s"),
        };
        let digits = match value {
            v if v < 9.995 => 2,
            v if v < 99.95 => 1,
            _ => 0,
        };
        format!("{value:.digits$} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits() {
        let style = Style { color: false, utf8: true };
        for (ns, text) in [
            (0.0, "0 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (3_141.0, "3.14 µs"),
            (99_960.0, "100 µs"),
            (12_345_678.0, "12.3 ms"),
            (999_499_999.0, "999 ms"),
            (61_000_000_000.0, "61.0 s"),
            (7_200_000_000_000.0, "7200 s"),
        ] {
            assert_eq!(style.duration(ns), text);
        }
        assert_eq!(Style { color: false, utf8: false }.duration(3141.0), "3.14 us");
    }
}
