//! Linking descriptor sets, seen from outside.

mod build;
mod editions;
mod errors;
mod hostile;
mod oracle;
mod reflect;

use std::collections::HashMap;

use prost::Message as _;
use protojit_core::schema::Schema;

/// Files that protox can import from memory.
struct InMemory(HashMap<String, String>);

impl protox::file::FileResolver for InMemory {
    fn open_file(&self, name: &str) -> Result<protox::file::File, protox::Error> {
        match self.0.get(name) {
            Some(source) => protox::file::File::from_source(name, source),
            None => Err(protox::Error::file_not_found(name)),
        }
    }
}

/// The serialized set of these files (name and source); the last comes last.
fn compile(files: &[(&str, &str)]) -> Vec<u8> {
    let sources = files.iter().map(|(name, source)| (name.to_string(), source.to_string()));
    let mut resolver = protox::file::ChainFileResolver::new();
    resolver.add(InMemory(sources.collect()));
    resolver.add(protox::file::GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.include_imports(true).include_source_info(false);
    for (name, _) in files {
        compiler.open_file(name).unwrap_or_else(|error| panic!("{error:?}"));
    }
    compiler.encode_file_descriptor_set()
}

fn schema_of(source: &str) -> Schema {
    Schema::from_descriptor_set(compile(&[("test.proto", source)])).unwrap()
}

/// Round trip through prost, to be sure that protox gave a set.
#[test]
fn sets_are_sets() {
    let set = compile(&[("a.proto", "syntax = \"proto3\"; message A {}")]);
    let decoded = protox::prost_reflect::prost_types::FileDescriptorSet::decode(&set[..]).unwrap();
    assert_eq!(decoded.file.len(), 1);
}
