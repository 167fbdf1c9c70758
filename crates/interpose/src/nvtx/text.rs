//! Strings of a C program as UTF-8, truncated to the length that an event keeps.
//!
//! Must not know: what a string is for.

use std::borrow::Cow;
use std::ffi::c_char;

use cushim_trace::layout::TEXT_MAX;

/// `wchar_t` on Linux.
pub type Wide = i32;

/// A C string; invalid UTF-8 is replaced.
///
/// # Safety
/// `text` is null or a C string that outlives the result.
pub unsafe fn narrow<'a>(text: *const c_char) -> Cow<'a, str> {
    if text.is_null() {
        return "".into();
    }
    // SAFETY: as the caller promises.
    let bytes =
        unsafe { std::slice::from_raw_parts(text.cast::<u8>(), libc::strnlen(text, TEXT_MAX + 1)) };
    let kept = bytes.get(..TEXT_MAX).unwrap_or(bytes);
    match std::str::from_utf8(kept) {
        Ok(text) => text.into(),
        // Cut in the middle of a character.
        Err(e) if e.error_len().is_none() && kept.len() < bytes.len() => {
            String::from_utf8_lossy(kept.get(..e.valid_up_to()).unwrap_or(&[]))
        }
        Err(_) => {
            let mut whole = String::from_utf8_lossy(kept).into_owned();
            while whole.len() > TEXT_MAX {
                whole.pop();
            }
            whole.into()
        }
    }
}

/// A wide string; invalid characters are replaced.
///
/// # Safety
/// `text` is null or a wide string.
pub unsafe fn wide<'a>(text: *const Wide) -> Cow<'a, str> {
    let mut whole = String::new();
    let mut at = text;
    while !at.is_null() {
        // SAFETY: not behind the terminating zero, as the caller promises.
        let (code, next) = unsafe { (at.read_unaligned(), at.add(1)) };
        let character = char::from_u32(code as u32).unwrap_or(char::REPLACEMENT_CHARACTER);
        if code == 0 || whole.len() + character.len_utf8() > TEXT_MAX {
            break;
        }
        whole.push(character);
        at = next;
    }
    whole.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_narrow(bytes: &[u8]) -> String {
        let mut bytes = bytes.to_vec();
        bytes.push(0);
        // SAFETY: the text ends in a zero.
        unsafe { narrow(bytes.as_ptr().cast()) }.into_owned()
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!((from_narrow(b""), from_narrow("né".as_bytes())), (String::new(), "né".into()));
        let long = "é".repeat(TEXT_MAX);
        assert_eq!(from_narrow(long.as_bytes()), "é".repeat(TEXT_MAX / 2));
        let odd = format!("x{long}");
        assert_eq!(from_narrow(odd.as_bytes()), format!("x{}", "é".repeat(TEXT_MAX / 2 - 1)));
        assert_eq!(from_narrow(b"a\xffb\xc3"), "a\u{fffd}b\u{fffd}");
        let bad = from_narrow(&[0xff; 2 * TEXT_MAX]);
        assert!(bad.len() <= TEXT_MAX && bad.chars().all(|c| c == '\u{fffd}'), "{bad}");
        // SAFETY: null is no text.
        let none = unsafe { (narrow(std::ptr::null()), wide(std::ptr::null())) };
        assert_eq!((none.0.len(), none.1.len()), (0, 0));
    }

    #[test]
    fn wide_texts() {
        let codes = |text: &str| text.chars().map(|c| c as Wide).chain([0]).collect::<Vec<_>>();
        // SAFETY: each text ends in a zero.
        let back = |codes: &[Wide]| unsafe { wide(codes.as_ptr()) }.into_owned();
        assert_eq!(back(&codes("größe 𝄞")), "größe 𝄞");
        assert_eq!(back(&[0xd800, -1, 65, 0]), "\u{fffd}\u{fffd}A");
        assert_eq!(back(&codes(&"€".repeat(500))), "€".repeat(TEXT_MAX / 3));
    }
}
