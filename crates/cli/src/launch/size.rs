//! Sizes as people write them: `4096`, `64KiB`, `512M`. Whole numbers only.

/// Bytes of `64KiB`, `64K`, `64kb`: units are powers of 1024.
pub fn parse(text: &str) -> Result<u64, String> {
    let expected =
        || format!("{text:?} is not a size; expected a number and K, M, G or T, such as 512M");
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_lowercase();
    let shift = match unit.trim_end_matches("ib").trim_end_matches('b') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(expected()),
    };
    let number: u64 = number.parse().map_err(|_| expected())?;
    number.checked_mul(1 << shift).filter(|n| *n > 0).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes() {
        assert_eq!(parse("4096"), Ok(4096));
        assert_eq!(
            (parse("64KiB"), parse("2m"), parse("1GB")),
            (Ok(65536), Ok(2 << 20), Ok(1 << 30))
        );
        for bad in ["", "0", "M", "-1", "1x", "99999999999T"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
