//! The linked schema as plain data.
//!
//! Everything is index-based: a [`MessageId`] is a position in
//! [`SchemaData::messages`], and so on. Descriptors are handed to users through the
//! handles of [`super::reflect`]; engines and program builders read this model directly.

use std::ops::Range;

use hashbrown::HashMap;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);
        impl $name {
            /// The position as a `usize`.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A file's position in [`SchemaData::files`].
    FileId,
    /// A message's position in [`SchemaData::messages`].
    MessageId,
    /// An enum's position in [`SchemaData::enums`].
    EnumId,
    /// An extension's position in [`SchemaData::extensions`].
    ExtensionId,
    /// A service's position in [`SchemaData::services`].
    ServiceId,
}

/// A byte range inside [`SchemaData::raw`]; empty where the element was absent.
pub type RawRange = Range<u32>;

/// What a name in a schema stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Symbol {
    /// A package (or a prefix of one).
    Package,
    /// A message.
    Message(MessageId),
    /// An enum.
    Enum(EnumId),
    /// An enum value: its enum and its position there.
    EnumValue(EnumId, u32),
    /// A field: its message and its position there.
    Field(MessageId, u32),
    /// A oneof: its message and its position there.
    Oneof(MessageId, u32),
    /// An extension field.
    Extension(ExtensionId),
    /// A service.
    Service(ServiceId),
    /// A method: its service and its position there.
    Method(ServiceId, u32),
}

/// One linked, immutable set of descriptors.
#[derive(Debug, Default)]
pub struct SchemaData {
    /// The serialized `FileDescriptorSet` this was made from, byte for byte.
    pub raw: Box<[u8]>,
    /// The files, in the order of the set.
    pub files: Vec<FileDef>,
    /// All messages, nested ones and map entries included, in declaration order (pre-order).
    pub messages: Vec<MessageDef>,
    /// All enums.
    pub enums: Vec<EnumDef>,
    /// All extensions, wherever they were declared.
    pub extensions: Vec<ExtensionDef>,
    /// All services.
    pub services: Vec<ServiceDef>,
    /// Full name (no leading dot) to symbol, for all but fields, which
    /// [`SchemaData::symbol`] finds through their message. Placeholders are not in it.
    pub symbols: HashMap<Box<str>, Symbol, foldhash::fast::RandomState>,
    /// The file that came last in the set: what schema registries call the root.
    pub root_file: Option<FileId>,
}

impl SchemaData {
    /// What a full name (no leading dot) stands for.
    pub fn symbol(&self, full_name: &str) -> Option<Symbol> {
        if let Some(&symbol) = self.symbols.get(full_name) {
            return Some(symbol);
        }
        let (message, field) = full_name.rsplit_once('.')?;
        match self.symbols.get(message) {
            Some(&Symbol::Message(id)) => {
                let at = self.message(id).field_named(field)?;
                Some(Symbol::Field(id, at))
            }
            _ => None,
        }
    }

    /// The field or known extension of a message with this number.
    pub fn field_by_number(&self, message: MessageId, number: u32) -> Option<FieldKey> {
        let def = &self.messages[message.index()];
        if let Ok(at) = def.by_number.binary_search_by_key(&number, |&(n, _)| n) {
            return Some(FieldKey::Field(message, def.by_number[at].1));
        }
        def.extended_by
            .binary_search_by_key(&number, |id| self.extensions[id.index()].field.number)
            .ok()
            .map(|at| FieldKey::Extension(def.extended_by[at]))
    }

    /// Declared fields and known extensions of a message, ascending by number.
    pub fn fields_of(&self, id: MessageId) -> Vec<(FieldKey, &FieldDef)> {
        let message = self.message(id);
        let mut all = Vec::with_capacity(message.fields.len() + message.extended_by.len());
        let mut extensions = message.extended_by.iter().peekable();
        let extension = |&id: &ExtensionId| (FieldKey::Extension(id), &self.extensions[id.index()].field);
        for &(number, at) in &message.by_number {
            while let Some(id) = extensions.next_if(|id| self.extensions[id.index()].field.number < number) {
                all.push(extension(id));
            }
            all.push((FieldKey::Field(id, at), &message.fields[at as usize]));
        }
        all.extend(extensions.map(extension));
        all
    }

