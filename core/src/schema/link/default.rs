//! Defaults, which descriptors hold as text.
//!
//! Numbers stand as they were written (decimal, hex, octal), strings as they are, and
//! bytes with the escapes of C.

use super::super::model::{DefaultValue, FieldKind};

/// The value that a scalar's default text stands for. Enums are not looked at here.
pub(super) fn parse(kind: FieldKind, text: &[u8]) -> Result<DefaultValue, &'static str> {
    use FieldKind as K;
    let bits = match kind {
        K::Int32 | K::Sint32 | K::Sfixed32 => integer(text, i32::MIN.into(), i32::MAX.into())?,
        K::Int64 | K::Sint64 | K::Sfixed64 => integer(text, i64::MIN.into(), i64::MAX.into())?,
        K::Uint32 | K::Fixed32 => integer(text, 0, u32::MAX.into())?,
        K::Uint64 | K::Fixed64 => integer(text, 0, u64::MAX.into())?,
        K::Bool => match text {
            b"true" => 1,
            b"false" => 0,
            _ => return Err("neither true nor false"),
        },
        K::Float => u64::from((float(text)? as f32).to_bits()),
        K::Double => float(text)?.to_bits(),
        K::String => return Ok(DefaultValue::Bytes(text.into())),
        K::Bytes => return unescape(text).map(|bytes| DefaultValue::Bytes(bytes.into())),
        K::Message(_) | K::Enum(_) => return Err("not a scalar"),
    };
    Ok(DefaultValue::Bits(bits))
}

fn integer(text: &[u8], min: i128, max: i128) -> Result<u64, &'static str> {
    let wrong = "not an integer";
    let text = std::str::from_utf8(text).map_err(|_| wrong)?;
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    // A second sign is no digit, though the standard library takes it for one.
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(wrong);
    }
    let value = u64::from_str_radix(digits, radix).map_err(|_| "not an integer in range")?;
    let value = if negative { -i128::from(value) } else { value.into() };
    if value < min || value > max {
        return Err("out of the type's range");
    }
    Ok(value as u64)
}

fn float(text: &[u8]) -> Result<f64, &'static str> {
    let wrong = "not a number";
    let text = std::str::from_utf8(text).map_err(|_| wrong)?;
    match text {
        "inf" => Ok(f64::INFINITY),
        "-inf" => Ok(f64::NEG_INFINITY),
        "nan" | "-nan" => Ok(f64::NAN),
        _ => text.parse().map_err(|_| wrong),
    }
}

fn unescape(text: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some((&escape, after)) = rest.split_first() else {
            return Err("ends inside an escape");
        };
        rest = after;
        out.push(match escape {
            b'a' => 0x07,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'\\' | b'\'' | b'"' | b'?' => escape,
            b'0'..=b'7' => {
                let mut value = u32::from(escape - b'0');
                for _ in 0..2 {
                    let Some((&digit @ b'0'..=b'7', after)) = rest.split_first() else {
                        break;
                    };
                    value = value * 8 + u32::from(digit - b'0');
                    rest = after;
                }
                u8::try_from(value).map_err(|_| "an octal escape above 255")?
            }
            b'x' | b'X' => {
                let mut value = None;
                for _ in 0..2 {
                    let digit = rest.first().and_then(|&b| char::from(b).to_digit(16));
                    let Some(digit) = digit else { break };
                    value = Some(value.unwrap_or(0) * 16 + digit);
                    rest = &rest[1..];
                }
                value.ok_or("a hex escape without digits")? as u8
            }
            _ => return Err("an unknown escape"),
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        let bits = |kind, text: &str| match parse(kind, text.as_bytes()) {
            Ok(DefaultValue::Bits(bits)) => Some(bits),
            _ => None,
        };
        use FieldKind as K;
        assert_eq!(bits(K::Int32, "-1"), Some(u64::MAX));
        assert_eq!(bits(K::Int32, "-2147483648"), Some(i32::MIN as i64 as u64));
        assert_eq!(bits(K::Int32, "2147483648"), None);
        assert_eq!(bits(K::Uint32, "4294967295"), Some(u32::MAX.into()));
        assert_eq!(bits(K::Uint32, "-1"), None);
        assert_eq!(bits(K::Uint64, "18446744073709551615"), Some(u64::MAX));
        assert_eq!(bits(K::Int64, "-9223372036854775808"), Some(i64::MIN as u64));
        assert_eq!(bits(K::Int64, "9223372036854775808"), None);
        assert_eq!(bits(K::Int32, "0x1F"), Some(31));
        assert_eq!(bits(K::Int32, "-017"), Some(-15i64 as u64));
        for wrong in ["", "-", "+1", "--1", "-+1", "0x", "0x-1", "1.0", " 1", "08", "1e3"] {
            assert_eq!(bits(K::Int32, wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn floats() {
        let double = |text: &str| match parse(FieldKind::Double, text.as_bytes()) {
            Ok(DefaultValue::Bits(bits)) => Some(f64::from_bits(bits)),
            _ => None,
        };
        assert_eq!(double("1.5e10"), Some(1.5e10));
        assert_eq!(double("-0"), Some(-0.0));
        assert_eq!(double("inf"), Some(f64::INFINITY));
        assert_eq!(double("-inf"), Some(f64::NEG_INFINITY));
        assert!(double("nan").is_some_and(f64::is_nan));
        assert_eq!(double("one"), None);
        assert_eq!(double(""), None);
        assert_eq!(parse(FieldKind::Float, b"0.1"), Ok(DefaultValue::Bits(0.1f32.to_bits().into())));
    }

    #[test]
    fn escapes() {
        assert_eq!(unescape(br#"a\n\t\\\'\"\?\a\b\f\r\v"#).unwrap(), b"a\n\t\\'\"?\x07\x08\x0c\r\x0b");
        assert_eq!(unescape(br"\0\00\0001\377\18").unwrap(), b"\0\0\x001\xff\x018");
        assert_eq!(unescape(br"\x4A\xfz").unwrap(), b"J\x0fz");
        for wrong in [&br"\"[..], br"\400", br"\x", br"\q"] {
            assert!(unescape(wrong).is_err());
        }
    }
}
