//! Messages.

use std::ops::Range;

use super::{
    super::model::{FieldKey, MessageDef, MessageId, WellKnown},
    EnumDescriptor, FieldDescriptor, FileDescriptor, OneofDescriptor, Schema, file, handle,
};

/// A message of a schema.
#[derive(Clone)]
pub struct MessageDescriptor {
    schema: Schema,
    id: MessageId,
}

handle!(MessageDescriptor, id);

impl MessageDescriptor {
    pub(super) fn new(schema: &Schema, id: MessageId) -> Self {
        let schema = schema.clone();
        Self { schema, id }
    }

    /// The schema it is part of.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Its position in the tables.
    pub fn id(&self) -> MessageId {
        self.id
    }

    /// Its entry in the tables.
    pub fn def(&self) -> &MessageDef {
        &self.schema.data().messages[self.id.index()]
    }

    /// Its name without package and enclosing messages.
    pub fn name(&self) -> &str {
        self.def().name()
    }

    /// Its full name, without a leading dot.
    pub fn full_name(&self) -> &str {
        &self.def().full_name
    }

    /// The file it is declared in.
    pub fn file(&self) -> FileDescriptor {
        FileDescriptor::new(&self.schema, self.def().file)
    }

    /// The message it is nested in.
    pub fn parent(&self) -> Option<MessageDescriptor> {
        self.def().parent.map(|id| Self::new(&self.schema, id))
    }

    /// Where it stands in its file, as [`FileDescriptor::message_at`] takes it; empty for
    /// a placeholder.
    pub fn index_path(&self) -> Vec<u32> {
        let data = self.schema.data();
        let mut path = Vec::new();
        let mut id = self.id;
        loop {
            let def = &data.messages[id.index()];
            let siblings = match def.parent {
                Some(parent) => &data.messages[parent.index()].messages,
                None => &data.files[def.file.index()].messages,
            };
            path.extend(siblings.iter().position(|&s| s == id).map(|at| at as u32));
            match def.parent {
                Some(parent) => id = parent,
                None => break,
            }
        }
        path.reverse();
        path
    }

    /// Its fields, in declaration order. Extensions are not among them.
    pub fn fields(&self) -> impl Iterator<Item = FieldDescriptor> + '_ {
        (0..self.def().fields.len() as u32).map(|index| self.field_at(index))
    }

    fn field_at(&self, index: u32) -> FieldDescriptor {
        FieldDescriptor::new(&self.schema, FieldKey::Field(self.id, index))
    }

    /// The field with this name.
    pub fn field(&self, name: &str) -> Option<FieldDescriptor> {
        self.def().field_named(name).map(|i| self.field_at(i))
    }

    /// The field with this JSON name.
    pub fn field_by_json_name(&self, name: &str) -> Option<FieldDescriptor> {
        self.def().field_json_named(name).map(|i| self.field_at(i))
    }

    /// The field or known extension with this number.
    pub fn field_by_number(&self, number: u32) -> Option<FieldDescriptor> {
        let key = self.schema.data().field_by_number(self.id, number)?;
        Some(FieldDescriptor::new(&self.schema, key))
    }

    /// Its oneofs, those made up for proto3 `optional` fields included (they come last).
    pub fn oneofs(&self) -> impl Iterator<Item = OneofDescriptor> + '_ {
        (0..self.def().oneofs.len() as u32).map(|index| OneofDescriptor::new(&self.schema, self.id, index))
    }

    /// The oneof with this name.
    pub fn oneof(&self, name: &str) -> Option<OneofDescriptor> {
        self.oneofs().find(|oneof| oneof.name() == name)
    }

    /// The messages nested in it, map entries included.
    pub fn messages(&self) -> impl Iterator<Item = MessageDescriptor> + '_ {
        let ids = self.def().messages.iter();
        ids.map(|&id| Self::new(&self.schema, id))
    }

    /// The enums nested in it.
    pub fn enums(&self) -> impl Iterator<Item = EnumDescriptor> + '_ {
        let ids = self.def().enums.iter();
        ids.map(|&id| EnumDescriptor::new(&self.schema, id))
    }

    /// The extensions declared inside it, whatever they extend.
    pub fn declared_extensions(&self) -> impl Iterator<Item = FieldDescriptor> + '_ {
        file::extensions(&self.schema, &self.def().extensions)
    }

    /// The extensions of the schema that extend it, ascending by number.
    pub fn extensions(&self) -> impl Iterator<Item = FieldDescriptor> + '_ {
        file::extensions(&self.schema, &self.def().extended_by)
    }

    /// The numbers open to extensions, ascending.
    pub fn extension_ranges(&self) -> &[Range<u32>] {
        &self.def().extension_ranges
    }

    /// The entry type of a map field.
    pub fn is_map_entry(&self) -> bool {
        self.def().is_map_entry
    }

    /// In the wire format of MessageSet.
    pub fn is_message_set(&self) -> bool {
        self.def().is_message_set
    }

    /// Its special JSON form, where it has one.
    pub fn well_known(&self) -> Option<WellKnown> {
        self.def().well_known
    }

    /// Stands in for a message whose file, a weak import, is not part of the set.
    pub fn is_placeholder(&self) -> bool {
        self.def().placeholder
    }

    /// The serialized `DescriptorProto`.
    pub fn descriptor_bytes(&self) -> &[u8] {
        self.schema.data().bytes(&self.def().raw)
    }

    /// The serialized `MessageOptions`, empty where there are none.
    pub fn options_bytes(&self) -> &[u8] {
        self.schema.data().bytes(&self.def().options)
    }
}
