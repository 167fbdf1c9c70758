//! Shapes of grids and blocks in options.
//!
//! Owns the notation. Must not know what is launched.

/// `8`, `8,4` or `8,4,2`; what is left out is 1.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> Result<[u32; 3], String> {
    let mut shape = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > shape.len() {
        return Err("expected at most three numbers".to_owned());
    }
    for (to, part) in shape.iter_mut().zip(parts) {
        *to = part.trim().parse().map_err(|_| format!("{part:?} is not a number"))?;
        if *to == 0 {
            return Err("expected numbers from 1 on".to_owned());
        }
    }
    Ok(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        assert_eq!(parse("8"), Ok([8, 1, 1]));
        assert_eq!(parse("8, 4,2"), Ok([8, 4, 2]));
        for bad in ["", "0", "1,2,3,4", "x", "1,,2"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
