//! What a schema file is: `.proto` text, or a serialized `FileDescriptorSet`.
//!
//! The content decides, never the name: UTF-8 without control characters other than white space is `.proto` text,
//! anything else a descriptor set. A set with as much as one message in it cannot be taken for text, since the labels
//! and numbers of fields are control characters.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};

/// Larger files are no schemas. The library's own limit for descriptor sets.
const MOST_BYTES: u64 = 64 << 20;

/// The content of a schema file.
#[derive(Debug, PartialEq)]
pub enum Source {
    Proto(Proto),
    Set(Vec<u8>),
}

/// A `.proto` file.
#[derive(Debug, PartialEq)]
pub struct Proto {
    pub path: PathBuf,
    pub text: String,
}

/// Reads a schema file, once and from start to end: it may be a pipe.
pub fn read(path: &Path) -> Outcome<Source> {
    let bytes = read_bytes(path).map_err(|what| Failure::Usage(format!("{}: {what}", path.display())))?;
    recognise(path, bytes).map_err(|what| Failure::Usage(format!("{}: {what}", path.display())))
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|error| format!("the schema cannot be opened: {error}"))?;
    if file.metadata().is_ok_and(|data| data.is_dir()) {
        return Err("the schema is a directory; name .proto files or a descriptor set in it".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| format!("the schema cannot be read: {error}"))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("the schema is larger than {} MiB", MOST_BYTES >> 20));
    }
    Ok(bytes)
}

fn recognise(path: &Path, bytes: Vec<u8>) -> Result<Source, String> {
    if bytes.is_empty() {
        return Err("the schema is empty".to_owned());
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err("the schema is UTF-16 text; .proto files are UTF-8".to_owned());
    }
    let is_text = |text: &str| text.chars().all(|c| !c.is_ascii_control() || c.is_ascii_whitespace() || c == '\x0b');
    match String::from_utf8(bytes) {
        Ok(text) if is_text(&text) => {
            let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
            Ok(Source::Proto(Proto { path: path.to_owned(), text }))
        }
        Ok(text) => Ok(Source::Set(text.into_bytes())),
        Err(error) => Ok(Source::Set(error.into_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(bytes: &[u8]) -> &'static str {
        match recognise(Path::new("x"), bytes.to_vec()) {
            Ok(Source::Proto(_)) => "proto",
            Ok(Source::Set(_)) => "set",
            Err(_) => "error",
        }
    }

    #[test]
    fn kinds() {
        assert_eq!(kind(b"\nsyntax = \"proto3\";\r\n\tmessage M {}\n"), "proto");
        assert_eq!(kind("// gr\u{fc}\u{df}e\n".as_bytes()), "proto");
        assert_eq!(kind("\u{feff}syntax = \"proto3\";".as_bytes()), "proto");
        assert_eq!(kind(b"// gr\xfc\xdfe\n"), "set");
        assert_eq!(kind(b"\x0a\x09\x0a\x01f\x22\x04\x0a\x02Mm"), "set");
        assert_eq!(kind(b"\0"), "set");
        assert_eq!(kind(b""), "error");
        assert_eq!(kind(b"\xff\xfes\0y\0"), "error");
    }
}
