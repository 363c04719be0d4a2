//! Messages in short form, for people who debug.

use std::fmt;

use super::{KeyRef, ListMut, ListRef, MapMut, MapRef, MessageMut, MessageRef, ValueRef};
use crate::program::{FieldSlot, Layout};
use crate::schema::model::{EnumId, FieldKey, FieldKind, SchemaData};

/// Levels of nesting that are shown; deeper messages are `..`.
const MOST_LEVELS: u32 = 32;

/// Such as `Person { name: "Ada", tags: [1, 2], [acme.level]: HIGH, 99: Varint(1) }`. Not a format to be parsed:
/// it may change.
impl fmt::Debug for MessageRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        message(*self, MOST_LEVELS, f)
    }
}

impl fmt::Debug for MessageMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        message(self.as_ref(), MOST_LEVELS, f)
    }
}

impl fmt::Debug for ListRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl fmt::Debug for ListMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.as_ref(), f)
    }
}

impl fmt::Debug for MapMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.as_ref(), f)
    }
}

impl fmt::Debug for MapRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(key, value)| (key.to_value_ref(), value))).finish()
    }
}

/// A part of a message, to be formatted at some level.
struct Part<'a, T>(T, &'a SchemaData, u32);

fn message(message: MessageRef<'_>, levels: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (def, layout) = (message.def(), message.layout());
    let name = def.full_name.get(def.name_at as usize..).unwrap_or(&def.full_name);
    if levels == 0 {
        return write!(f, "{name} {{ .. }}");
    }
    let mut fields = f.debug_struct(name);
    for (slot, field) in message.set_fields() {
        fields.field(&field_name(layout, slot), &Part((field, slot), &layout.schema, levels - 1));
    }
    for unknown in message.unknown_fields() {
        fields.field(&unknown.number.to_string(), &unknown.value);
    }
    fields.finish()
}

fn field_name(layout: &Layout, slot: &FieldSlot) -> String {
    match slot.key {
        FieldKey::Field(..) => layout.field_def(slot).name.to_string(),
        FieldKey::Extension(id) => format!("[{}]", layout.schema.extensions[id.index()].full_name),
    }
}

impl fmt::Debug for Part<'_, (ValueRef<'_>, &FieldSlot)> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Part((value, slot), schema, levels) = *self;
        match value {
            ValueRef::List(list) => {
                f.debug_list().entries(list.iter().map(|value| Part((value, slot.kind), schema, levels))).finish()
            }
            ValueRef::Map(map) => f
                .debug_map()
                .entries(map.iter().map(|(key, value)| {
                    (
                        Part((key.to_value_ref(), map.key_kind()), schema, 0),
                        Part((value, map.value_kind()), schema, levels),
                    )
                }))
                .finish(),
            value => fmt::Debug::fmt(&Part((value, slot.kind), schema, levels), f),
        }
    }
}

impl fmt::Debug for Part<'_, (ValueRef<'_>, FieldKind)> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Part((value, kind), schema, levels) = *self;
        match (value, kind) {
            (ValueRef::Bool(value), _) => fmt::Debug::fmt(&value, f),
            (ValueRef::I32(value), _) => fmt::Debug::fmt(&value, f),
            (ValueRef::I64(value), _) => fmt::Debug::fmt(&value, f),
            (ValueRef::U32(value), _) => fmt::Debug::fmt(&value, f),
            (ValueRef::U64(value), _) => fmt::Debug::fmt(&value, f),
            (ValueRef::F32(value), _) => fmt::Debug::fmt(&value, f),
            (ValueRef::F64(value), _) => fmt::Debug::fmt(&value, f),
            (ValueRef::Str(value), _) => fmt::Debug::fmt(&value, f),
            (ValueRef::Bytes(value), _) => write!(f, "b\"{}\"", value.escape_ascii()),
            (ValueRef::Enum(number), FieldKind::Enum(id)) => enum_number(schema, id, number, f),
            (ValueRef::Enum(number), _) => fmt::Debug::fmt(&number, f),
            (ValueRef::Message(value), _) => message(value, levels, f),
            (ValueRef::List(value), _) => fmt::Debug::fmt(&value, f),
            (ValueRef::Map(value), _) => fmt::Debug::fmt(&value, f),
        }
    }
}

fn enum_number(schema: &SchemaData, id: EnumId, number: i32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let def = schema.enum_(id);
    match def.by_number.binary_search_by_key(&number, |&(number, _)| number) {
        Ok(at) => f.write_str(&def.values[def.by_number[at].1 as usize].name),
        Err(_) => fmt::Debug::fmt(&number, f),
    }
}

impl fmt::Display for KeyRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyRef::Bool(key) => fmt::Display::fmt(key, f),
            KeyRef::I32(key) => fmt::Display::fmt(key, f),
            KeyRef::I64(key) => fmt::Display::fmt(key, f),
            KeyRef::U32(key) => fmt::Display::fmt(key, f),
            KeyRef::U64(key) => fmt::Display::fmt(key, f),
            KeyRef::Str(key) => fmt::Display::fmt(key, f),
        }
    }
}