    /// The bytes of a range; empty for one that does not lie in [`SchemaData::raw`].
    pub fn bytes(&self, range: &RawRange) -> &[u8] {
        self.raw.get(range.start as usize..range.end as usize).unwrap_or_default()
    }
}

/// The edition a file is written in. proto2 and proto3 are presets of the same features.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Edition {
    /// `syntax = "proto2"`, also where no syntax is named.
    Proto2,
    /// `syntax = "proto3"`.
    Proto3,
    /// `edition = "2023"`.
    Edition2023,
    /// `edition = "2024"`.
    Edition2024,
}

/// A file.
#[derive(Debug)]
pub struct FileDef {
    /// Its path as imports name it, such as `google/protobuf/any.proto`.
    pub name: Box<str>,
    /// Its package, empty where it has none.
    pub package: Box<str>,
    /// Its edition.
    pub edition: Edition,
    /// Direct imports that are part of the set; a weak or option import that is missing is left out.
    pub dependencies: Vec<FileId>,
    /// Positions in `dependencies` of the public imports.
    pub public_dependencies: Vec<u32>,
    /// Top-level messages, in declaration order.
    pub messages: Vec<MessageId>,
    /// Top-level enums.
    pub enums: Vec<EnumId>,
    /// Top-level extensions.
    pub extensions: Vec<ExtensionId>,
    /// Services.
    pub services: Vec<ServiceId>,
    /// The serialized `FileDescriptorProto`.
    pub raw: RawRange,
    /// The serialized `FileOptions`.
    pub options: RawRange,
}

/// Messages whose JSON form the specification defines specially.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum WellKnown {
    /// `google.protobuf.Any`
    Any,
    /// `google.protobuf.Timestamp`
    Timestamp,
    /// `google.protobuf.Duration`
    Duration,
    /// `google.protobuf.FieldMask`
    FieldMask,
    /// `google.protobuf.Struct`
    Struct,
    /// `google.protobuf.Value`
    Value,
    /// `google.protobuf.ListValue`
    ListValue,
    /// `google.protobuf.Empty`
    Empty,
    /// The nine wrappers, `google.protobuf.BoolValue` and so on.
    Wrapper,
}

/// A message.
#[derive(Debug)]
pub struct MessageDef {
    /// Full name, such as `hello.Person.Address`.
    pub full_name: Box<str>,
    /// Position in `full_name` where the message's own name begins.
    pub name_at: u32,
    /// The file it stands in.
    pub file: FileId,
    /// The message it is nested in.
    pub parent: Option<MessageId>,
    /// Fields in declaration order (extensions are not among them).
    pub fields: Vec<FieldDef>,
    /// `(number, position in fields)`, ascending by number.
    pub by_number: Vec<(u32, u32)>,
    /// Positions in `fields`, ascending by name.
    pub by_name: Vec<u32>,
    /// Positions in `fields`, ascending by JSON name; of two with the same, the first declared comes first.
    pub by_json_name: Vec<u32>,
    /// Oneofs, the synthetic ones of proto3 `optional` included (they come last).
    pub oneofs: Vec<OneofDef>,
    /// Messages nested in it, map entries included, in declaration order.
    pub messages: Vec<MessageId>,
    /// Enums nested in it.
    pub enums: Vec<EnumId>,
    /// Extensions declared inside it (whatever they extend).
    pub extensions: Vec<ExtensionId>,
    /// Extensions of the set that extend this message, ascending by number.
    pub extended_by: Vec<ExtensionId>,
    /// Number ranges open to extensions, end exclusive.
    pub extension_ranges: Vec<Range<u32>>,
    /// Reserved number ranges, end exclusive.
    pub reserved_ranges: Vec<Range<u32>>,
    /// Reserved names.
    pub reserved_names: Vec<Box<str>>,
    /// `option map_entry`: the entry type of a map field; `fields[0]` is the key, `fields[1]` the value.
    pub is_map_entry: bool,
    /// `option message_set_wire_format`.
    pub is_message_set: bool,
    /// Its special JSON form, where it has one.
    pub well_known: Option<WellKnown>,
    /// Stands in for a message whose file, a weak import, is not in the set: no fields,
    /// no raw bytes, no symbol. `file` is the first file that refers to it.
    pub placeholder: bool,
    /// The serialized `DescriptorProto`.
    pub raw: RawRange,
    /// The serialized `MessageOptions`.
    pub options: RawRange,
}

