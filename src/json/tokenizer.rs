//! JSON's tokens, strictly as RFC 8259 has them.
//!
//! The reader knows what it wants next from the schema and asks for just that; nothing is built in between. Strings
//! without escapes are slices of the input.

use std::borrow::Cow;

use super::escape::plain_prefix;
use crate::convert::error::{Fault, ReadErrorKind, ReadFault};
use crate::convert::number::number_len;

/// What a value is, told from its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Token {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl Token {
    /// For error messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Token::Null => "null",
            Token::Bool => "a bool",
            Token::Number => "a number",
            Token::String => "a string",
            Token::Array => "an array",
            Token::Object => "an object",
        }
    }
}

pub(super) struct Tokenizer<'i> {
    text: &'i str,
    at: usize,
    /// Where the token began that was read last.
    last: usize,
}

impl<'i> Tokenizer<'i> {
    pub(super) fn new(text: &'i str) -> Self {
        Tokenizer { text, at: 0, last: 0 }
    }

    /// Where the token began that was read last: what errors about its meaning point to.
    pub(super) fn last(&self) -> usize {
        self.last
    }

    /// The position, to come back to.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Goes back to a position.
    pub(super) fn rewind(&mut self, position: usize) {
        self.at = position;
    }

    /// An error about the meaning of the last token.
    #[cold]
    pub(super) fn fault(&self, kind: ReadErrorKind, detail: impl Into<Box<str>>) -> ReadFault {
        Fault::at(kind, self.last, detail)
    }

    #[cold]
    fn syntax(&self, detail: &str) -> ReadFault {
        let found = match self.text[self.at..].chars().next() {
            Some(found) => format!("{detail}, found {found:?}"),
            None => format!("{detail}, found the end"),
        };
        Fault::at(ReadErrorKind::Syntax, self.at, found)
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips whitespace and gives the byte behind it.
    #[inline]
    fn next_byte(&mut self) -> Option<u8> {
        loop {
            match self.byte() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other,
            }
        }
    }

    /// What the next value is.
    #[inline]
    pub(super) fn peek(&mut self) -> Result<Token, ReadFault> {
        let token = match self.next_byte() {
            Some(b'"') => Token::String,
            Some(b'{') => Token::Object,
            Some(b'[') => Token::Array,
            Some(b'-' | b'0'..=b'9') => Token::Number,
            Some(b't' | b'f') => Token::Bool,
            Some(b'n') => Token::Null,
            _ => return Err(self.syntax("expected a value")),
        };
        self.last = self.at;
        Ok(token)
    }

    /// An error unless the next value is this.
    #[inline]
    pub(super) fn expect(&mut self, wanted: Token) -> Result<(), ReadFault> {
        let found = self.peek()?;
        if found != wanted {
            return Err(self.wrong_type(wanted.name(), found));
        }
        Ok(())
    }

    #[cold]
    pub(super) fn wrong_type(&self, wanted: &str, found: Token) -> ReadFault {
        let kind = if found == Token::Null { ReadErrorKind::NullNotAllowed } else { ReadErrorKind::WrongType };
        self.fault(kind, format!("expected {wanted}, found {}", found.name()))
    }

