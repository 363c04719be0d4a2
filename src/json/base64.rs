//! Base64 as JSON has it: written in the standard alphabet with padding; read in both alphabets, with or without.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const INVALID: u8 = 0xff;

/// Six bits for each byte of either alphabet.
const VALUES: [u8; 256] = {
    let mut values = [INVALID; 256];
    let mut at = 0;
    while at < 64 {
        values[ALPHABET[at] as usize] = at as u8;
        at += 1;
    }
    values[b'-' as usize] = 62;
    values[b'_' as usize] = 63;
    values
};

/// Appends `bytes` in base64.
pub(super) fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len().div_ceil(3) * 4);
    let digit = |bits: u32| ALPHABET[(bits & 63) as usize];
    let chunks = bytes.chunks_exact(3);
    let rest = chunks.remainder();
    for chunk in chunks {
        let bits = u32::from(chunk[0]) << 16 | u32::from(chunk[1]) << 8 | u32::from(chunk[2]);
        out.extend([digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), digit(bits)]);
    }
    match *rest {
        [a] => {
            let bits = u32::from(a) << 16;
            out.extend([digit(bits >> 18), digit(bits >> 12), b'=', b'=']);
        }
        [a, b] => {
            let bits = u32::from(a) << 16 | u32::from(b) << 8;
            out.extend([digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), b'=']);
        }
        _ => {}
    }
}

/// The bytes that `text` stands for; `None` where it is no base64. Bits that are left over at the end are ignored.
pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let digits = match text {
        [digits @ .., b'=', b'='] if text.len().is_multiple_of(4) => digits,
        [digits @ .., b'='] if text.len().is_multiple_of(4) => digits,
        digits => digits,
    };
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    let bits = |digits: &[u8]| {
        digits.iter().try_fold(0u32, |bits, &digit| match VALUES[usize::from(digit)] {
            INVALID => None,
            value => Some(bits << 6 | u32::from(value)),
        })
    };
    let chunks = digits.chunks_exact(4);
    let rest = chunks.remainder();
    for chunk in chunks {
        let [_, a, b, c] = bits(chunk)?.to_be_bytes();
        bytes.extend([a, b, c]);
    }
    match rest.len() {
        0 => {}
        1 => return None,
        2 => bytes.push((bits(rest)? >> 4) as u8),
        _ => bytes.extend(((bits(rest)? >> 2) as u16).to_be_bytes()),
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lengths_round_trip_with_and_without_padding() {
        for len in 0..20u8 {
            let bytes: Vec<u8> = (0..len).map(|n| n.wrapping_mul(89) ^ 0xf5).collect();
            let mut text = Vec::new();
            push(&mut text, &bytes);
            assert_eq!(text.len() % 4, 0);
            assert_eq!(decode(&text).unwrap(), bytes);
            let bare: Vec<u8> = text.iter().copied().filter(|&byte| byte != b'=').collect();
            assert_eq!(decode(&bare).unwrap(), bytes);
        }
        let mut text = Vec::new();
        push(&mut text, b"\xfb\xff\xfe");
        assert_eq!(text, b"+//+");
        assert_eq!(decode(b"-__-").unwrap(), b"\xfb\xff\xfe");
        assert_eq!(decode(b"-_").unwrap(), b"\xfb");
    }

    #[test]
    fn what_is_no_base64_is_refused() {
        for bad in ["A", "AAAAA", "A===", "AA=", "AAA==", "=", "====", "AA=A", "AA AA", "AAA*", "AAAA=", "AA==AA=="] {
            assert_eq!(decode(bad.as_bytes()), None, "{bad}");
        }
    }
}