/// The type of a field, by the names and numbers of `FieldDescriptorProto.Type`.
///
/// `Group` is only what old descriptors call a delimited message: linking turns it into
/// [`FieldKind::Message`] with [`FieldDef::delimited`] set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FieldKind {
    /// `double`
    Double,
    /// `float`
    Float,
    /// `int64`
    Int64,
    /// `uint64`
    Uint64,
    /// `int32`
    Int32,
    /// `fixed64`
    Fixed64,
    /// `fixed32`
    Fixed32,
    /// `bool`
    Bool,
    /// `string`
    String,
    /// A message, length-prefixed or delimited.
    Message(MessageId),
    /// `bytes`
    Bytes,
    /// `uint32`
    Uint32,
    /// An enum.
    Enum(EnumId),
    /// `sfixed32`
    Sfixed32,
    /// `sfixed64`
    Sfixed64,
    /// `sint32`
    Sint32,
    /// `sint64`
    Sint64,
}

/// How a field's presence is kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Presence {
    /// Tracked: set and unset are told apart (`optional`, oneof members, sub-messages).
    Explicit,
    /// Not tracked: absent means zero, and zero is not written.
    Implicit,
    /// Tracked, and its absence is an error.
    Required,
    /// A list or a map.
    Repeated,
}

/// A default other than zero, or a zero written out.
#[derive(Clone, PartialEq, Debug)]
pub enum DefaultValue {
    /// Integers, bools (0, 1) and enum numbers, as the two's complement of their widest form;
    /// floats and doubles as their bits.
    Bits(u64),
    /// Strings and bytes, unescaped.
    Bytes(Box<[u8]>),
}

/// A field of a message, or an extension.
#[derive(Debug)]
pub struct FieldDef {
    /// The name as declared; for extensions the last part of the full name.
    pub name: Box<str>,
    /// The JSON name (`json_name`, else the lowerCamelCase of `name`).
    pub json_name: Box<str>,
    /// The number, 1 to 536,870,911; for extensions of a MessageSet up to 2,147,483,646.
    pub number: u32,
    /// The type.
    pub kind: FieldKind,
    /// Presence.
    pub presence: Presence,
    /// Repeated scalars: written packed.
    pub packed: bool,
    /// Strings: bytes that are not UTF-8 are an error.
    pub validate_utf8: bool,
    /// Messages: written between start-group and end-group tags.
    pub delimited: bool,
    /// A map: `kind` is the entry message.
    pub is_map: bool,
    /// The oneof it belongs to, synthetic ones included: position in [`MessageDef::oneofs`].
    pub oneof: Option<u32>,
    /// The default where one was declared.
    pub default: Option<DefaultValue>,
    /// The serialized `FieldDescriptorProto`.
    pub raw: RawRange,
    /// The serialized `FieldOptions`.
    pub options: RawRange,
}

/// An extension: a field with a home of its own.
#[derive(Debug)]
pub struct ExtensionDef {
    /// Full name, such as `acme.orders.priority`.
    pub full_name: Box<str>,
    /// The file it is declared in.
    pub file: FileId,
    /// The message it is declared inside of.
    pub parent: Option<MessageId>,
    /// The message it extends.
    pub extendee: MessageId,
    /// The field.
    pub field: FieldDef,
}

/// A oneof.
#[derive(Debug)]
pub struct OneofDef {
    /// Its name.
    pub name: Box<str>,
    /// Made up for a proto3 `optional` field.
    pub synthetic: bool,
    /// Positions of its members in [`MessageDef::fields`].
    pub fields: Vec<u32>,
    /// The serialized `OneofOptions`.
    pub options: RawRange,
}

