//! The schemas that tests use: those of the examples, those made for tests, and descriptors themselves.

use std::path::PathBuf;

use prost::Message as _;
use prost_types::FileDescriptorSet;

/// Schemas by the name that [`descriptor_set`] takes.
pub const ALL: [&str; 6] = [
    "hello.proto",
    "proto2_basic.proto",
    "kinds2.proto",
    "kinds3.proto",
    "wide.proto",
    "google/protobuf/descriptor.proto",
];

/// The serialized set of one of [`ALL`].
pub fn descriptor_set(name: &str) -> Vec<u8> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let dirs = [here.join("../examples"), here.join("protos")];
    protox::compile([name], dirs).unwrap_or_else(|error| panic!("{name}: {error}")).encode_to_vec()
}

/// The serialized set of one file given as source.
pub fn descriptor_set_of(source: &str) -> Vec<u8> {
    let file =
        protox::file::File::from_source("test.proto", source).unwrap_or_else(|error| panic!("{error:?}\n{source}"));
    let mut resolver = protox::file::ChainFileResolver::new();
    resolver.add(One(file.file_descriptor_proto().clone()));
    resolver.add(protox::file::GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.include_imports(true).open_file("test.proto").unwrap_or_else(|error| panic!("{error:?}\n{source}"));
    compiler.encode_file_descriptor_set()
}

struct One(prost_types::FileDescriptorProto);

impl protox::file::FileResolver for One {
    fn open_file(&self, name: &str) -> Result<protox::file::File, protox::Error> {
        match name == self.0.name() {
            true => Ok(protox::file::File::from_file_descriptor_proto(self.0.clone())),
            false => Err(protox::Error::file_not_found(name)),
        }
    }
}

/// The set as it is when it is encoded anew.
pub fn parse(set: &[u8]) -> FileDescriptorSet {
    FileDescriptorSet::decode(set).expect("a descriptor set")
}
