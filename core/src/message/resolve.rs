//! From paths to handles.

use std::marker::PhantomData;

use super::cells;
use super::field::{Field, FieldType, MOST_HOPS, NO_HOP, Place, Probe};
use super::map::entry_defs;
use super::types::sealed::{Key, Single};
use super::types::{Bytes, Enum, List, Map, Msg, Str};
use crate::memory::slots::Storage;
use crate::program::{FieldSlot, Layout, LayoutId, NO_CASE, Path, split};
use crate::schema::model::{FieldKey, FieldKind};

/// Why a handle was not made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandleError {
    /// A message has no field of this name or number.
    #[error("{message} has no field {field}")]
    NoField {
        /// Full name of the message.
        message: String,
        /// The name, or the number.
        field: String,
    },
    /// The field has another type.
    #[error("{field} is {found}, not {wanted}")]
    WrongType {
        /// The field, with its message.
        field: String,
        /// What it is.
        found: String,
        /// What was asked for.
        wanted: String,
    },
    /// A path goes on behind a field that is no singular message.
    #[error("{field} is {found}: a path cannot go through it")]
    NoPath {
        /// The field, with its message.
        field: String,
        /// What it is.
        found: String,
    },
    /// A path leads through more than [`MOST_HOPS`] messages.
    #[error("the path {path} leads through more than {MOST_HOPS} messages")]
    TooLong {
        /// The path.
        path: String,
    },
}