/// An enum.
#[derive(Debug)]
pub struct EnumDef {
    /// Full name.
    pub full_name: Box<str>,
    /// Position in `full_name` where the enum's own name begins.
    pub name_at: u32,
    /// The file it stands in.
    pub file: FileId,
    /// The message it is nested in.
    pub parent: Option<MessageId>,
    /// Values in declaration order; the first is the default.
    pub values: Vec<EnumValueDef>,
    /// `(number, position in values)`, ascending by number, the first declared of each number (aliases left out).
    pub by_number: Vec<(i32, u32)>,
    /// Name to position in `values`.
    pub by_name: HashMap<Box<str>, u32, foldhash::fast::RandomState>,
    /// Closed: numbers that are not declared become unknown fields.
    pub closed: bool,
    /// Stands in for an enum whose file, a weak import, is not in the set: open, with one
    /// made-up value, zero.
    pub placeholder: bool,
    /// The serialized `EnumDescriptorProto`.
    pub raw: RawRange,
    /// The serialized `EnumOptions`.
    pub options: RawRange,
}

/// A value of an enum.
#[derive(Debug)]
pub struct EnumValueDef {
    /// Its name.
    pub name: Box<str>,
    /// Its number.
    pub number: i32,
    /// The serialized `EnumValueOptions`.
    pub options: RawRange,
}

/// A service.
#[derive(Debug)]
pub struct ServiceDef {
    /// Full name.
    pub full_name: Box<str>,
    /// The file it stands in.
    pub file: FileId,
    /// Its methods, in declaration order.
    pub methods: Vec<MethodDef>,
    /// The serialized `ServiceOptions`.
    pub options: RawRange,
}

/// A method.
#[derive(Debug)]
pub struct MethodDef {
    /// Its name.
    pub name: Box<str>,
    /// The request type.
    pub input: MessageId,
    /// The response type.
    pub output: MessageId,
    /// The client sends a stream.
    pub client_streaming: bool,
    /// The server sends a stream.
    pub server_streaming: bool,
    /// The serialized `MethodOptions`.
    pub options: RawRange,
}

/// Where a field stands: in its message, or among the extensions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FieldKey {
    /// A declared field: its message and its position in [`MessageDef::fields`].
    Field(MessageId, u32),
    /// An extension.
    Extension(ExtensionId),
}

impl SchemaData {
    /// The message at `id`.
    #[inline]
    pub fn message(&self, id: MessageId) -> &MessageDef {
        &self.messages[id.index()]
    }

    /// The enum at `id`.
    #[inline]
    pub fn enum_(&self, id: EnumId) -> &EnumDef {
        &self.enums[id.index()]
    }

    /// The field that `key` names.
    #[inline]
    pub fn field(&self, key: FieldKey) -> &FieldDef {
        match key {
            FieldKey::Field(message, at) => &self.messages[message.index()].fields[at as usize],
            FieldKey::Extension(id) => &self.extensions[id.index()].field,
        }
    }
}

impl MessageDef {
    /// The name without its scope.
    pub fn name(&self) -> &str {
        self.full_name.get(self.name_at as usize..).unwrap_or_default()
    }

    /// The position in `fields` of the field with this name.
    pub fn field_named(&self, name: &str) -> Option<u32> {
        self.find(&self.by_name, name, |field| &field.name)
    }

    /// The position in `fields` of the field with this JSON name (the first declared, where
    /// several have it).
    pub fn field_json_named(&self, name: &str) -> Option<u32> {
        self.find(&self.by_json_name, name, |field| &field.json_name)
    }

    fn find(&self, sorted: &[u32], name: &str, of: impl Fn(&FieldDef) -> &str) -> Option<u32> {
        let at = sorted.partition_point(|&i| of(&self.fields[i as usize]) < name);
        let &index = sorted.get(at)?;
        (of(&self.fields[index as usize]) == name).then_some(index)
    }
}

impl EnumDef {
    /// The name without its scope.
    pub fn name(&self) -> &str {
        self.full_name.get(self.name_at as usize..).unwrap_or_default()
    }

    /// The position in `values` of the first value with this number.
    pub fn value_numbered(&self, number: i32) -> Option<u32> {
        self.by_number.binary_search_by_key(&number, |&(n, _)| n).ok().map(|at| self.by_number[at].1)
    }
}

impl FieldKind {
    /// Repeated fields of this type can be packed.
    pub const fn is_packable(self) -> bool {
        !matches!(self, FieldKind::String | FieldKind::Bytes | FieldKind::Message(_))
    }
}
