//! Strings as they lie in a message.

use std::borrow::Cow;
use std::fmt;
use std::str::Utf8Error;

/// A string's bytes. They are UTF-8 where the schema asks for the check and the decoder did not waive it, so
/// turning them into a `&str` is a question with an answer, not a promise.
///
/// ```
/// use protojit_core::message::StrRef;
/// let name = StrRef::new(b"Ada");
/// assert_eq!(name.to_str(), Ok("Ada"));
/// assert_eq!(name, "Ada");
/// assert!(StrRef::new(b"\xff").to_str().is_err());
/// assert_eq!(StrRef::new(b"a\xff").to_str_lossy(), "a\u{fffd}");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StrRef<'a>(&'a [u8]);

impl<'a> StrRef<'a> {
    /// A string of these bytes.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> StrRef<'a> {
        StrRef(bytes)
    }

    /// The bytes.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Length in bytes.
    #[inline]
    pub const fn len(self) -> usize {
        self.0.len()
    }

    /// Whether there are no bytes.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The string, if the bytes are UTF-8.
    ///
    /// # Errors
    /// They are not.
    #[inline]
    pub fn to_str(self) -> Result<&'a str, Utf8Error> {
        match simdutf8::basic::from_utf8(self.0) {
            Ok(text) => Ok(text),
            Err(_) => std::str::from_utf8(self.0),
        }
    }

    /// The string, with U+FFFD where the bytes are not UTF-8.
    pub fn to_str_lossy(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.0)
    }
}

impl<'a> From<&'a str> for StrRef<'a> {
    fn from(text: &'a str) -> Self {
        StrRef(text.as_bytes())
    }
}

impl<'a> TryFrom<StrRef<'a>> for &'a str {
    type Error = Utf8Error;

    fn try_from(text: StrRef<'a>) -> Result<&'a str, Utf8Error> {
        text.to_str()
    }
}

impl AsRef<[u8]> for StrRef<'_> {
    fn as_ref(&self) -> &[u8] {
        self.0
    }
}

impl PartialEq<str> for StrRef<'_> {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for StrRef<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

/// In quotes, with what is not UTF-8 as `\xNN`.
impl fmt::Debug for StrRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for chunk in self.0.utf8_chunks() {
            write!(f, "{}", chunk.valid().escape_debug())?;
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        f.write_str("\"")
    }
}

/// With U+FFFD for what is not UTF-8.
impl fmt::Display for StrRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_str_lossy(), f)
    }
}