macro_rules! named {
    ($($(#[$doc:meta])* $name:ident -> $ty:ty;)*) => {
        impl Layout {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// As [`Layout::field`].
                pub fn $name(&self, path: &str) -> Result<Field<$ty>, HandleError> {
                    self.field(path)
                }
            )*
        }
    };
}

named! {
    /// The handle of an `int32`, `sint32` or `sfixed32`.
    i32 -> i32;
    /// The handle of a `uint32` or `fixed32`.
    u32 -> u32;
    /// The handle of an `int64`, `sint64` or `sfixed64`.
    i64 -> i64;
    /// The handle of a `uint64` or `fixed64`.
    u64 -> u64;
    /// The handle of a `float`.
    f32 -> f32;
    /// The handle of a `double`.
    f64 -> f64;
    /// The handle of a `bool`.
    bool -> bool;
    /// The handle of a `string`.
    str -> Str;
    /// The handle of a `bytes`.
    bytes -> Bytes;
    /// The handle of an enum.
    enum_ -> Enum;
    /// The handle of a singular message.
    message -> Msg;
    /// As [`Layout::i32`]; `None` is read where it is not set.
    opt_i32 -> Option<i32>;
    /// As [`Layout::u32`]; `None` is read where it is not set.
    opt_u32 -> Option<u32>;
    /// As [`Layout::i64`]; `None` is read where it is not set.
    opt_i64 -> Option<i64>;
    /// As [`Layout::u64`]; `None` is read where it is not set.
    opt_u64 -> Option<u64>;
    /// As [`Layout::f32`]; `None` is read where it is not set.
    opt_f32 -> Option<f32>;
    /// As [`Layout::f64`]; `None` is read where it is not set.
    opt_f64 -> Option<f64>;
    /// As [`Layout::bool`]; `None` is read where it is not set.
    opt_bool -> Option<bool>;
    /// As [`Layout::str`]; `None` is read where it is not set.
    opt_str -> Option<Str>;
    /// As [`Layout::bytes`]; `None` is read where it is not set.
    opt_bytes -> Option<Bytes>;
    /// As [`Layout::enum_`]; `None` is read where it is not set.
    opt_enum -> Option<Enum>;
    /// The handle of a list of `int32`, `sint32` or `sfixed32`.
    list_i32 -> List<i32>;
    /// The handle of a list of `uint32` or `fixed32`.
    list_u32 -> List<u32>;
    /// The handle of a list of `int64`, `sint64` or `sfixed64`.
    list_i64 -> List<i64>;
    /// The handle of a list of `uint64` or `fixed64`.
    list_u64 -> List<u64>;
    /// The handle of a list of `float`.
    list_f32 -> List<f32>;
    /// The handle of a list of `double`.
    list_f64 -> List<f64>;
    /// The handle of a list of `bool`.
    list_bool -> List<bool>;
    /// The handle of a list of strings.
    list_str -> List<Str>;
    /// The handle of a list of `bytes`.
    list_bytes -> List<Bytes>;
    /// The handle of a list of enums.
    list_enum -> List<Enum>;
    /// The handle of a list of messages.
    list_message -> List<Msg>;
}

impl Layout {
    /// The handle of the field at a path: its name, or `address.zip` for the field of a singular message. Extensions
    /// go by their full name in brackets, `[acme.priority]`.
    ///
    /// # Errors
    /// There is no such field, it has another type, or the path leads through a list or more than [`MOST_HOPS`] messages.
    pub fn field<T: FieldType>(&self, path: &str) -> Result<Field<T>, HandleError> {
        let (mut layout, mut rest, mut way) = (self, path, Vec::new());
        loop {
            let (name, behind) = split(rest);
            let slot = layout.slot_named(name).ok_or_else(|| no_field(layout, name))?;
            let Some(behind) = behind else {
                return handle(self, &way, layout, slot);
            };
            let next = slot.child.get().filter(|_| slot.storage == Storage::Message);
            let next = next
                .ok_or_else(|| HandleError::NoPath { field: full_name(layout, slot), found: type_of(layout, slot) })?;
            if way.len() == MOST_HOPS {
                return Err(HandleError::TooLong { path: path.to_owned() });
            }
            way.push(slot);
            (layout, rest) = (next, behind);
        }
    }

    /// The handle of the field with this number.
    ///
    /// # Errors
    /// There is no such field, or it has another type.
    pub fn field_by_number<T: FieldType>(&self, number: u32) -> Result<Field<T>, HandleError> {
        let slot = self.slot(number).ok_or_else(|| no_field(self, &number.to_string()))?;
        handle(self, &[], self, slot)
    }

    /// The handle of a map.
    ///
    /// # Errors
    /// As [`Layout::field`].
    pub fn map<K: Key, V: Single>(&self, path: &str) -> Result<Field<Map<K, V>>, HandleError> {
        self.field(path)
    }
}

/// The handle of `slot`, a field of `parent`, where `way` leads to from `root`.
fn handle<T: FieldType>(
    root: &Layout,
    way: &[&FieldSlot],
    parent: &Layout,
    slot: &FieldSlot,
) -> Result<Field<T>, HandleError> {
    if !T::fits(slot) {
        return Err(HandleError::WrongType {
            field: full_name(parent, slot),
            found: type_of(parent, slot),
            wanted: T::name(),
        });
    }
    let field = parent.field_def(slot);
    let zero_default = cells::default_bits(&parent.schema, field) == 0 && cells::default_bytes(field).is_empty();
    let path = root.path(way);
    let quick = slot.page == 0 && T::is_quick(slot, zero_default);
    let hop = match path.map(Path::hops) {
        Some([hop]) if quick && hop.page == 0 && hop.case_offset == NO_CASE => hop.offset,
        _ => NO_HOP,
    };
    let place = Place {
        quick: if quick && path.is_none() { root.id } else { LayoutId::NONE },
        layout: root.id,
        slot,
        path: path.map_or(std::ptr::null(), |path| &raw const *path),
        hop,
        offset: slot.offset,
        probe: Probe::of(slot).unwrap_or_default(),
    };
    Ok(Field { place, of: PhantomData })
}

fn no_field(layout: &Layout, field: &str) -> HandleError {
    HandleError::NoField { message: layout.def().full_name.to_string(), field: field.to_owned() }
}

fn full_name(layout: &Layout, slot: &FieldSlot) -> String {
    match slot.key {
        FieldKey::Field(..) => format!("{}.{}", layout.def().full_name, layout.field_def(slot).name),
        FieldKey::Extension(id) => layout.schema.extensions[id.index()].full_name.to_string(),
    }
}

/// The type as a `.proto` file spells it.
fn type_of(layout: &Layout, slot: &FieldSlot) -> String {
    let name = |kind: FieldKind| match kind {
        FieldKind::Message(id) => layout.schema.message(id).full_name.to_string(),
        FieldKind::Enum(id) => layout.schema.enum_(id).full_name.to_string(),
        kind => format!("{kind:?}").to_lowercase(),
    };
    match slot.storage {
        Storage::Map => {
            let (key, value) = entry_defs(layout, slot);
            format!("map<{}, {}>", name(key.kind), name(value.kind))
        }
        Storage::List => format!("repeated {}", name(slot.kind)),
        _ => name(slot.kind),
    }
}
