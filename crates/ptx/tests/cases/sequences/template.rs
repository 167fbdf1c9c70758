//! Random text from templates.
//!
//! `(a|b)` is a choice of words. `$r`, `$w`, `$h`, `$c`, `$p` and `$f` are registers
//! of a class; those with digits, as `$r0`, differ within one instruction. `$x`
//! and `$y` are operands of 32 and 64 bits, mostly registers; `$q` is a predicate,
//! possibly negated; `$k` is a number below 32, `$s` a byte selector.

use super::super::inputs::Random;

pub struct Writer {
    random: Random,
    pub code: String,
    labels: usize,
    /// Label names are unique in the kernel.
    prefix: u64,
}

/// The number of registers of a class that templates use.
fn count(class: char) -> u64 {
    match class {
        'r' => 6,
        'w' => 3,
        'h' | 'p' => 4,
        _ => 2,
    }
}

impl Writer {
    pub fn new(mut random: Random) -> Writer {
        let prefix = random.next() >> 24;
        Writer { random, code: String::new(), labels: 0, prefix }
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    pub fn one<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }

    pub fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{:x}_{}", self.prefix, self.labels)
    }

    /// Writes one of the templates, sometimes under a guard predicate.
    pub fn instruction(&mut self, list: &[&str]) {
        let guard = match self.below(8) {
            0 => self.expand("@$p "),
            1 => self.expand("@!$p "),
            _ => String::new(),
        };
        let template = self.one(list);
        let text = self.expand(template);
        // A guard applies to one instruction only.
        if !text.contains(';') {
            self.code += &guard;
        }
        self.code += &text;
        self.code += ";\n";
    }

    pub fn put(&mut self, template: &str) {
        let text = self.expand(template);
        self.code += &text;
        self.code += "\n";
    }

    /// A branch that some lanes take.
    pub fn branch(&mut self, label: &str) {
        let p = self.operand('q');
        self.code += &format!("@{p} bra {label};\n");
    }

    fn expand(&mut self, template: &str) -> String {
        // Different registers of a class: consecutive ones from a random start.
        let turn = self.below(60);
        let mut out = String::new();
        let mut rest = template;
        while let Some(at) = rest.find(['(', '$']) {
            out += &rest[..at];
            let tail = &rest[at + 1..];
            if rest[at..].starts_with('(') {
                let end = tail.find(')').expect("a list that ends");
                let words: Vec<&str> = tail[..end].split('|').collect();
                let word = self.one(&words).to_string();
                out += &self.expand(&word);
                rest = &tail[end + 1..];
                continue;
            }
            let class = tail.chars().next().expect("a class");
            rest = &tail[1..];
            if let Some(digit) = rest.chars().next().and_then(|c| c.to_digit(10)) {
                rest = &rest[1..];
                out += &format!("{class}{}", (turn + u64::from(digit)) % count(class));
            } else {
                out += &self.operand(class);
            }
        }
        out + rest
    }

    fn operand(&mut self, class: char) -> String {
        const EDGES: &[&str] = &["0", "1", "-1", "0x7fffffff", "0x80000000", "2", "255", "0x8001"];
        match class {
            'x' if self.below(6) == 0 => self.one(EDGES).to_string(),
            'y' if self.below(6) == 0 => self.one(EDGES).to_string(),
            'x' => self.operand('r'),
            'y' => self.operand('w'),
            'q' => {
                let not = self.one(&["", "!"]);
                not.to_string() + &self.operand('p')
            }
            'k' => self.below(32).to_string(),
            's' => format!("{:#x}", self.below(0x10000)),
            class => format!("{class}{}", self.below(count(class))),
        }
    }
}
