//! Strings between quotes, with the escapes of C.

/// Appends bytes in quotes. Printable ASCII stays as it is; valid UTF-8 stays where `utf8` says so; the rest becomes
/// escapes.
pub(super) fn push_quoted(out: &mut Vec<u8>, bytes: &[u8], utf8: bool) {
    out.push(b'"');
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => out.extend_from_slice(b"\\\""),
                '\\' => out.extend_from_slice(b"\\\\"),
                '\n' => out.extend_from_slice(b"\\n"),
                '\r' => out.extend_from_slice(b"\\r"),
                '\t' => out.extend_from_slice(b"\\t"),
                ' '..='~' => out.push(c as u8),
                c => {
                    let mut buffer = [0; 4];
                    let encoded = c.encode_utf8(&mut buffer).as_bytes();
                    if utf8 && !c.is_control() {
                        out.extend_from_slice(encoded);
                    } else {
                        encoded.iter().for_each(|&byte| push_octal(out, byte));
                    }
                }
            }
        }
        chunk.invalid().iter().for_each(|&byte| push_octal(out, byte));
    }
    out.push(b'"');
}

fn push_octal(out: &mut Vec<u8>, byte: u8) {
    out.extend([b'\\', b'0' + (byte >> 6), b'0' + (byte >> 3 & 7), b'0' + (byte & 7)]);
}

/// Reads the escape behind a backslash at the beginning of `text` and appends what it stands for. Gives its length, or
/// why there is none.
pub(super) fn unescape(text: &[u8], out: &mut Vec<u8>) -> Result<usize, &'static str> {
    let digits = |from: usize, most: usize, radix: u32| {
        let rest = text.get(from..).unwrap_or_default();
        let digits = rest.iter().take(most).map_while(|&byte| char::from(byte).to_digit(radix));
        digits.fold((0u32, 0usize), |(value, count), digit| (value * radix + digit, count + 1))
    };
    let Some(&kind) = text.first() else { return Err("expected the end of a string") };
    let byte = match kind {
        b'a' => 0x7,
        b'b' => 0x8,
        b'f' => 0xc,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0xb,
        b'?' | b'\\' | b'\'' | b'"' => kind,
        b'0'..=b'7' => {
            let (value, count) = digits(0, 3, 8);
            out.push(u8::try_from(value).map_err(|_| "an octal escape above \\377")?);
            return Ok(count);
        }
        b'x' => {
            let (value, count) = digits(1, 2, 16);
            if count == 0 {
                return Err("expected hex digits");
            }
            out.push(value as u8);
            return Ok(1 + count);
        }
        b'u' | b'U' => {
            let wanted = if kind == b'u' { 4 } else { 8 };
            let (value, count) = digits(1, wanted, 16);
            if count != wanted {
                return Err("expected four hex digits behind \\u, eight behind \\U");
            }
            let c = char::from_u32(value).ok_or("a surrogate, or no Unicode character")?;
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            return Ok(1 + count);
        }
        _ => return Err("no such escape"),
    };
    out.push(byte);
    Ok(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<u8>, &'static str> {
        let (mut out, mut rest) = (Vec::new(), text.as_bytes());
        while let Some((&byte, behind)) = rest.split_first() {
            rest = behind;
            match byte {
                b'\\' => rest = &rest[unescape(rest, &mut out)?..],
                byte => out.push(byte),
            }
        }
        Ok(out)
    }

    #[test]
    fn all_escapes_are_read() {
        assert_eq!(read(r#"\a\b\f\n\r\t\v\?\\\'\""#).unwrap(), b"\x07\x08\x0c\n\r\t\x0b?\\'\"");
        assert_eq!(read(r"\341\210\264\0\18\x41\xfg").unwrap(), b"\xe1\x88\xb4\x00\x018A\x0fg");
        assert_eq!(read(r"\u1234\U00010437").unwrap(), "\u{1234}\u{10437}".as_bytes());
        for bad in [r"\", r"\q", r"\x", r"\u123", r"\ud800", r"\U0000dc00", r"\U00110000", r"\400", r"\U1"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn whatever_is_written_is_read_again() {
        let bytes: Vec<u8> = (0..=255).chain("é\u{1f601}\u{85}".bytes()).collect();
        for utf8 in [false, true] {
            let mut out = Vec::new();
            push_quoted(&mut out, &bytes, utf8);
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.is_ascii(), !utf8);
            assert_eq!(text.contains('é'), utf8);
            assert!(!text.contains(|c: char| c.is_control()));
            assert_eq!(read(&text[1..text.len() - 1]).unwrap(), bytes);
        }
    }
}
