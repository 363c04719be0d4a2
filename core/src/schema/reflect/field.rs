//! Fields, extensions and oneofs.

use super::{
    super::model::{DefaultValue, ExtensionDef, FieldDef, FieldKey, FieldKind, MessageId, OneofDef, Presence},
    EnumDescriptor, FileDescriptor, MessageDescriptor, Schema, handle,
};

/// A field of a message, or an extension.
#[derive(Clone)]
pub struct FieldDescriptor {
    schema: Schema,
    key: FieldKey,
}

handle!(FieldDescriptor, key);

/// The type of a field, with handles where the tables have ids.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
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
    /// A message; for a map its entry type.
    Message(MessageDescriptor),
    /// `bytes`
    Bytes,
    /// `uint32`
    Uint32,
    /// An enum.
    Enum(EnumDescriptor),
    /// `sfixed32`
    Sfixed32,
    /// `sfixed64`
    Sfixed64,
    /// `sint32`
    Sint32,
    /// `sint64`
    Sint64,
}

impl FieldDescriptor {
    pub(super) fn new(schema: &Schema, key: FieldKey) -> Self {
        let schema = schema.clone();
        Self { schema, key }
    }

    /// The schema it is part of.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Its address in the tables.
    pub fn key(&self) -> FieldKey {
        self.key
    }

    /// Its entry in the tables.
    pub fn def(&self) -> &FieldDef {
        self.schema.data().field(self.key)
    }

    fn extension_def(&self) -> Option<&ExtensionDef> {
        match self.key {
            FieldKey::Field(..) => None,
            FieldKey::Extension(id) => Some(&self.schema.data().extensions[id.index()]),
        }
    }

    /// Its name; for an extension the last part of its full name.
    pub fn name(&self) -> &str {
        &self.def().name
    }

    /// Its full name: that of its message, or of the scope an extension is declared in,
    /// and its own.
    pub fn full_name(&self) -> String {
        match self.extension_def() {
            Some(def) => def.full_name.to_string(),
            None => format!("{}.{}", self.containing_message().full_name(), self.name()),
        }
    }

    /// Its name in JSON. (In the JSON of messages an extension stands under `[full.name]`
    /// instead.)
    pub fn json_name(&self) -> &str {
        &self.def().json_name
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.def().number
    }

    /// Its type.
    pub fn kind(&self) -> Kind {
        match self.def().kind {
            FieldKind::Double => Kind::Double,
            FieldKind::Float => Kind::Float,
            FieldKind::Int64 => Kind::Int64,
            FieldKind::Uint64 => Kind::Uint64,
            FieldKind::Int32 => Kind::Int32,
            FieldKind::Fixed64 => Kind::Fixed64,
            FieldKind::Fixed32 => Kind::Fixed32,
            FieldKind::Bool => Kind::Bool,
            FieldKind::String => Kind::String,
            FieldKind::Message(id) => Kind::Message(MessageDescriptor::new(&self.schema, id)),
            FieldKind::Bytes => Kind::Bytes,
            FieldKind::Uint32 => Kind::Uint32,
            FieldKind::Enum(id) => Kind::Enum(EnumDescriptor::new(&self.schema, id)),
            FieldKind::Sfixed32 => Kind::Sfixed32,
            FieldKind::Sfixed64 => Kind::Sfixed64,
            FieldKind::Sint32 => Kind::Sint32,
            FieldKind::Sint64 => Kind::Sint64,
        }
    }

    /// The type of its sub-message; for a map its entry type.
    pub fn message(&self) -> Option<MessageDescriptor> {
        match self.kind() {
            Kind::Message(message) => Some(message),
            _ => None,
        }
    }

    /// Its enum.
    pub fn enum_(&self) -> Option<EnumDescriptor> {
        match self.kind() {
            Kind::Enum(def) => Some(def),
            _ => None,
        }
    }

    /// How its presence is kept.
    pub fn presence(&self) -> Presence {
        self.def().presence
    }

    /// Set and unset are told apart.
    pub fn has_presence(&self) -> bool {
        matches!(self.presence(), Presence::Explicit | Presence::Required)
    }

    /// Must be set.
    pub fn is_required(&self) -> bool {
        self.presence() == Presence::Required
    }

