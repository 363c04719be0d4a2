//! Binding: whether one message's bytes can fill another's shape.
//!
//! A writer's schema is a version of the reader's, older or newer. Fields go together by number; names do not matter.
//! What each side says of a field is compared when the two are bound, for every field that a decode can reach, so that
//! no record fails for what its schema says:
//!
//! | writer | reader |
//! |---|---|
//! | a type | the same type |
//! | `bool` | any `int` or `uint` |
//! | `int32`, an enum | `int32`, `int64`, an enum |
//! | `uint32` | `uint64`, `int64` |
//! | `sint32` | `sint64` |
//! | `string`, a message that is no group | `bytes` |
//! | one value | a list of them |
//! | no such field | any field that is not required: it is never set |
//! | inside or outside of a oneof, with or without presence, packed or not | any of them |
//!
//! Everything else is a mismatch, also what some bytes would survive: `int64` read as `int32`, a list as one value,
//! `bytes` as a `string`. Enums fit whatever they declare: a number that a closed enum of the reader does not declare
//! goes to the unknown fields.

use std::fmt;

use crate::memory::slots::Storage;
use crate::schema::model::{FieldDef, FieldKind, MessageId, SchemaData};

use super::build::{entry_fields, sub_message, value_kind};
use super::decode::DecodeOptions;
use super::layout::{FieldSlot, Layout, LayoutId, Shape};
use super::ops::ValueKind;

/// A writer's message does not fit a reader's shape.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct BindError {
    writer: String,
    mismatches: Vec<Mismatch>,
}

impl BindError {
    /// What does not fit, at least one field.
    pub fn mismatches(&self) -> &[Mismatch] {
        &self.mismatches
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} does not fit the reader's shape: ", self.writer)?;
        for (at, mismatch) in self.mismatches.iter().enumerate() {
            write!(f, "{}{mismatch}", if at == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

/// A field of which writer and reader say what does not go together.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Mismatch {
    /// The field by the reader's names, such as `Order.items.price`.
    pub path: String,
    /// Its number.
    pub number: u32,
    /// Its type as the writer declares it, `None` where the writer has no such field.
    pub writer: Option<String>,
    /// Its type as the reader declares it.
    pub reader: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { path, number, writer, reader } = self;
        match writer {
            Some(writer) => write!(f, "{path} (number {number}) is {writer}, which cannot be read as {reader}"),
            None => write!(f, "{path} (number {number}) is required by the reader and unknown to the writer"),
        }
    }
}

/// Compares all that a decode can reach.
pub(super) fn check(
    schema: &SchemaData,
    message: MessageId,
    shape: &Shape,
    options: DecodeOptions,
) -> Result<(), BindError> {
    let mut mismatches = Vec::new();
    let mut seen = hashbrown::HashSet::<(MessageId, LayoutId), foldhash::fast::RandomState>::default();
    if !std::ptr::eq(schema, &*shape.schema) || message != shape.message {
        let def = shape.def();
        let name = def.full_name.get(def.name_at as usize..).unwrap_or(&def.full_name).to_owned();
        let layout: &Layout = shape;
        seen.insert((message, layout.id));
        let mut pending = vec![(message, layout, name)];
        while let Some((message, layout, path)) = pending.pop() {
            for slot in &layout.fields {
                let read = layout.field_def(slot);
                let path = || format!("{path}.{}", read.name);
                let written = schema.field_by_number(message, slot.number).map(|key| schema.field(key));
                let fits = match written {
                    Some(field) => fits(schema, field, layout, slot),
                    None => !options.check_required || read.presence != crate::schema::model::Presence::Required,
                };
                if !fits {
                    mismatches.push(Mismatch {
                        path: path(),
                        number: slot.number,
                        writer: written.map(|field| describe(schema, field)),
                        reader: describe(&layout.schema, read),
                    });
                    continue;
                }
                if let (Some(target), Some(child)) =
                    (written.and_then(|field| sub_message(schema, field)), slot.child.get())
                    && seen.insert((target, child.id))
                {
                    pending.push((target, child, path()));
                }
            }
        }
    }
    match mismatches.is_empty() {
        true => Ok(()),
        false => Err(BindError { writer: schema.message(message).full_name.to_string(), mismatches }),
    }
}

/// Whether what `field` was written as can be read into `slot`.
fn fits(schema: &SchemaData, field: &FieldDef, layout: &Layout, slot: &FieldSlot) -> bool {
    let read = layout.field_def(slot);
    let is_list = field.presence == crate::schema::model::Presence::Repeated && !field.is_map;
    match slot.storage {
        Storage::Map => {
            field.is_map && {
                let written = entry_fields(schema, field);
                let read = entry_fields(&layout.schema, read);
                value_fits(written[0], read[0]) && value_fits(written[1], read[1])
            }
        }
        Storage::List => !field.is_map && value_fits(field, read),
        _ => !field.is_map && !is_list && value_fits(field, read),
    }
}

fn value_fits(written: &FieldDef, read: &FieldDef) -> bool {
    use FieldKind::*;
    match (written.kind, read.kind) {
        (Bool, Int32 | Int64 | Uint32 | Uint64) => true,
        (Int32 | Enum(_), Int32 | Int64 | Enum(_)) => true,
        (Uint32, Uint64 | Int64) => true,
        (Sint32, Sint64) => true,
        (String, Bytes) => true,
        (Message(_), Bytes) => !written.delimited,
        // Their fields are compared on their own.
        (Message(_), Message(_)) => true,
        (written, read) => written == read,
    }
}

/// How a value is read: stored as the reader says, delimited as the writer says.
pub(super) fn wire_kind(written: &FieldDef, layout: &Layout, slot: &FieldSlot, check_utf8: bool) -> ValueKind {
    match value_kind(&layout.schema, layout.field_def(slot), check_utf8) {
        ValueKind::Message | ValueKind::Group if written.delimited => ValueKind::Group,
        ValueKind::Message | ValueKind::Group => ValueKind::Message,
        kind => kind,
    }
}

/// The type as a `.proto` file spells it.
fn describe(schema: &SchemaData, field: &FieldDef) -> String {
    let name = |field: &FieldDef| match field.kind {
        FieldKind::Message(id) if field.delimited => format!("group {}", schema.message(id).full_name),
        FieldKind::Message(id) => schema.message(id).full_name.to_string(),
        FieldKind::Enum(id) => schema.enum_(id).full_name.to_string(),
        kind => format!("{kind:?}").to_lowercase(),
    };
    if field.is_map {
        let [key, value] = entry_fields(schema, field);
        return format!("map<{}, {}>", name(key), name(value));
    }
    match field.presence {
        crate::schema::model::Presence::Repeated => format!("repeated {}", name(field)),
        _ => name(field),
    }
}
