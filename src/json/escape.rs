//! Strings between quotes.

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

/// Number of bytes before the first that must be escaped in a string: a quote, a backslash or a control character.
#[inline]
pub(super) fn plain_prefix(bytes: &[u8]) -> usize {
    let mut at = 0;
    // Eight at a time. A byte with its high bit set is never special, and masked out; a borrow can only raise false
    // alarms behind a byte that is special.
    for chunk in bytes.chunks_exact(8) {
        let Ok(chunk) = chunk.try_into() else { break };
        let word = u64::from_le_bytes(chunk);
        let zero_at = |byte: u8| {
            let word = word ^ (ONES * u64::from(byte));
            word.wrapping_sub(ONES) & !word
        };
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let special = (zero_at(b'"') | zero_at(b'\\') | control) & HIGH;
        if special != 0 {
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + bytes[at..].iter().take_while(|&&byte| byte >= 0x20 && byte != b'"' && byte != b'\\').count()
}

/// Appends a string in quotes.
pub(super) fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let plain = plain_prefix(rest);
        out.extend_from_slice(&rest[..plain]);
        let Some(&special) = rest.get(plain) else { break };
        match special {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x8 => out.extend_from_slice(b"\\b"),
            0xc => out.extend_from_slice(b"\\f"),
            control => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.extend([HEX[usize::from(control >> 4)], HEX[usize::from(control & 15)]]);
            }
        }
        rest = &rest[plain + 1..];
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_bytes_are_found_wherever_they_are() {
        for special in [b'"', b'\\', 0, 0x1f, b'\n'] {
            for len in 0..40 {
                for at in 0..len {
                    let mut bytes: Vec<u8> =
                        (0..len as u8).map(|n| if n % 3 == 0 { 0x80 + n } else { 0x60 + n % 26 }).collect();
                    bytes.iter_mut().for_each(|byte| {
                        if *byte == b'\\' {
                            *byte = b'x'
                        }
                    });
                    assert_eq!(plain_prefix(&bytes), len);
                    bytes[at] = special;
                    assert_eq!(plain_prefix(&bytes), at);
                    bytes[len - 1] = special;
                    assert_eq!(plain_prefix(&bytes), at);
                }
            }
        }
    }

    #[test]
    fn what_must_be_escaped_is() {
        let mut out = Vec::new();
        push_string(&mut out, "a\"b\\c\n\r\t\u{8}\u{c}\u{0}\u{1f} \u{7f}\u{1f601}/");
        assert_eq!(out, "\"a\\\"b\\\\c\\n\\r\\t\\b\\f\\u0000\\u001f \u{7f}\u{1f601}/\"".as_bytes());
    }
}
