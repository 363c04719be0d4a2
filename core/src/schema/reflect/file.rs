//! Files.

use super::{
    super::model::{Edition, ExtensionId, FieldKey, FileDef, FileId, MessageId},
    EnumDescriptor, FieldDescriptor, MessageDescriptor, Schema, ServiceDescriptor, handle,
};

/// A `.proto` file of a schema.
#[derive(Clone)]
pub struct FileDescriptor {
    schema: Schema,
    id: FileId,
}

handle!(FileDescriptor, id);

impl FileDescriptor {
    pub(super) fn new(schema: &Schema, id: FileId) -> Self {
        let schema = schema.clone();
        Self { schema, id }
    }

    /// The schema it is part of.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Its position in the tables.
    pub fn id(&self) -> FileId {
        self.id
    }

    /// Its entry in the tables.
    pub fn def(&self) -> &FileDef {
        &self.schema.data().files[self.id.index()]
    }

    /// Its path, as imports spell it.
    pub fn name(&self) -> &str {
        &self.def().name
    }

    fn full_name(&self) -> &str {
        self.name()
    }

    /// Its package, empty where it has none.
    pub fn package(&self) -> &str {
        &self.def().package
    }

    /// Its edition; proto2 and proto3 are two of them.
    pub fn edition(&self) -> Edition {
        self.def().edition
    }

    /// The files it imports (those that are part of the set).
    pub fn dependencies(&self) -> impl Iterator<Item = FileDescriptor> + '_ {
        let ids = self.def().dependencies.iter();
        ids.map(|&id| FileDescriptor::new(&self.schema, id))
    }

    /// Those of its imports that whoever imports this file sees, too.
    pub fn public_dependencies(&self) -> impl Iterator<Item = FileDescriptor> + '_ {
        let def = self.def();
        let places = def.public_dependencies.iter();
        places.filter_map(|&at| {
            let &id = def.dependencies.get(at as usize)?;
            Some(FileDescriptor::new(&self.schema, id))
        })
    }

    /// Its top-level messages.
    pub fn messages(&self) -> impl Iterator<Item = MessageDescriptor> + '_ {
        let ids = self.def().messages.iter();
        ids.map(|&id| MessageDescriptor::new(&self.schema, id))
    }

    /// The message at an index path: `[1, 0]` is the first message nested in the file's
    /// second (entry types of map fields count).
    pub fn message_at(&self, path: &[u32]) -> Option<MessageDescriptor> {
        let data = self.schema.data();
        let mut level: &[MessageId] = &self.def().messages;
        let mut found = None;
        for &index in path {
            let &id = level.get(index as usize)?;
            level = &data.messages[id.index()].messages;
            found = Some(id);
        }
        found.map(|id| MessageDescriptor::new(&self.schema, id))
    }

    /// Its top-level enums.
    pub fn enums(&self) -> impl Iterator<Item = EnumDescriptor> + '_ {
        let ids = self.def().enums.iter();
        ids.map(|&id| EnumDescriptor::new(&self.schema, id))
    }

    /// Its top-level extensions.
    pub fn extensions(&self) -> impl Iterator<Item = FieldDescriptor> + '_ {
        extensions(&self.schema, &self.def().extensions)
    }

    /// Its services.
    pub fn services(&self) -> impl Iterator<Item = ServiceDescriptor> + '_ {
        let ids = self.def().services.iter();
        ids.map(|&id| ServiceDescriptor::new(&self.schema, id))
    }

    /// The serialized `FileDescriptorProto`.
    pub fn descriptor_bytes(&self) -> &[u8] {
        self.schema.data().bytes(&self.def().raw)
    }

    /// The serialized `FileOptions`, empty where there are none.
    pub fn options_bytes(&self) -> &[u8] {
        self.schema.data().bytes(&self.def().options)
    }
}

pub(super) fn extensions<'a>(schema: &'a Schema, ids: &'a [ExtensionId]) -> impl Iterator<Item = FieldDescriptor> + 'a {
    ids.iter().map(|&id| FieldDescriptor::new(schema, FieldKey::Extension(id)))
}
