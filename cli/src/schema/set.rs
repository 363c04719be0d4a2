//! Descriptor sets, taken apart and put together file by file. What a file holds is left as it is, byte for byte.

use std::path::Path;

use protojit_source::google_file;

use crate::failure::{Failure, Outcome};

/// Fields of `google.protobuf.FileDescriptorProto`.
const NAME: u64 = 1;
const DEPENDENCY: u64 = 3;
const SOURCE_CODE_INFO: u64 = 9;

/// The files of one or several sets.
#[derive(Debug, Default)]
pub struct Files {
    files: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    name: String,
    bytes: Vec<u8>,
    imports: Vec<String>,
    origin: String,
}

impl Files {
    /// Adds the files of a serialized set. A file may come twice, as long as it says the same; only comments and
    /// positions may differ. Of Google's own files the first one counts.
    pub fn add_set(&mut self, path: &Path, bytes: &[u8]) -> Outcome {
        let origin = path.display().to_string();
        let malformed = |what: &str| {
            let text =
                if bytes.is_ascii() { "no .proto file, for it holds control characters" } else { "no UTF-8 text" };
            Failure::Usage(format!("{origin}: the schema is {text}, and no FileDescriptorSet: {what}"))
        };
        let before = self.files.len();
        for (number, value) in fields(bytes).map_err(malformed)? {
            let (1, Some(file)) = (number, value) else { continue };
            let entry = Entry::read(file, &origin).map_err(malformed)?;
            match self.files.iter().find(|other| other.name == entry.name) {
                Some(other) if is_well_known(&entry.name) || other.says_the_same(&entry) => {}
                Some(other) => {
                    let (name, first) = (&entry.name, &other.origin);
                    return Err(Failure::Usage(format!("{origin}: its {name} differs from the one in {first}")));
                }
                None => self.files.push(entry),
            }
        }
        if before == self.files.len() && before == 0 {
            return Err(malformed("it holds no file"));
        }
        Ok(())
    }

    /// Adds the compiler's output. Where that was compiled against files which are here already, those stay.
    pub fn add_compiled(&mut self, bytes: &[u8]) -> Outcome {
        let malformed = |what: &str| Failure::Usage(format!("the compiler's output is no descriptor set: {what}"));
        for (number, value) in fields(bytes).map_err(malformed)? {
            let (1, Some(file)) = (number, value) else { continue };
            let entry = Entry::read(file, "").map_err(malformed)?;
            if !self.files.iter().any(|other| other.name == entry.name) {
                self.files.push(entry);
            }
        }
        Ok(())
    }

    /// Adds Google's own files where they are imported and missing: many sets come without them.
    pub fn add_well_known(&mut self) {
        let mut at = 0;
        while at < self.files.len() {
            for name in self.files[at].imports.clone() {
                if self.files.iter().any(|file| file.name == name) {
                    continue;
                }
                let Some(bytes) = google_file(&name) else { continue };
                self.files.extend(Entry::read(&bytes, "protojit"));
            }
            at += 1;
        }
    }

    /// The names of files that no other file imports.
    pub fn not_imported(&self) -> Vec<String> {
        let imported = |name: &String| self.files.iter().any(|file| file.imports.contains(name));
        self.files.iter().map(|file| &file.name).filter(|name| !imported(name)).cloned().collect()
    }

    /// All of it as one serialized set.
    pub fn to_set(&self) -> Vec<u8> {
        let mut set = Vec::with_capacity(self.files.iter().map(|file| file.bytes.len() + 6).sum());
        for file in &self.files {
            set.push(1 << 3 | 2);
            protojit_core::wire::push_varint(file.bytes.len() as u64, &mut set);
            set.extend_from_slice(&file.bytes);
        }
        set
    }
}