    /// Repeated, and no map.
    pub fn is_list(&self) -> bool {
        self.presence() == Presence::Repeated && !self.is_map()
    }

    /// A map.
    pub fn is_map(&self) -> bool {
        self.def().is_map
    }

    /// The key and the value of a map's entries.
    pub fn map_entry(&self) -> Option<(FieldDescriptor, FieldDescriptor)> {
        match self.def() {
            FieldDef { is_map: true, kind: FieldKind::Message(entry), .. } => Some((
                Self::new(&self.schema, FieldKey::Field(*entry, 0)),
                Self::new(&self.schema, FieldKey::Field(*entry, 1)),
            )),
            _ => None,
        }
    }

    /// A list written as one packed run.
    pub fn is_packed(&self) -> bool {
        self.def().packed
    }

    /// A message written between group tags.
    pub fn is_delimited(&self) -> bool {
        self.def().delimited
    }

    /// A string that must be UTF-8.
    pub fn validates_utf8(&self) -> bool {
        self.def().validate_utf8
    }

    /// The default where one was declared.
    pub fn default_value(&self) -> Option<&DefaultValue> {
        self.def().default.as_ref()
    }

    /// An extension.
    pub fn is_extension(&self) -> bool {
        self.extension_def().is_some()
    }

    /// The message it is a field of; for an extension the message it extends.
    pub fn containing_message(&self) -> MessageDescriptor {
        let id = match self.key {
            FieldKey::Field(message, _) => message,
            FieldKey::Extension(id) => self.schema.data().extensions[id.index()].extendee,
        };
        MessageDescriptor::new(&self.schema, id)
    }

    /// The message it is declared inside of: for an extension often none.
    pub fn parent(&self) -> Option<MessageDescriptor> {
        match self.extension_def() {
            Some(def) => def.parent.map(|id| MessageDescriptor::new(&self.schema, id)),
            None => Some(self.containing_message()),
        }
    }

    /// The file it is declared in.
    pub fn file(&self) -> FileDescriptor {
        match self.extension_def() {
            Some(def) => FileDescriptor::new(&self.schema, def.file),
            None => self.containing_message().file(),
        }
    }

    /// The oneof it belongs to, also one made up for a proto3 `optional` field.
    pub fn oneof(&self) -> Option<OneofDescriptor> {
        match (self.key, self.def().oneof) {
            (FieldKey::Field(message, _), Some(index)) => Some(OneofDescriptor::new(&self.schema, message, index)),
            _ => None,
        }
    }

    /// The serialized `FieldDescriptorProto`.
    pub fn descriptor_bytes(&self) -> &[u8] {
        self.schema.data().bytes(&self.def().raw)
    }

    /// The serialized `FieldOptions`, empty where there are none.
    pub fn options_bytes(&self) -> &[u8] {
        self.schema.data().bytes(&self.def().options)
    }
}

/// A oneof of a message.
#[derive(Clone)]
pub struct OneofDescriptor {
    schema: Schema,
    message: MessageId,
    index: u32,
}

handle!(OneofDescriptor, message, index);

impl OneofDescriptor {
    pub(super) fn new(schema: &Schema, message: MessageId, index: u32) -> Self {
        Self { schema: schema.clone(), message, index }
    }

    /// The schema it is part of.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Its position among the oneofs of its message.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Its entry in the tables.
    pub fn def(&self) -> &OneofDef {
        &self.schema.data().messages[self.message.index()].oneofs[self.index as usize]
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.def().name
    }

    /// Its full name: that of its message and its own.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.containing_message().full_name(), self.name())
    }

    /// Made up for a proto3 `optional` field.
    pub fn is_synthetic(&self) -> bool {
        self.def().synthetic
    }

    /// Its message.
    pub fn containing_message(&self) -> MessageDescriptor {
        MessageDescriptor::new(&self.schema, self.message)
    }

    /// Its members.
    pub fn fields(&self) -> impl Iterator<Item = FieldDescriptor> + '_ {
        let fields = self.def().fields.iter();
        fields.map(|&i| FieldDescriptor::new(&self.schema, FieldKey::Field(self.message, i)))
    }

    /// The serialized `OneofOptions`, empty where there are none.
    pub fn options_bytes(&self) -> &[u8] {
        self.schema.data().bytes(&self.def().options)
    }
}
