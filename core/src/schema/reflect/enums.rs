//! Enums and their values.

use super::{
    super::model::{EnumDef, EnumId, EnumValueDef},
    FileDescriptor, MessageDescriptor, Schema, handle,
};

/// An enum of a schema.
#[derive(Clone)]
pub struct EnumDescriptor {
    schema: Schema,
    id: EnumId,
}

handle!(EnumDescriptor, id);

impl EnumDescriptor {
    pub(super) fn new(schema: &Schema, id: EnumId) -> Self {
        let schema = schema.clone();
        Self { schema, id }
    }

    /// The schema it is part of.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Its position in the tables.
    pub fn id(&self) -> EnumId {
        self.id
    }

    /// Its entry in the tables.
    pub fn def(&self) -> &EnumDef {
        &self.schema.data().enums[self.id.index()]
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
        let parent = self.def().parent;
        parent.map(|id| MessageDescriptor::new(&self.schema, id))
    }

    /// Numbers that are not declared become unknown fields.
    pub fn is_closed(&self) -> bool {
        self.def().closed
    }

    /// Stands in for an enum whose file, a weak import, is not part of the set.
    pub fn is_placeholder(&self) -> bool {
        self.def().placeholder
    }

    /// Its values, in declaration order.
    pub fn values(&self) -> impl Iterator<Item = EnumValueDescriptor> + '_ {
        (0..self.def().values.len() as u32).map(|index| self.value_at(index))
    }

    fn value_at(&self, index: u32) -> EnumValueDescriptor {
        EnumValueDescriptor { schema: self.schema.clone(), id: self.id, index }
    }

    /// The value with this name.
    pub fn value(&self, name: &str) -> Option<EnumValueDescriptor> {
        let &index = self.def().by_name.get(name)?;
        Some(self.value_at(index))
    }

    /// The value with this number; of aliases the first declared.
    pub fn value_by_number(&self, number: i32) -> Option<EnumValueDescriptor> {
        self.def().value_numbered(number).map(|index| self.value_at(index))
    }

    /// The value that stands for an absent field: the first.
    pub fn default_value(&self) -> EnumValueDescriptor {
        self.value_at(0)
    }

    /// The serialized `EnumDescriptorProto`.
    pub fn descriptor_bytes(&self) -> &[u8] {
        self.schema.data().bytes(&self.def().raw)
    }

    /// The serialized `EnumOptions`, empty where there are none.
    pub fn options_bytes(&self) -> &[u8] {
        self.schema.data().bytes(&self.def().options)
    }
}

/// A value of an enum.
#[derive(Clone)]
pub struct EnumValueDescriptor {
    schema: Schema,
    id: EnumId,
    index: u32,
}

handle!(EnumValueDescriptor, id, index);

impl EnumValueDescriptor {
    /// Its enum.
    pub fn parent_enum(&self) -> EnumDescriptor {
        EnumDescriptor::new(&self.schema, self.id)
    }

    /// Its position among the values of its enum.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Its entry in the tables.
    pub fn def(&self) -> &EnumValueDef {
        &self.schema.data().enums[self.id.index()].values[self.index as usize]
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.def().name
    }

    /// Its full name. Values live beside their enum, not inside it: `acme.RED`, not
    /// `acme.Color.RED`.
    pub fn full_name(&self) -> String {
        let def = &self.schema.data().enums[self.id.index()];
        let scope = def.full_name.get(..def.name_at as usize);
        format!("{}{}", scope.unwrap_or_default(), self.name())
    }

    /// Its number.
    pub fn number(&self) -> i32 {
        self.def().number
    }

    /// The serialized `EnumValueOptions`, empty where there are none.
    pub fn options_bytes(&self) -> &[u8] {
        self.schema.data().bytes(&self.def().options)
    }
}
