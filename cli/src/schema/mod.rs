//! From the files named on the command line to linked descriptors.
//!
//! Each `-s` is read once, so that pipes work, and told apart by what it holds ([`source`]). The `.proto` files are
//! compiled together ([`proto`]); descriptor sets are taken as they are. What comes out is merged into one set
//! ([`set`]), which the library links.

mod pick;
mod proto;
mod set;
mod source;

use protojit::descriptors::{MessageDescriptor, Schema as Descriptors};

use crate::args::SchemaArgs;
use crate::failure::{Failure, Outcome};
use source::Source;

/// Linked descriptors, and which of their files were asked for rather than imported.
#[derive(Debug)]
pub struct Loaded {
    pub descriptors: Descriptors,
    roots: Vec<String>,
}

/// Reads, compiles and links what the command line names.
pub fn load(args: &SchemaArgs) -> Outcome<Loaded> {
    let mut files = set::Files::default();
    let (mut protos, mut first_set) = (Vec::new(), None);
    for path in &args.schema {
        match source::read(path)? {
            Source::Proto(proto) => protos.push(proto),
            Source::Set(bytes) => {
                files.add_set(path, &bytes)?;
                first_set.get_or_insert(path);
            }
        }
    }
    let mut roots = if first_set.is_some() { files.not_imported() } else { Vec::new() };
    if !protos.is_empty() {
        let compiled = proto::compile(&protos, &args.include, &files.to_set())?;
        files.add_compiled(&compiled.set)?;
        roots.extend(compiled.names);
    }
    files.add_well_known();
    let descriptors = Descriptors::from_descriptor_set(files.to_set()).map_err(|error| {
        let file = first_set.unwrap_or(&args.schema[0]).display();
        let hint = match error.kind() {
            protojit::descriptors::SchemaErrorKind::MissingImport { .. } => {
                " (descriptor sets must hold what they import: protoc writes it with --include_imports)"
            }
            _ => "",
        };
        Failure::Usage(format!("{file}: {error}{hint}"))
    })?;
    Ok(Loaded { descriptors, roots })
}

impl Loaded {
    /// The message of this name, or the only one there is.
    pub fn message(&self, name: Option<&str>) -> Outcome<MessageDescriptor> {
        match name {
            Some(name) => pick::named(&self.descriptors, name),
            None => pick::only(self.top_level()),
        }
    }

    /// The messages that stand at the top of the files asked for.
    pub fn top_level(&self) -> Vec<MessageDescriptor> {
        let files = self.descriptors.files();
        let own = files.filter(|file| self.roots.iter().any(|root| root == file.name()));
        own.flat_map(|file| file.messages().collect::<Vec<_>>()).collect()
    }
}
