//! The words of the text format.

use std::borrow::Cow;

use super::string::unescape;
use crate::convert::error::{Fault, ReadErrorKind, ReadFault};

/// A number without its sign, by the way it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Number<'i> {
    /// An integer: its digits and radix (8, 10 or 16).
    Integer(&'i str, u32),
    /// With a point, an exponent or an `f` behind it, which is left out here.
    Float(&'i str),
}

pub(super) struct Lexer<'i> {
    text: &'i str,
    at: usize,
    /// Where the word began that was read last.
    last: usize,
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl<'i> Lexer<'i> {
    pub(super) fn new(text: &'i str) -> Self {
        Lexer { text, at: 0, last: 0 }
    }

    /// Where the word began that was read last: what errors about its meaning point to.
    pub(super) fn last(&self) -> usize {
        self.last
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Goes to a position that [`Lexer::position`] gave.
    pub(super) fn go_to(&mut self, position: usize) {
        self.at = position;
    }

    /// An error about the meaning of the last word.
    #[cold]
    pub(super) fn fault(&self, kind: ReadErrorKind, detail: impl Into<Box<str>>) -> ReadFault {
        Fault::at(kind, self.last, detail)
    }

    /// An error about the next character.
    #[cold]
    pub(super) fn syntax(&mut self, expected: &str) -> ReadFault {
        self.peek();
        let detail = match self.text[self.at..].chars().next() {
            Some(found) => format!("expected {expected}, found {found:?}"),
            None => format!("expected {expected}, found the end"),
        };
        Fault::at(ReadErrorKind::Syntax, self.at, detail)
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips whitespace and comments and gives the byte behind them.
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.byte() {
                Some(b' ' | b'\t' | b'\n' | b'\r' | 0xb | 0xc) => self.at += 1,
                Some(b'#') => {
                    let rest = &self.text.as_bytes()[self.at..];
                    self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                }
                other => return other,
            }
        }
    }

    /// Reads this character, if it is what comes next.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        if self.peek() != Some(byte) {
            return false;
        }
        self.last = self.at;
        self.at += 1;
        true
    }

    /// Reads the bracket that opens a message and gives the one that closes it.
    pub(super) fn open(&mut self) -> Result<u8, ReadFault> {
        if self.eat(b'{') {
            Ok(b'}')
        } else if self.eat(b'<') {
            Ok(b'>')
        } else {
            Err(self.syntax("'{' or '<'"))
        }
    }

    /// Reads a name, if one comes next.
    pub(super) fn name(&mut self) -> Option<&'i str> {
        if !self.peek().is_some_and(|byte| is_name(byte) && !byte.is_ascii_digit()) {
            return None;
        }
        self.last = self.at;
        Some(self.take_while(is_name))
    }

    fn take_while(&mut self, test: impl Fn(u8) -> bool) -> &'i str {
        let begin = self.at;
        let rest = &self.text.as_bytes()[begin..];
        self.at += rest.iter().position(|&byte| !test(byte)).unwrap_or(rest.len());
        // Tests hold for ASCII only, so this is at the border of a character.
        &self.text[begin..self.at]
    }

    /// Reads what stands in brackets up to and with the closing one: the full name of an extension, or the type URL
    /// of an `Any`. The opening one has been read.
    pub(super) fn bracketed(&mut self) -> Result<Cow<'i, str>, ReadFault> {
        let in_url = |byte: u8| is_name(byte) || b".-/~%!$&()*+,;=".contains(&byte);
        self.peek();
        self.last = self.at;
        let mut name = Cow::Borrowed(self.take_while(in_url));
        // Whitespace and comments may stand between its parts.
        while self.peek() != Some(b']') {
            let more = self.take_while(in_url);
            if more.is_empty() {
                return Err(self.syntax("']'"));
            }
            name.to_mut().push_str(more);
        }
        self.at += 1;
        if name.is_empty() || name.split(['.', '/']).any(str::is_empty) {
            return Err(self.fault(ReadErrorKind::Syntax, format!("{name:?} is no name")));
        }
        Ok(name)
    }

    /// Reads a number without a sign, if one comes next.
    pub(super) fn number(&mut self) -> Result<Option<Number<'i>>, ReadFault> {
        let Some(b'0'..=b'9' | b'.') = self.peek() else { return Ok(None) };
        let begin = self.at;
        self.last = begin;
        let malformed = || Fault::at(ReadErrorKind::Syntax, begin, "malformed number");
        let whole = self.take_while(|byte| byte.is_ascii_digit());
        let number = if whole == "0" && matches!(self.byte(), Some(b'x' | b'X')) {
            self.at += 1;
            let digits = self.take_while(|byte| byte.is_ascii_hexdigit());
            if digits.is_empty() {
                return Err(malformed());
            }
            Number::Integer(digits, 16)
        } else {
            let mut fraction = "";
            let mut float = self.byte() == Some(b'.');
            if float {
                self.at += 1;
                fraction = self.take_while(|byte| byte.is_ascii_digit());
            }
            if whole.is_empty() && fraction.is_empty() {
                return Err(malformed());
            }
            if let Some(b'e' | b'E') = self.byte() {
                self.at += 1;
                float = true;
                if let Some(b'+' | b'-') = self.byte() {
                    self.at += 1;
                }
                if self.take_while(|byte| byte.is_ascii_digit()).is_empty() {
                    return Err(malformed());
                }
            }
            let digits = &self.text[begin..self.at];
            if let Some(b'f' | b'F') = self.byte() {
                self.at += 1;
                float = true;
            }
            let octal = whole.len() > 1 && whole.starts_with('0');
            match (float, octal) {
                (true, true) => return Err(malformed()),
                (true, false) => Number::Float(digits),
                (false, false) => Number::Integer(digits, 10),
                (false, true) if digits.bytes().all(|digit| digit < b'8') => Number::Integer(digits, 8),
                (false, true) => return Err(malformed()),
            }
        };
        match self.byte() {
            Some(byte) if is_name(byte) || byte == b'.' => Err(malformed()),
            _ => Ok(Some(number)),
        }
    }

    /// Reads one or more strings that stand next to each other, as one.
    pub(super) fn string(&mut self) -> Result<Option<Cow<'i, [u8]>>, ReadFault> {
        let Some(b'"' | b'\'') = self.peek() else { return Ok(None) };
        let begin = self.at;
        let mut value = self.one_string()?;
        while let Some(b'"' | b'\'') = self.peek() {
            let more = self.one_string()?;
            value.to_mut().extend_from_slice(&more);
        }
        self.last = begin;
        Ok(Some(value))
    }

    fn one_string(&mut self) -> Result<Cow<'i, [u8]>, ReadFault> {
        let Some(quote) = self.byte() else { return Err(self.syntax("a string")) };
        self.at += 1;
        let bytes = self.text.as_bytes();
        let mut begin = self.at;
        let mut value: Cow<'i, [u8]> = Cow::Borrowed(&[]);
        loop {
            let rest = &bytes[self.at..];
            let plain = rest.iter().position(|&byte| byte == quote || byte == b'\\' || byte == b'\n');
            let Some(plain) = plain else {
                return Err(Fault::at(ReadErrorKind::Syntax, bytes.len(), "expected the end of a string"));
            };
            self.at += plain;
            let part = &bytes[begin..self.at];
            if value.is_empty() {
                value = Cow::Borrowed(part);
            } else {
                value.to_mut().extend_from_slice(part);
            }
            match self.byte() {
                Some(b'\\') => {
                    let escape = self.at;
                    let len = unescape(&bytes[escape + 1..], value.to_mut());
                    let len = len.map_err(|detail| Fault::at(ReadErrorKind::InvalidEscape, escape, detail))?;
                    self.at = escape + 1 + len;
                    begin = self.at;
                }
                Some(b'\n') => return Err(Fault::at(ReadErrorKind::Syntax, self.at, "a string ends before its line")),
                _ => {
                    self.at += 1;
                    return Ok(value);
                }
            }
        }
    }

    /// Reads a field's value and forgets it: what stands behind the name, the colon included. `left` levels may be
    /// nested.
    pub(super) fn skip_value(&mut self, left: u32) -> Result<(), ReadFault> {
        let colon = self.eat(b':');
        match self.peek() {
            Some(b'{' | b'<') => self.skip_message(left),
            Some(b'[') => {
                self.at += 1;
                if self.eat(b']') {
                    return Ok(());
                }
                loop {
                    match self.peek() {
                        Some(b'{' | b'<') => self.skip_message(left)?,
                        // Scalars need the colon.
                        _ if colon => self.skip_scalar()?,
                        _ => return Err(self.syntax("'{' or '<'")),
                    }
                    if self.eat(b']') {
                        return Ok(());
                    }
                    if !self.eat(b',') {
                        return Err(self.syntax("',' or ']'"));
                    }
                }
            }
            _ if colon => self.skip_scalar(),
            _ => Err(self.syntax("':'")),
        }
    }

    fn skip_scalar(&mut self) -> Result<(), ReadFault> {
        if self.string()?.is_some() {
            return Ok(());
        }
        let negative = self.eat(b'-');
        if self.number()?.is_some() {
            return Ok(());
        }
        match self.name() {
            Some(name) if !negative || super::scalar::special(name).is_some() => Ok(()),
            _ => Err(self.syntax("a value")),
        }
    }

    fn skip_message(&mut self, left: u32) -> Result<(), ReadFault> {
        let close = self.open()?;
        if left == 0 {
            return Err(self.fault(ReadErrorKind::DepthLimit, ""));
        }
        while !self.eat(close) {
            if self.eat(b'[') {
                self.bracketed()?;
            } else if self.name().is_none() && !matches!(self.number()?, Some(Number::Integer(_, 10))) {
                return Err(self.syntax("a field's name"));
            }
            self.skip_value(left - 1)?;
            self.separator();
        }
        Ok(())
    }

    /// Reads the comma or semicolon that may stand behind a field.
    pub(super) fn separator(&mut self) {
        _ = self.eat(b',') || self.eat(b';');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_by_the_way_they_are_written() {
        use Number::{Float, Integer};
        for (text, number) in [
            ("0", Integer("0", 10)),
            ("12 ", Integer("12", 10)),
            ("012", Integer("012", 8)),
            ("0xfF", Integer("fF", 16)),
            ("1.", Float("1.")),
            (".5f", Float(".5")),
            ("1.5e-3F", Float("1.5e-3")),
            ("10f", Float("10")),
            ("0f", Float("0")),
            ("1e5,", Float("1e5")),
        ] {
            assert_eq!(Lexer::new(text).number().unwrap(), Some(number), "{text}");
        }
        for bad in [".", "08", "0x", "0xg", "1e", "1.2.3", "12ab", "012f", "01.5", "1ff", "0x1.5"] {
            assert_eq!(Lexer::new(bad).number().unwrap_err().kind, ReadErrorKind::Syntax, "{bad}");
        }
        assert_eq!(Lexer::new("x").number().unwrap(), None);
    }

    #[test]
    fn strings_are_joined_and_comments_skipped() {
        let mut lexer = Lexer::new(" # first\n 'a\\n' # 'not this'\n\"b'\"'' next");
        assert_eq!(lexer.string().unwrap().unwrap(), &b"a\nb'"[..]);
        assert_eq!(lexer.name(), Some("next"));
        assert!(matches!(Lexer::new("'plain'").string(), Ok(Some(Cow::Borrowed(b"plain")))));
        for bad in ["'a\nb'", "'a", "'a\"", "'\\", "'a\\'"] {
            assert!(Lexer::new(bad).string().is_err(), "{bad}");
        }
    }

    #[test]
    fn names_in_brackets() {
        for (text, name) in
            [("a.b]", "a.b"), (" a . # c\n b ]", "a.b"), ("type.googleapis.com/a.B]", "type.googleapis.com/a.B")]
        {
            assert_eq!(Lexer::new(text).bracketed().unwrap(), name);
        }
        for bad in ["]", "a..b]", "a.b", "a\"b]", ".a]", "a/]", "é]"] {
            assert!(Lexer::new(bad).bracketed().is_err(), "{bad}");
        }
    }

    #[test]
    fn skipping_keeps_to_the_grammar() {
        let skips = |text: &str| {
            let mut lexer = Lexer::new(text);
            lexer.skip_value(2).map(|()| lexer.peek())
        };
        for good in [
            ": 1",
            ": -1.5f",
            ": -inf",
            ": NAME",
            ": 'a' \"b\"",
            "{ a: 1; b <>, [x.y]: 3 5: 6 }",
            ": { a [{}, <>] }",
            "[]",
            ": [1, 'a', B]",
            "[{}, {}]",
        ] {
            assert_eq!(skips(good).unwrap(), None, "{good}");
        }
        for bad in
            ["1", ": -NAME", ": [1,]", ": [1 2]", "[1]", "{ a 1 }", "{ a: 1,, }", "{", "{>", "<}", ":", "{ 'a': 1 }"]
        {
            assert_eq!(skips(bad).unwrap_err().kind, ReadErrorKind::Syntax, "{bad}");
        }
        assert_eq!(skips("{a{b{}}}").unwrap_err().kind, ReadErrorKind::DepthLimit);
    }
}
