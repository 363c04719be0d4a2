//! Fields by name.

use protojit_core::message::{KeyRef, MessageRef};
use protojit_core::program::Layout;
use protojit_core::schema::model::{EnumDef, FieldDef, FieldKey, FieldKind, MessageId, SchemaData, Symbol};

use super::error::{Fault, ReadErrorKind, ReadFault};
use super::path::PathStep;

/// A field's name in paths: an extension's full name in brackets.
pub(crate) fn display_name(layout: &Layout, key: FieldKey) -> Box<str> {
    match key {
        FieldKey::Field(..) => layout.schema.field(key).name.clone(),
        FieldKey::Extension(id) => format!("[{}]", layout.schema.extensions[id.index()].full_name).into(),
    }
}

/// The number of the extension of `message` with this full name.
pub(crate) fn extension_named(schema: &SchemaData, message: MessageId, full_name: &str) -> Option<u32> {
    match schema.symbols.get(full_name) {
        Some(&Symbol::Extension(id)) => {
            let extension = &schema.extensions[id.index()];
            (extension.extendee == message).then_some(extension.field.number)
        }
        _ => None,
    }
}

/// The name of an enum's number, `None` where it is not declared.
pub(crate) fn enum_name(def: &EnumDef, number: i32) -> Option<&str> {
    def.value_numbered(number).map(|at| &*def.values[at as usize].name)
}

/// The number of an enum's name, `None` where it is not declared.
pub(crate) fn enum_number(def: &EnumDef, name: &str) -> Option<i32> {
    def.by_name.get(name).map(|&at| def.values[at as usize].number)
}

/// The definitions of a map's key and value; `None` for other fields.
pub(crate) fn map_defs<'s>(schema: &'s SchemaData, def: &FieldDef) -> Option<(&'s FieldDef, &'s FieldDef)> {
    match def.kind {
        FieldKind::Message(entry) if def.is_map => match schema.message(entry).fields.as_slice() {
            [key, value, ..] => Some((key, value)),
            _ => None,
        },
        _ => None,
    }
}

/// A map's key in paths.
pub(crate) fn key_text(key: KeyRef<'_>) -> Box<str> {
    match key {
        KeyRef::Bool(key) => key.to_string().into(),
        KeyRef::I32(key) => key.to_string().into(),
        KeyRef::I64(key) => key.to_string().into(),
        KeyRef::U32(key) => key.to_string().into(),
        KeyRef::U64(key) => key.to_string().into(),
        KeyRef::Str(key) => key.to_str_lossy().into(),
    }
}

/// The fault of a message that lacks a required field.
pub(crate) fn check_required(message: MessageRef<'_>, offset: usize) -> Result<(), ReadFault> {
    let Some(path) = message.missing_required() else { return Ok(()) };
    let mut fault = Fault::at(ReadErrorKind::MissingRequired, offset, "");
    let schema = message.schema();
    fault.steps = path
        .fields()
        .iter()
        .rev()
        .map(|&key| {
            PathStep::Field(match key {
                FieldKey::Field(..) => schema.field(key).name.clone(),
                FieldKey::Extension(id) => format!("[{}]", schema.extensions[id.index()].full_name).into(),
            })
        })
        .collect();
    Err(fault)
}

/// Which fields of a message were given already, by position in its layout.
#[derive(Default)]
pub(crate) struct Seen {
    first: [u64; 4],
    rest: Vec<u64>,
}

impl Seen {
    /// Notes a field; `false` if it was noted before.
    pub(crate) fn insert(&mut self, at: usize) -> bool {
        let (word, bit) = (at / 64, 1 << (at % 64));
        let word = match word.checked_sub(self.first.len()) {
            None => &mut self.first[word],
            Some(word) => {
                if word >= self.rest.len() {
                    self.rest.resize(word + 1, 0);
                }
                &mut self.rest[word]
            }
        };
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}
