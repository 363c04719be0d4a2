//! Numbers to text and back.

use super::error::ReadErrorKind;

/// Appends an integer.
#[inline]
pub(crate) fn push_integer(out: &mut Vec<u8>, value: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a finite float: the shortest digits that give the same value back, without `.0`.
#[inline]
pub(crate) fn push_finite(out: &mut Vec<u8>, value: impl zmij::Float) {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value);
    out.extend_from_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes());
}

/// Length of the number, as JSON's grammar has it, that `text` begins with; 0 where there is none.
pub(crate) fn number_len(text: &[u8]) -> usize {
    let digits =
        |from: usize| text.get(from..).map_or(0, |rest| rest.iter().take_while(|b| b.is_ascii_digit()).count());
    let sign = usize::from(text.first() == Some(&b'-'));
    let mut at = match (text.get(sign), digits(sign)) {
        (_, 0) => return 0,
        (Some(b'0'), _) => sign + 1,
        (_, count) => sign + count,
    };
    if text.get(at) == Some(&b'.') {
        match digits(at + 1) {
            0 => return 0,
            count => at += 1 + count,
        }
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        match digits(at + 1 + sign) {
            0 => return 0,
            count => at += 1 + sign + count,
        }
    }
    at
}

/// The integer that a number in JSON's grammar stands for: its sign and magnitude. Exponents and fractions are fine
/// as long as the value is an integer.
pub(crate) fn integer(text: &str) -> Result<(bool, u64), ReadErrorKind> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if text.len() <= 19 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok((negative, text.parse().map_err(|_| ReadErrorKind::OutOfRange)?));
    }
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().all(|digit| digit == b'0') {
        return Ok((negative, 0));
    }
    // Exponents that do not fit are as good as the largest: no input is as long.
    let limit = if exponent.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
    let exponent = exponent.strip_prefix('+').unwrap_or(exponent).parse::<i64>().unwrap_or(limit);
    // How many of the digits stand before the decimal point.
    let point = exponent.clamp(i64::MIN / 2, i64::MAX / 2).saturating_add(whole.len() as i64);
    if digits().enumerate().any(|(at, digit)| digit != b'0' && at as i64 >= point) {
        return Err(ReadErrorKind::NotInteger);
    }
    // Not all are zero, hence `point` is positive. Zeros in front do not count.
    let zeros = digits().take_while(|&digit| digit == b'0').count() as i64;
    if point - zeros > 20 {
        return Err(ReadErrorKind::OutOfRange);
    }
    let mut value = 0u64;
    for digit in digits().chain(std::iter::repeat(b'0')).take(usize::try_from(point).unwrap_or_default()) {
        let next = value.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit - b'0')));
        value = next.ok_or(ReadErrorKind::OutOfRange)?;
    }
    Ok((negative, value))
}

/// A signed integer of sign and magnitude, within `bits` bits.
pub(crate) fn signed(negative: bool, magnitude: u64, bits: u32) -> Result<i64, ReadErrorKind> {
    let value = if negative { -i128::from(magnitude) } else { i128::from(magnitude) };
    let limit = 1i128 << (bits - 1);
    if value < -limit || value >= limit {
        return Err(ReadErrorKind::OutOfRange);
    }
    i64::try_from(value).map_err(|_| ReadErrorKind::OutOfRange)
}

/// An unsigned integer of sign and magnitude, within `bits` bits.
pub(crate) fn unsigned(negative: bool, magnitude: u64, bits: u32) -> Result<u64, ReadErrorKind> {
    if (negative && magnitude != 0) || (bits < 64 && magnitude >> bits != 0) {
        return Err(ReadErrorKind::OutOfRange);
    }
    Ok(magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ReadErrorKind::{NotInteger, OutOfRange};

    #[test]
    fn numbers_end_where_the_grammar_says() {
        let cases: [(&str, usize); 16] = [
            ("0", 1),
            ("01", 1),
            ("-0.5e+3x", 7),
            ("12,", 2),
            ("1.", 0),
            (".5", 0),
            ("-", 0),
            ("+1", 0),
            ("1e", 0),
            ("1e-", 0),
            ("1E5", 3),
            ("", 0),
            ("NaN", 0),
            ("-Infinity", 0),
            ("1.5.5", 3),
            ("10e2", 4),
        ];
        for (text, len) in cases {
            assert_eq!(number_len(text.as_bytes()), len, "{text}");
        }
    }

    #[test]
    fn integers_are_exact() {
        let cases = [
            ("0", Ok((false, 0))),
            ("-0", Ok((true, 0))),
            ("18446744073709551615", Ok((false, u64::MAX))),
            ("18446744073709551616", Err(OutOfRange)),
            ("1e5", Ok((false, 100_000))),
            ("100000.000", Ok((false, 100_000))),
            ("2.147483647e9", Ok((false, 2_147_483_647))),
            ("0.5", Err(NotInteger)),
            ("1.5e1", Ok((false, 15))),
            ("15e-1", Err(NotInteger)),
            ("150e-1", Ok((false, 15))),
            ("1e99999999999999999999", Err(OutOfRange)),
            ("1e-99999999999999999999", Err(NotInteger)),
            ("0e99999999999999999999", Ok((false, 0))),
            ("0.00000000000000000000000000001e29", Ok((false, 1))),
            ("1e19", Ok((false, 10_000_000_000_000_000_000))),
            ("1e20", Err(OutOfRange)),
            ("0.0", Ok((false, 0))),
            ("18446744073709551614.99", Err(NotInteger)),
        ];
        for (text, value) in cases {
            assert_eq!(integer(text), value, "{text}");
        }
    }

    #[test]
    fn integers_are_held_by_their_types_only() {
        assert_eq!(signed(true, 1 << 31, 32), Ok(i64::from(i32::MIN)));
        assert_eq!(signed(false, 1 << 31, 32), Err(OutOfRange));
        assert_eq!(signed(true, 1 << 63, 64), Ok(i64::MIN));
        assert_eq!(signed(false, 1 << 63, 64), Err(OutOfRange));
        assert_eq!(unsigned(false, u64::MAX, 64), Ok(u64::MAX));
        assert_eq!(unsigned(false, 1 << 32, 32), Err(OutOfRange));
        assert_eq!(unsigned(true, 0, 32), Ok(0));
        assert_eq!(unsigned(true, 1, 64), Err(OutOfRange));
    }

    #[test]
    fn floats_are_as_short_as_they_can_be() {
        let text = |value: f64| {
            let mut out = Vec::new();
            push_finite(&mut out, value);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(1.0), "1");
        assert_eq!(text(-0.0), "-0");
        assert_eq!(text(0.1), "0.1");
        assert_eq!(text(1e300), "1e+300");
        assert_eq!(text(5e-324), "5e-324");
        let mut out = Vec::new();
        push_finite(&mut out, 0.1f32);
        assert_eq!(out, b"0.1");
    }
}
