//! Google's own files, which are built in.

use protox::file::{FileResolver, GoogleFileResolver};
use protox::prost::Message;

/// The names of the files that are built in.
pub const GOOGLE_FILES: [&str; 12] = [
    "google/protobuf/any.proto",
    "google/protobuf/source_context.proto",
    "google/protobuf/type.proto",
    "google/protobuf/api.proto",
    "google/protobuf/descriptor.proto",
    "google/protobuf/duration.proto",
    "google/protobuf/empty.proto",
    "google/protobuf/field_mask.proto",
    "google/protobuf/struct.proto",
    "google/protobuf/timestamp.proto",
    "google/protobuf/wrappers.proto",
    "google/protobuf/compiler/plugin.proto",
];

/// One of [`GOOGLE_FILES`] as a serialized `FileDescriptorProto`; `None` for other names.
///
/// ```
/// assert!(protojit_source::google_file("google/protobuf/timestamp.proto").is_some());
/// assert!(protojit_source::google_file("google/type/date.proto").is_none());
/// ```
pub fn google_file(name: &str) -> Option<Vec<u8>> {
    let file = GoogleFileResolver::new().open_file(name).ok()?;
    Some(file.file_descriptor_proto().encode_to_vec())
}

/// All of them as one serialized set, imports first.
pub(crate) fn google_set() -> Vec<u8> {
    let mut set = Vec::new();
    for file in GOOGLE_FILES.into_iter().filter_map(google_file) {
        set.push(1 << 3 | 2);
        protox::prost::encoding::encode_varint(file.len() as u64, &mut set);
        set.extend_from_slice(&file);
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_there_and_imports_first() {
        let set = prost_types::FileDescriptorSet::decode(&google_set()[..]).unwrap();
        let names: Vec<&str> = set.file.iter().map(|file| file.name()).collect();
        assert_eq!(names, GOOGLE_FILES);
        for (at, file) in set.file.iter().enumerate() {
            assert!(file.dependency.iter().all(|import| names[..at].contains(&&**import)), "{}", names[at]);
        }
    }
}
