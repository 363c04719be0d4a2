//! Finds files by their names.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use protox::file::{DescriptorSetFileResolver, File, FileResolver, GoogleFileResolver};

use crate::error::{SourceError, SourceErrorKind};
use crate::scan::uses_editions;
use crate::sources::ProtoSources;

/// The text of a file, and where it was found.
#[derive(Debug)]
pub(crate) enum Found {
    Memory(String),
    Directory(PathBuf, String),
    Closure(String),
}

impl Found {
    pub(crate) fn text(&self) -> &str {
        match self {
            Found::Memory(text) | Found::Directory(_, text) | Found::Closure(text) => text,
        }
    }
}

impl ProtoSources {
    /// Looks where texts are: in memory, in the directories, with the closure.
    pub(crate) fn find(&self, name: &str) -> Result<Option<Found>, SourceError> {
        if let Some(text) = self.files.get(name) {
            return Ok(Some(Found::Memory(without_bom(text).to_owned())));
        }
        if let Some((path, text)) = self.find_in_directories(name)? {
            return Ok(Some(Found::Directory(path, text)));
        }
        let resolved = self.resolver.as_ref().and_then(|resolver| resolver(name));
        Ok(resolved.map(|text| Found::Closure(without_bom(&text).to_owned())))
    }

    pub(crate) fn find_in_directories(&self, name: &str) -> Result<Option<(PathBuf, String)>, SourceError> {
        // An import may not lead out of the directories.
        if !is_valid_name(name) {
            return Ok(None);
        }
        for directory in &self.includes {
            let path = directory.join(name);
            match fs::read_to_string(&path) {
                Ok(text) => return Ok(Some((path, without_bom(&text).to_owned()))),
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(error) => {
                    return Err(SourceError::new(SourceErrorKind::Io, format!("{}: {error}", path.display())));
                }
            }
        }
        Ok(None)
    }
}

fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Whether a file can have this name: parts between single slashes, none of which leads elsewhere.
pub(crate) fn is_valid_name(name: &str) -> bool {
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']);
    // A colon in the first part is a drive on Windows.
    name.split('/').all(is_part) && !(cfg!(windows) && name.contains(':'))
}

/// The sources as protox asks for them.
pub(crate) struct Resolver {
    sources: ProtoSources,
    set: DescriptorSetFileResolver,
    google: GoogleFileResolver,
    stop: Stop,
}

/// What ended a compilation that protox only knows to have failed.
pub(crate) type Stop = Rc<RefCell<Option<Stopped>>>;

#[derive(Debug)]
pub(crate) enum Stopped {
    /// This file uses editions.
    Editions(String),
    /// A file is there but cannot be read.
    Error(SourceError),
}

impl Resolver {
    pub(crate) fn new(sources: &ProtoSources) -> Result<(Resolver, Stop), SourceError> {
        let invalid = |error: protox::prost::DecodeError| {
            SourceError::new(SourceErrorKind::InvalidSet, format!("the descriptor set is not valid: {error}"))
        };
        let stop = Stop::default();
        let resolver = Resolver {
            sources: sources.clone(),
            set: DescriptorSetFileResolver::decode(&sources.set[..]).map_err(invalid)?,
            google: GoogleFileResolver::new(),
            stop: stop.clone(),
        };
        Ok((resolver, stop))
    }

    fn stop(&self, why: Stopped) -> protox::Error {
        *self.stop.borrow_mut() = Some(why);
        protox::Error::new("stopped")
    }
}

impl FileResolver for Resolver {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match self.sources.find(name) {
            Ok(Some(found)) if uses_editions(found.text()) => Err(self.stop(Stopped::Editions(name.to_owned()))),
            Ok(Some(found)) => File::from_source(name, found.text()),
            Ok(None) => self.set.open_file(name).or_else(|_| self.google.open_file(name)),
            Err(error) => Err(self.stop(Stopped::Error(error))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a.proto", "a/b/c.proto", "a b/.c", "..."] {
            assert!(is_valid_name(good), "{good}");
        }
        for bad in ["", "/a", "a//b", "a/", "./a", "a/../b", "..", "a\\b", "a\0"] {
            assert!(!is_valid_name(bad), "{bad}");
        }
    }
}