    fn literal(&mut self, word: &str) -> Result<(), ReadFault> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.syntax("expected a value"));
        }
        self.at += word.len();
        Ok(())
    }

    /// Reads `null`, if that is what comes next.
    #[inline]
    pub(super) fn null(&mut self) -> Result<bool, ReadFault> {
        if self.peek()? != Token::Null {
            return Ok(false);
        }
        self.literal("null")?;
        Ok(true)
    }

    /// Reads a bool.
    pub(super) fn bool(&mut self) -> Result<bool, ReadFault> {
        self.expect(Token::Bool)?;
        let value = self.byte() == Some(b't');
        self.literal(if value { "true" } else { "false" })?;
        Ok(value)
    }

    /// Reads a number.
    #[inline]
    pub(super) fn number(&mut self) -> Result<&'i str, ReadFault> {
        self.expect(Token::Number)?;
        let begin = self.at;
        match number_len(&self.text.as_bytes()[begin..]) {
            0 => Err(Fault::at(ReadErrorKind::Syntax, begin, "malformed number")),
            len => {
                self.at += len;
                Ok(&self.text[begin..self.at])
            }
        }
    }

    /// Reads a string.
    #[inline]
    pub(super) fn string(&mut self) -> Result<Cow<'i, str>, ReadFault> {
        self.expect(Token::String)?;
        self.at += 1;
        let begin = self.at;
        self.at += plain_prefix(&self.text.as_bytes()[begin..]);
        if self.byte() == Some(b'"') {
            let plain = &self.text[begin..self.at];
            self.at += 1;
            return Ok(Cow::Borrowed(plain));
        }
        self.escaped_string(begin).map(Cow::Owned)
    }

    /// The rest of a string that begins at `begin`; `at` is at its first escape, or at what ends it too early.
    fn escaped_string(&mut self, begin: usize) -> Result<String, ReadFault> {
        let mut value = String::from(&self.text[begin..self.at]);
        loop {
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(value);
                }
                Some(b'\\') => value.push(self.escape()?),
                Some(_) => return Err(self.syntax("control characters in strings must be escaped")),
                None => return Err(self.syntax("expected the end of a string")),
            }
            let plain = self.at;
            self.at += plain_prefix(&self.text.as_bytes()[plain..]);
            value.push_str(&self.text[plain..self.at]);
        }
    }

    fn escape(&mut self) -> Result<char, ReadFault> {
        let begin = self.at;
        let invalid = |detail: &str| Fault::at(ReadErrorKind::InvalidEscape, begin, detail);
        self.at += 1;
        let value = match self.byte() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                let first = self.hex4().ok_or_else(|| invalid("expected four hex digits"))?;
                let code = match first {
                    0xd800..=0xdbff => {
                        if !self.text[self.at..].starts_with("\\u") {
                            return Err(invalid("half of a surrogate pair"));
                        }
                        self.at += 2;
                        match self.hex4() {
                            Some(second @ 0xdc00..=0xdfff) => 0x10000 + ((first - 0xd800) << 10 | (second - 0xdc00)),
                            _ => return Err(invalid("half of a surrogate pair")),
                        }
                    }
                    first => first,
                };
                return char::from_u32(code).ok_or_else(|| invalid("half of a surrogate pair"));
            }
            Some(_) => return Err(invalid("no such escape")),
            None => return Err(self.syntax("expected the end of a string")),
        };
        self.at += 1;
        Ok(value)
    }

    fn hex4(&mut self) -> Option<u32> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
        let value = digits.iter().try_fold(0, |value, &digit| Some(value << 4 | char::from(digit).to_digit(16)?))?;
        self.at += 4;
        Some(value)
    }

    /// Reads the beginning of an object.
    #[inline]
    pub(super) fn object(&mut self) -> Result<(), ReadFault> {
        self.expect(Token::Object)?;
        self.at += 1;
        Ok(())
    }

    /// Reads the beginning of an array.
    #[inline]
    pub(super) fn array(&mut self) -> Result<(), ReadFault> {
        self.expect(Token::Array)?;
        self.at += 1;
        Ok(())
    }

    /// In an object: reads on to the next member's value and gives its name, `None` at the end. `first` is true
    /// at the beginning, and stays with the caller.
    #[inline]
    pub(super) fn member(&mut self, first: &mut bool) -> Result<Option<Cow<'i, str>>, ReadFault> {
        if !self.more(first, b'}')? {
            return Ok(None);
        }
        if self.next_byte() != Some(b'"') {
            return Err(self.syntax("expected a name in quotes"));
        }
        let name = self.string()?;
        let last = self.last;
        if self.next_byte() != Some(b':') {
            return Err(self.syntax("expected ':'"));
        }
        self.at += 1;
        self.last = last;
        Ok(Some(name))
    }

    /// In an array: reads on to the next element, `false` at the end. `first` as for [`Tokenizer::member`].
    #[inline]
    pub(super) fn element(&mut self, first: &mut bool) -> Result<bool, ReadFault> {
        self.more(first, b']')
    }

    #[inline]
    fn more(&mut self, first: &mut bool, close: u8) -> Result<bool, ReadFault> {
        let next = self.next_byte();
        if next == Some(close) {
            self.at += 1;
            return Ok(false);
        }
        if !std::mem::take(first) {
            if next != Some(b',') {
                return Err(self.syntax(if close == b'}' { "expected ',' or '}'" } else { "expected ',' or ']'" }));
            }
            self.at += 1;
            // A comma announces another one.
            if self.next_byte() == Some(close) {
                return Err(self.syntax("expected a value after ','"));
            }
        }
        Ok(true)
    }

    /// Reads any value and forgets it. `left` levels may be nested.
    pub(super) fn skip(&mut self, left: u32) -> Result<(), ReadFault> {
        let token = self.peek()?;
        if matches!(token, Token::Array | Token::Object) && left == 0 {
            return Err(self.fault(ReadErrorKind::DepthLimit, ""));
        }
        let mut first = true;
        match token {
            Token::Null => self.literal("null")?,
            Token::Bool => _ = self.bool()?,
            Token::Number => _ = self.number()?,
            Token::String => _ = self.string()?,
            Token::Array => {
                self.array()?;
                while self.element(&mut first)? {
                    self.skip(left - 1)?;
                }
            }
            Token::Object => {
                self.object()?;
                while self.member(&mut first)?.is_some() {
                    self.skip(left - 1)?;
                }
            }
        }
        Ok(())
    }

    /// An error unless only whitespace is left.
    pub(super) fn end(&mut self) -> Result<(), ReadFault> {
        match self.next_byte() {
            None => Ok(()),
            Some(_) => Err(self.syntax("expected the end")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skips(text: &str) -> Result<(), ReadErrorKind> {
        let mut tokens = Tokenizer::new(text);
        tokens.skip(3).and_then(|()| tokens.end()).map_err(|fault| fault.kind)
    }

    #[test]
    fn the_grammar_is_strict() {
        for good in [
            "null",
            " [ ] ",
            "{}",
            "[1,2.5e3,-0]",
            r#"{"a":{"b":[true,false,null]}}"#,
            "\"\u{7f}\"",
            "\t\r\n1 ",
            r#""\ud83d\ude01\u0000""#,
        ] {
            assert_eq!(skips(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "nul",
            "nulll",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\":1,}",
            "{,}",
            "{a:1}",
            "{'a':1}",
            "{\"a\" 1}",
            "01",
            "+1",
            ".5",
            "1.",
            "NaN",
            "-Infinity",
            "True",
            "\"a\nb\"",
            "\"abc",
            "\"abc\\",
            "1 2",
            "[1}",
            "/**/1",
            "\u{feff}1",
            "\u{a0}1",
        ] {
            assert_eq!(skips(bad), Err(ReadErrorKind::Syntax), "{bad}");
        }
        for bad in
            [r#""\x41""#, r#""\u12""#, r#""\ud800""#, r#""\udc00""#, r#""\ud800\u0041""#, r#""\U0041""#, r#""\u+123""#]
        {
            assert!(matches!(skips(bad), Err(ReadErrorKind::InvalidEscape | ReadErrorKind::Syntax)), "{bad}");
        }
        assert_eq!(skips("[[[1]]]"), Ok(()));
        assert_eq!(skips("[[[[1]]]]"), Err(ReadErrorKind::DepthLimit));
    }

    #[test]
    fn strings_without_escapes_are_borrowed() {
        let read = |text: &str| {
            Tokenizer::new(text).string().map(|value| (matches!(value, Cow::Borrowed(_)), value.into_owned()))
        };
        assert_eq!(read("\"plain, long enough: \u{1f601}\"").unwrap(), (true, "plain, long enough: \u{1f601}".into()));
        assert_eq!(read(r#""a\n\"\u0041\uD83D\uDE01\/z""#).unwrap(), (false, "a\n\"A\u{1f601}/z".into()));
    }
}