impl Entry {
    fn read(file: &[u8], origin: &str) -> Result<Entry, &'static str> {
        let (mut name, mut imports) = (None, Vec::new());
        for (number, value) in fields(file)? {
            let text = || std::str::from_utf8(value.unwrap_or_default()).map_err(|_| "a file name is not UTF-8");
            match number {
                NAME => name = Some(text()?.to_owned()),
                DEPENDENCY => imports.push(text()?.to_owned()),
                _ => {}
            }
        }
        let name = name.ok_or("a file in it has no name")?;
        Ok(Entry { name, bytes: file.to_vec(), imports, origin: origin.to_owned() })
    }

    fn says_the_same(&self, other: &Entry) -> bool {
        let said = |entry: &Entry| -> Vec<(u64, Option<Vec<u8>>)> {
            let fields = fields(&entry.bytes).unwrap_or_default();
            let kept = fields.into_iter().filter(|&(number, _)| number != SOURCE_CODE_INFO);
            kept.map(|(number, value)| (number, value.map(<[u8]>::to_vec))).collect()
        };
        self.bytes == other.bytes || said(self) == said(other)
    }
}

fn is_well_known(name: &str) -> bool {
    name.starts_with("google/protobuf/")
}

/// The fields of a message: numbers, and values where they have a length.
type RawFields<'a> = Vec<(u64, Option<&'a [u8]>)>;

/// Splits a message into its fields. Groups do not occur in descriptors.
fn fields(mut bytes: &[u8]) -> Result<RawFields<'_>, &'static str> {
    const ENDS: &str = "it ends inside a field";
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = take_varint(&mut bytes).ok_or("a field's tag is no varint")?;
        let mut value = None;
        let length = match tag & 7 {
            0 => take_varint(&mut bytes).map(|_| 0).ok_or(ENDS)?,
            1 => 8,
            2 => {
                let length = take_varint(&mut bytes).ok_or(ENDS)?;
                value = Some(usize::try_from(length).ok().and_then(|length| bytes.get(..length)).ok_or(ENDS)?);
                length as usize
            }
            5 => 4,
            _ => return Err("a field has a wire type that descriptors do not use"),
        };
        if tag >> 3 == 0 {
            return Err("a field has the number 0");
        }
        fields.push((tag >> 3, value));
        bytes = bytes.get(length..).ok_or(ENDS)?;
    }
    Ok(fields)
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for at in 0..10 {
        let byte = *bytes.get(at)?;
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            *bytes = &bytes[at + 1..];
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &[u8] = b"\x0a\x09\x0a\x01f\x22\x04\x0a\x02Mm";

    #[test]
    fn merge() {
        let mut files = Files::default();
        files.add_set(Path::new("a"), ONE).unwrap();
        files.add_set(Path::new("b"), ONE).unwrap();
        assert_eq!(files.to_set(), ONE);
        // The same with source_code_info.
        files.add_set(Path::new("c"), b"\x0a\x0b\x0a\x01f\x22\x04\x0a\x02Mm\x4a\x00").unwrap();
        assert_eq!(files.to_set(), ONE);
        let error = files.add_set(Path::new("d"), b"\x0a\x09\x0a\x01f\x22\x04\x0a\x02Mn").unwrap_err();
        assert_eq!(format!("{error:?}"), r#"Usage("d: its f differs from the one in a")"#);
    }

    #[test]
    fn roots_and_well_known() {
        let mut files = Files::default();
        let import = b"google/protobuf/timestamp.proto";
        let mut file = b"\x0a\x01g\x1a\x01f\x1a".to_vec();
        file.push(import.len() as u8);
        file.extend_from_slice(import);
        let mut set = ONE.to_vec();
        set.extend_from_slice(&[0x0a, file.len() as u8]);
        set.extend_from_slice(&file);
        files.add_set(Path::new("a"), &set).unwrap();
        assert_eq!(files.not_imported(), ["g"]);
        assert_eq!(files.files.len(), 2);
        files.add_well_known();
        assert_eq!(files.files.len(), 3);
        assert_eq!(files.files[2].name, "google/protobuf/timestamp.proto");
    }

    #[test]
    fn malformed() {
        for bad in [&b"\0"[..], b"\x0a\x05\x0a", b"\x0a\x00", b"\x0b", b"\xff", b"\x08\x01", b"\x0a\x03\x0a\x01\xff"] {
            let error = Files::default().add_set(Path::new("x"), bad).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{bad:?}");
        }
    }
}
