//! The source location of an instruction, from `.file` and `.loc` (PTX ISA, "Debugging Directives").
//!
//! Owns the table of a module, one short entry for each `.loc` and nothing for an instruction, and the search in it,
//! which only a fault needs. Positions of linked texts are consecutive: those of the second start after the last line
//! of the first. Must not know: how text is parsed, what went wrong.

use crate::error::Pos;
use std::fmt;

/// A position in a source file: number of the file, line and column, both from 1; 0 is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Mark {
    /// The number that `.file` gives.
    pub file: u32,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// A `.loc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    /// The line of PTX: instructions from here on come from that source line.
    at: u32,
    mark: Mark,
    /// One more than the index among the calls, or 0.
    call: u32,
}

/// What a module says about its sources.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sources {
    files: Vec<(u32, String)>,
    /// By lines of PTX.
    entries: Vec<Entry>,
    /// Where functions were called that were put into others.
    calls: Vec<Mark>,
    /// The last line of each text.
    ends: Vec<u32>,
}

/// A line of a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The file name, as passed to the compiler.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl fmt::Display for Line {
    /// Without folders.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.file.rsplit('/').next().unwrap_or(&self.file);
        write!(f, "{name}:{}", self.line)
    }
}

/// The most inlined calls that are followed.
const DEEPEST: usize = 32;

impl Sources {
    /// `.file number "name"`.
    pub(crate) fn file(&mut self, number: u32, name: &str) {
        self.files.push((number, name.into()));
    }

    /// Adds a `.loc`, and the call site of an inlined function, if it has one.
    pub(crate) fn loc(&mut self, at: u32, mark: Mark, called: Option<Mark>) {
        let call = called.map_or(0, |mark| {
            self.calls.push(mark);
            self.calls.len() as u32
        });
        // Text goes downwards.
        self.entries.push(Entry { at, mark, call });
    }

    /// The text ends here.
    pub(crate) fn end(&mut self, line: u32) {
        self.ends.push(line);
    }

    /// By how many lines the next text's positions are moved.
    pub(crate) fn offset(&self) -> u32 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Appends the entries of another module, whose positions follow all present ones.
    pub(crate) fn append(&mut self, other: &Sources) {
        let by = self.offset();
        let (calls, files) = (self.calls.len() as u32, self.most() + 1);
        let own = |mark: &Mark| Mark { file: mark.file.saturating_add(files), ..*mark };
        self.entries.extend(other.entries.iter().map(|e| Entry {
            at: e.at.saturating_add(by),
            mark: own(&e.mark),
            call: if e.call == 0 { 0 } else { e.call + calls },
        }));
        self.calls.extend(other.calls.iter().map(own));
        let renumbered = |(n, name): &(u32, String)| (n.saturating_add(files), name.clone());
        self.files.extend(other.files.iter().map(renumbered));
        self.ends.extend(other.ends.iter().map(|end| end.saturating_add(by)));
    }

    /// The highest number of a file.
    fn most(&self) -> u32 {
        let named = self.files.iter().map(|(n, _)| *n);
        let used =
            self.entries.iter().map(|e| e.mark.file).chain(self.calls.iter().map(|m| m.file));
        named.chain(used).max().unwrap_or(0)
    }

    /// A position in its own text, and the number of that where there are several: from 1, else 0.
    pub fn text(&self, pos: Pos) -> (Pos, u32) {
        let n = self.ends.partition_point(|end| *end < pos.line);
        let before = n.checked_sub(1).and_then(|n| self.ends.get(n)).copied().unwrap_or(0);
        let own = Pos { line: pos.line - before, column: pos.column };
        (own, if self.ends.len() > 1 { n as u32 + 1 } else { 0 })
    }

    /// The source line of an instruction in a function that begins at `start`, followed by the call sites of inlined
    /// functions, the outermost last. Empty if the text does not say.
    pub fn lines(&self, start: Pos, pos: Pos) -> Vec<Line> {
        let first = self.entries.partition_point(|e| e.at < start.line);
        let last = self.entries.partition_point(|e| e.at < pos.line);
        let own = self.entries.get(first..last).unwrap_or_default();
        let mut out = Vec::new();
        let Some((mut entry, mut before)) = own.split_last() else { return out };
        loop {
            out.extend(self.line(entry.mark));
            let call = entry.call.checked_sub(1).and_then(|n| self.calls.get(n as usize));
            let Some(call) = call.filter(|_| out.len() < DEEPEST) else { return out };
            // A call from an inlined function has its own `.loc`.
            match before.iter().rposition(|e| e.mark == *call && e.call != 0) {
                Some(n) => {
                    let Some((found, rest)) = before.get(..=n).and_then(<[Entry]>::split_last)
                    else {
                        return out;
                    };
                    (entry, before) = (found, rest);
                }
                None => {
                    out.extend(self.line(*call));
                    return out;
                }
            }
        }
    }

    fn line(&self, mark: Mark) -> Option<Line> {
        let (_, name) = self.files.iter().find(|(n, _)| *n == mark.file)?;
        (mark.line > 0).then(|| Line { file: name.clone(), line: mark.line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(line: u32) -> Mark {
        Mark { file: 1, line, column: 2 }
    }

    fn at(line: u32) -> Pos {
        Pos { line, column: 1 }
    }

    fn sources() -> Sources {
        let mut s = Sources::default();
        s.loc(10, mark(3), None);
        s.loc(12, mark(0), None);
        s.loc(20, mark(7), None);
        s.loc(22, mark(30), Some(mark(7)));
        s.loc(24, mark(40), Some(mark(30)));
        s.loc(40, mark(1), None);
        s.file(1, "/a/b.cu");
        s.end(50);
        s
    }

    fn shown(s: &Sources, start: u32, line: u32) -> String {
        let lines: Vec<String> = s.lines(at(start), at(line)).iter().map(Line::to_string).collect();
        lines.join(" < ")
    }

    #[test]
    fn the_last_loc_of_the_function_says_the_line() {
        let s = sources();
        let cases = [
            (5, 9, ""),
            (5, 11, "b.cu:3"),
            (5, 13, ""),
            (15, 19, ""),
            (15, 21, "b.cu:7"),
            (15, 23, "b.cu:30 < b.cu:7"),
            (15, 25, "b.cu:40 < b.cu:30 < b.cu:7"),
            (39, 45, "b.cu:1"),
        ];
        for (start, line, expected) in cases {
            assert_eq!(shown(&s, start, line), expected, "{line}");
        }
        assert_eq!(s.text(at(7)), (at(7), 0));
    }

    #[test]
    fn texts_that_are_linked_keep_their_own() {
        let mut s = sources();
        let mut other = Sources::default();
        other.file(1, "c.cu");
        other.loc(3, mark(9), Some(mark(4)));
        other.end(20);
        s.append(&other);
        s.append(&Sources { ends: vec![5], ..Sources::default() });
        assert_eq!(shown(&s, 15, 25), "b.cu:40 < b.cu:30 < b.cu:7");
        assert_eq!(shown(&s, 51, 55), "c.cu:9 < c.cu:4");
        assert_eq!((s.text(at(50)), s.text(at(51))), ((at(50), 1), (at(1), 2)));
        assert_eq!((s.text(at(70)), s.text(at(71))), ((at(20), 2), (at(1), 3)));
    }
}
