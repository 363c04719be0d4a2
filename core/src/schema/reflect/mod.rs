//! Looking around in a schema.
//!
//! A [`Schema`] is a counted pointer to one linked set, and every handle here is that
//! pointer and an index: cheap to clone, free to keep, equal when they name the same
//! element of the same schema. What a handle tells is read from the tables of
//! [`model`](super::model) ([`def`](MessageDescriptor::def) leads there).
//!
//! Options are handed out as bytes ([`options_bytes`](FieldDescriptor::options_bytes)): to
//! read them as a message, decode them as `google.protobuf.FieldOptions` and so on, with a
//! schema that knows the extensions (this one, if its set includes `descriptor.proto`).

mod enums;
mod field;
mod file;
mod message;
mod service;

use std::{fmt, hash, ptr, sync::Arc};

pub use enums::{EnumDescriptor, EnumValueDescriptor};
pub use field::{FieldDescriptor, Kind, OneofDescriptor};
pub use file::FileDescriptor;
pub use message::MessageDescriptor;
pub use service::{MethodDescriptor, ServiceDescriptor};

use super::{
    error::SchemaError,
    limits::SchemaLimits,
    link::link,
    model::{EnumId, ExtensionId, FieldKey, FileId, MessageId, SchemaData, ServiceId, Symbol},
};

/// Equality, hash and debug output of a handle, from its schema, its position and its name.
macro_rules! handle {
    ($name:ident, $($position:ident),+) => {
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.schema == other.schema $(&& self.$position == other.$position)+
            }
        }
        impl Eq for $name {}
        impl std::hash::Hash for $name {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.schema.hash(state);
                $(self.$position.hash(state);)+
            }
        }
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.full_name())
            }
        }
    };
}
use handle;

/// One linked, immutable set of descriptors: a namespace of its own.
///
/// Two schemas never mix: 200 versions of `acme.Order` are 200 schemas. A clone is
/// the same schema and costs a count; two schemas are equal only if one is a clone of
/// the other.
///
/// ```
/// use protojit_core::schema::Schema;
///
/// // A set of one file, `tiny.proto`: syntax = "proto3"; message Tiny { string name = 1; }
/// let set = b"\x0a\x30\x0a\x0atiny.proto\
///             \x22\x1a\x0a\x04Tiny\x12\x12\x0a\x04name\x18\x01\x20\x01\x28\x09\x52\x04name\
///             \x62\x06proto3";
/// let schema = Schema::from_descriptor_set(&set[..])?;
/// let tiny = schema.message("Tiny").expect("it is there");
/// let name = tiny.field_by_number(1).expect("it is there, too");
/// assert_eq!(name.name(), "name");
/// assert_eq!(name.full_name(), "Tiny.name");
/// assert_eq!(schema.message_at(&[0]), Some(tiny));
/// # Ok::<(), protojit_core::schema::SchemaError>(())
/// ```
#[derive(Clone)]
pub struct Schema(Arc<SchemaData>);

impl Schema {
    /// Links a serialized `google.protobuf.FileDescriptorSet`.
    ///
    /// The set must hold all files that its files import (weak imports and those for
    /// options alone may be missing), in any order, as `protoc --include_imports
    /// --descriptor_set_out` writes it. A file may occur twice if both are the same.
    ///
    /// # Errors
    /// If the set is malformed, inconsistent, or over the default [`SchemaLimits`].
    pub fn from_descriptor_set(bytes: impl Into<Box<[u8]>>) -> Result<Self, SchemaError> {
        Self::from_descriptor_set_with(bytes, &SchemaLimits::default())
    }

    /// Links a serialized `google.protobuf.FileDescriptorSet` within these limits.
    ///
    /// # Errors
    /// If the set is malformed, inconsistent, or over the limits.
    pub fn from_descriptor_set_with(bytes: impl Into<Box<[u8]>>, limits: &SchemaLimits) -> Result<Self, SchemaError> {
        let raw = bytes.into();
        let mut data = link(&raw, limits)?;
        data.raw = raw;
        Ok(Self(Arc::new(data)))
    }

    /// Links serialized `google.protobuf.FileDescriptorProto`s, as server reflection sends
    /// them: imports may come before or after what needs them.
    ///
    /// # Errors
    /// If a file is malformed, they are inconsistent, or over the default [`SchemaLimits`].
    pub fn from_file_descriptors<I>(files: I) -> Result<Self, SchemaError>
    where
        I: IntoIterator,
        I::Item: AsRef<[u8]>,
    {
        let mut set = Vec::new();
        for file in files {
            let file = file.as_ref();
            // Field 1 of FileDescriptorSet, length-prefixed.
            set.push(0x0a);
            let mut len = file.len();
            while len >= 0x80 {
                set.push(len as u8 | 0x80);
                len >>= 7;
            }
            set.push(len as u8);
            set.extend_from_slice(file);
        }
        Self::from_descriptor_set(set)
    }

    /// The tables behind the handles.
    #[inline]
    pub fn data(&self) -> &SchemaData {
        &self.0
    }

    /// The same tables, to be kept by who needs no handles.
    #[inline]
    pub fn shared(&self) -> &Arc<SchemaData> {
        &self.0
    }

