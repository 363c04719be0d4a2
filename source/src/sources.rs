//! Where `.proto` files come from, and their compilation.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use protox::Compiler;

use crate::error::{SourceError, SourceErrorKind};
use crate::protoc;
use crate::resolve::{Resolver, Stopped, is_valid_name};

/// Gives the text of a file by the name that imports give it.
type TextOf = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Where `.proto` files are found, for those to compile and for all that they import.
///
/// A file is looked for in this order: [files in memory](ProtoSources::file), [directories](ProtoSources::include), the
/// [closure](ProtoSources::resolver), [descriptor sets](ProtoSources::descriptor_set), the files that are built in.
#[derive(Clone, Default)]
pub struct ProtoSources {
    pub(crate) includes: Vec<PathBuf>,
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) resolver: Option<Arc<TextOf>>,
    pub(crate) set: Vec<u8>,
    pub(crate) protoc: Option<PathBuf>,
}

impl ProtoSources {
    /// Nothing but the files that are built in.
    pub fn new() -> ProtoSources {
        ProtoSources::default()
    }

    /// Adds a directory, after those added before: `acme/order.proto` is the file `directory/acme/order.proto`.
    #[must_use]
    pub fn include(mut self, directory: impl Into<PathBuf>) -> ProtoSources {
        self.includes.push(directory.into());
        self
    }

    /// Adds a file in memory under the name that imports give it. It hides files of this name found elsewhere, also one
    /// added before.
    #[must_use]
    pub fn file(mut self, name: impl Into<String>, text: impl Into<String>) -> ProtoSources {
        self.files.insert(name.into(), text.into());
        self
    }

    /// Asks `resolver` for the text of a file that is neither in memory nor in a directory, by the name that the import
    /// gives it. It may be asked for the same file again, and for Google's files, which are built in: give `None` for
    /// what you do not have. There is one closure; a second takes the place of the first.
    #[must_use]
    pub fn resolver(mut self, resolver: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> ProtoSources {
        self.resolver = Some(Arc::new(resolver));
        self
    }

    /// Adds a serialized `FileDescriptorSet` whose files can be imported.
    #[must_use]
    pub fn descriptor_set(mut self, set: &[u8]) -> ProtoSources {
        // Two sets one after the other are a set.
        self.set.extend_from_slice(set);
        self
    }

    /// The `protoc` for files that use editions, instead of what `PROTOC` names or what is found on the `PATH`.
    #[must_use]
    pub fn protoc(mut self, protoc: impl Into<PathBuf>) -> ProtoSources {
        self.protoc = Some(protoc.into());
        self
    }

    /// Compiles the files of these names to a serialized `FileDescriptorSet`, with all they import. Imports come before
    /// what imports them, so that the last file of the set is the last one named, unless another one imports it.
    ///
    /// ```
    /// use protojit_source::{ProtoSources, SourceErrorKind};
    ///
    /// let sources = ProtoSources::new().file("m.proto", "syntax = \"proto3\";\nmessage M {\n  Missing m = 1;\n}");
    /// let error = sources.compile(["m.proto"]).unwrap_err();
    /// assert_eq!(error.kind(), SourceErrorKind::Invalid);
    /// assert!(error.to_string().contains("m.proto:3:"));
    /// ```
    ///
    /// # Errors
    /// A file is not found or is not valid; or one uses editions and there is no `protoc`, or that fails.
    pub fn compile<I>(&self, names: I) -> Result<Vec<u8>, SourceError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let names: Vec<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
        if let Some(bad) = names.iter().chain(self.files.keys()).find(|name| !is_valid_name(name)) {
            return Err(SourceError::new(SourceErrorKind::InvalidName, format!("{bad:?} is not a valid file name")));
        }
        let (resolver, stop) = Resolver::new(self)?;
        let mut compiler = Compiler::with_file_resolver(resolver);
        compiler.include_imports(true);
        for name in &names {
            let Err(error) = compiler.open_file(name) else { continue };
            return match stop.take() {
                Some(Stopped::Editions(file)) => protoc::compile(self, &names, &file),
                Some(Stopped::Error(error)) => Err(error),
                None => {
                    let not_found = error.is_file_not_found();
                    let kind = if not_found { SourceErrorKind::NotFound } else { SourceErrorKind::Invalid };
                    // Debug output is the one that tells the line.
                    Err(SourceError::new(kind, format!("{error:?}")))
                }
            };
        }
        Ok(compiler.encode_file_descriptor_set())
    }
}

/// Names, not texts.
impl fmt::Debug for ProtoSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProtoSources")
            .field("includes", &self.includes)
            .field("files", &self.files.keys())
            .field("resolver", &self.resolver.is_some())
            .field("descriptor_set", &format_args!("{} bytes", self.set.len()))
            .field("protoc", &self.protoc)
            .finish()
    }
}
