//! Names of fields.
//!
//! Groups go by the name of their type, `Data { … }`: proto2 declared both with one word, and the field's name is that
//! word in lower case. In editions the same holds for delimited fields that look like such a group.

use protojit_core::program::Layout;
use protojit_core::schema::model::{FieldDef, FieldKind, MessageId, SchemaData};

/// The group's type name, if the field is a group or looks like one: delimited, named like its type, and both declared
/// in the same message of the same file.
pub(super) fn group_name<'s>(schema: &'s SchemaData, parent: MessageId, field: &FieldDef) -> Option<&'s str> {
    let FieldKind::Message(id) = field.kind else { return None };
    if !field.delimited {
        return None;
    }
    let ty = schema.message(id);
    let name = ty.name();
    let same_scope = ty.parent == Some(parent) && ty.file == schema.message(parent).file;
    (same_scope && name.eq_ignore_ascii_case(&field.name) && !field.name.bytes().any(|byte| byte.is_ascii_uppercase()))
        .then_some(name)
}

/// The number of the field with this name in the text format.
pub(super) fn field_named(layout: &Layout, name: &str) -> Option<u32> {
    let def = layout.def();
    if let Some(at) = def.field_named(name) {
        return Some(def.fields[at as usize].number);
    }
    if !name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let at = def.field_named(&name.to_ascii_lowercase())?;
    let field = &def.fields[at as usize];
    (group_name(&layout.schema, layout.message, field) == Some(name)).then_some(field.number)
}