    /// The serialized `FileDescriptorSet` this was made from, byte for byte.
    pub fn descriptor_set(&self) -> &[u8] {
        &self.0.raw
    }

    /// What a full name (no leading dot) stands for.
    pub fn symbol(&self, full_name: &str) -> Option<Symbol> {
        self.0.symbol(full_name)
    }

    /// The message with this full name (no leading dot).
    pub fn message(&self, full_name: &str) -> Option<MessageDescriptor> {
        match self.symbol(full_name)? {
            Symbol::Message(id) => Some(self.message_by_id(id)),
            _ => None,
        }
    }

    /// The message at an index path in the last file of the set, which schema registries
    /// call the root: `[1, 0]` is the first message nested in the file's second.
    ///
    /// Nested messages count as in `DescriptorProto.nested_type`, so the entry types of
    /// map fields count, too.
    pub fn message_at(&self, path: &[u32]) -> Option<MessageDescriptor> {
        self.root_file()?.message_at(path)
    }

    /// The message at an index path in the file of this name.
    pub fn message_in(&self, file: &str, path: &[u32]) -> Option<MessageDescriptor> {
        self.file(file)?.message_at(path)
    }

    /// All messages, nested ones and map entries included, each before those nested in it.
    pub fn messages(&self) -> impl Iterator<Item = MessageDescriptor> + '_ {
        (0..).zip(&self.0.messages).filter(|(_, def)| !def.placeholder).map(|(id, _)| self.message_by_id(MessageId(id)))
    }

    /// The enum with this full name.
    pub fn enum_(&self, full_name: &str) -> Option<EnumDescriptor> {
        match self.symbol(full_name)? {
            Symbol::Enum(id) => Some(self.enum_by_id(id)),
            _ => None,
        }
    }

    /// All enums, nested ones included.
    pub fn enums(&self) -> impl Iterator<Item = EnumDescriptor> + '_ {
        (0..).zip(&self.0.enums).filter(|(_, def)| !def.placeholder).map(|(id, _)| self.enum_by_id(EnumId(id)))
    }

    /// The extension with this full name.
    pub fn extension(&self, full_name: &str) -> Option<FieldDescriptor> {
        match self.symbol(full_name)? {
            Symbol::Extension(id) => Some(self.field(FieldKey::Extension(id))),
            _ => None,
        }
    }

    /// All extensions, wherever they are declared.
    pub fn extensions(&self) -> impl Iterator<Item = FieldDescriptor> + '_ {
        (0..self.0.extensions.len() as u32).map(|id| self.field(FieldKey::Extension(ExtensionId(id))))
    }

    /// The service with this full name.
    pub fn service(&self, full_name: &str) -> Option<ServiceDescriptor> {
        match self.symbol(full_name)? {
            Symbol::Service(id) => Some(ServiceDescriptor::new(self, id)),
            _ => None,
        }
    }

    /// All services.
    pub fn services(&self) -> impl Iterator<Item = ServiceDescriptor> + '_ {
        (0..self.0.services.len() as u32).map(|id| ServiceDescriptor::new(self, ServiceId(id)))
    }

    /// The file of this name, as imports spell it.
    pub fn file(&self, name: &str) -> Option<FileDescriptor> {
        self.files().find(|file| file.name() == name)
    }

    /// All files, in the order of the set.
    pub fn files(&self) -> impl Iterator<Item = FileDescriptor> + '_ {
        (0..self.0.files.len() as u32).map(|id| FileDescriptor::new(self, FileId(id)))
    }

    /// The file that comes last in the set; none if the set is empty.
    pub fn root_file(&self) -> Option<FileDescriptor> {
        Some(FileDescriptor::new(self, self.0.root_file?))
    }

    /// The message with this id.
    ///
    /// # Panics
    /// If the id is from another schema and points past the end of this one.
    pub fn message_by_id(&self, id: MessageId) -> MessageDescriptor {
        assert!(id.index() < self.0.messages.len(), "{id:?} is no message");
        MessageDescriptor::new(self, id)
    }

    /// The enum with this id.
    ///
    /// # Panics
    /// If the id is from another schema and points past the end of this one.
    pub fn enum_by_id(&self, id: EnumId) -> EnumDescriptor {
        assert!(id.index() < self.0.enums.len(), "{id:?} is no enum");
        EnumDescriptor::new(self, id)
    }

    /// The field or extension with this key.
    ///
    /// # Panics
    /// If the key is from another schema and points past the end of this one.
    pub fn field(&self, key: FieldKey) -> FieldDescriptor {
        let _ = self.0.field(key);
        FieldDescriptor::new(self, key)
    }
}

/// Handles for tables that [`Schema::shared`] gave; the schema equals the one they are from.
impl From<Arc<SchemaData>> for Schema {
    fn from(data: Arc<SchemaData>) -> Self {
        Self(data)
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Schema {}

impl hash::Hash for Schema {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        ptr::hash(Arc::as_ptr(&self.0), state);
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema")
            .field("files", &self.0.files.len())
            .field("messages", &self.0.messages.len())
            .field("bytes", &self.0.raw.len())
            .finish()
    }
}
