//! Patterns with `*` and `?`.
//!
//! Owns their meaning. Must not know what is matched.

/// Whether a pattern matches a whole text: `*` is any text, `?` one character, `\` takes the next
/// character as it is.
pub fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<(char, bool)> = parts(pattern).collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    // Where to retry if the part after the last `*` does not match: the `*` then takes one more
    // character.
    let mut again: Option<(usize, usize)> = None;
    loop {
        match (pattern.get(p), text.get(t)) {
            (None, None) => return true,
            (Some(('*', true)), _) => {
                again = Some((p + 1, t));
                p += 1;
                continue;
            }
            (Some(('?', true)), Some(_)) => {
                (p, t) = (p + 1, t + 1);
                continue;
            }
            (Some((wanted, false)), Some(found)) if wanted == found => {
                (p, t) = (p + 1, t + 1);
                continue;
            }
            _ => {}
        }
        match again {
            Some((behind, at)) if at < text.len() => {
                again = Some((behind, at + 1));
                (p, t) = (behind, at + 1);
            }
            _ => return false,
        }
    }
}

/// The characters of a pattern, and whether each is a wildcard.
fn parts(pattern: &str) -> impl Iterator<Item = (char, bool)> {
    let mut rest = pattern.chars();
    std::iter::from_fn(move || match rest.next()? {
        '\\' => Some((rest.next().unwrap_or('\\'), false)),
        c => Some((c, matches!(c, '*' | '?'))),
    })
}

/// The pattern that matches this text only.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_marks_are_any_text_and_any_character() {
        for (pattern, text) in [
            ("", ""),
            ("*", ""),
            ("*", "abc"),
            ("a*c", "abbc"),
            ("a*b*c", "axbxbc"),
            ("?b?", "abc"),
            ("*ab", "aab"),
            (r"add(int\*)", "add(int*)"),
            ("é?", "éa"),
            (r"x\", r"x\"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("", "a"), ("?", ""), ("a*c", "abb"), (r"\*", "a"), ("ab", "abc"), ("*a?", "a")]
        {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn what_is_escaped_means_itself() {
        for text in ["add(int*, char const*)", r"a\b?", "", "*"] {
            assert!(matches(&escaped(text), text));
        }
        assert!(!matches(&escaped("a*"), "ab"));
    }

    #[test]
    fn many_stars_take_little_time() {
        assert!(!matches(&"a*".repeat(2000), &"a".repeat(1999)));
        assert!(!matches(&"*a".repeat(2000), &"b".repeat(20000)));
    }
}
