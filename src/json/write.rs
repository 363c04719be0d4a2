//! From message memory to JSON.

use protojit_core::message::{KeyRef, ListRef, MapRef, MessageRef, StrRef, ValueRef};
use protojit_core::program::{FieldSlot, Layout, SlotPresence};
use protojit_core::schema::model::{EnumDef, FieldKey, FieldKind};

use super::escape::push_string;
use super::{AnyResolver, WriteError, WriteErrorKind, base64};
use crate::convert::error::{Fault, Within, WriteFault};
use crate::convert::fields::{enum_name, key_text};
use crate::convert::number::{push_finite, push_integer};
use crate::convert::path::PathStep;

/// How JSON is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JsonWriteOptions {
    /// Names as the schema declares them, instead of lowerCamelCase or `json_name`.
    pub proto_field_names: bool,
    /// Also write fields that do not track presence and are zero, and lists and maps that are empty.
    pub emit_defaults: bool,
    /// Enum values as numbers instead of names.
    pub enums_as_integers: bool,
    /// 64-bit integers as numbers instead of strings. Readers that keep numbers as doubles lose digits.
    pub int64_as_numbers: bool,
    /// One member or element a line, indented by two spaces.
    pub pretty: bool,
    /// An `Any` whose type is not known is written as `{"@type": …, "value": …}` with its bytes in base64, which is not
    /// part of the mapping, instead of being an error.
    pub unresolved_any_as_bytes: bool,
    /// How deep messages may nest. Each level takes stack.
    pub max_depth: u32,
}

impl Default for JsonWriteOptions {
    fn default() -> Self {
        JsonWriteOptions {
            proto_field_names: false,
            emit_defaults: false,
            enums_as_integers: false,
            int64_as_numbers: false,
            pretty: false,
            unresolved_any_as_bytes: false,
            max_depth: 100,
        }
    }
}

/// Appends a message to `out` as JSON. Unknown fields have no JSON form and are left out.
///
/// # Errors
/// A string is not UTF-8, a well-known type has a value without a JSON form, the message in an `Any` cannot be found
/// or decoded, or the depth limit is reached. Then `out` is as it was.
pub fn write(
    message: MessageRef<'_>,
    options: &JsonWriteOptions,
    types: &dyn AnyResolver,
    out: &mut Vec<u8>,
) -> Result<(), WriteError> {
    let before = out.len();
    let mut writer = Writer { out, options, types, level: 0, left: options.max_depth.saturating_add(1) };
    writer.message(message).map_err(|fault| {
        out.truncate(before);
        WriteError::of(*fault, &message.def().full_name)
    })
}

type Done = Result<(), WriteFault>;

pub(super) struct Writer<'o> {
    pub(super) out: &'o mut Vec<u8>,
    pub(super) options: &'o JsonWriteOptions,
    pub(super) types: &'o dyn AnyResolver,
    /// Of indentation.
    level: usize,
    /// Levels of messages that may still be nested.
    left: u32,
}

impl Writer<'_> {
    /// A message in its JSON form, whatever that is.
    pub(super) fn message(&mut self, message: MessageRef<'_>) -> Done {
        self.nested(|writer| match message.def().well_known {
            None => writer.object(message),
            Some(known) => writer.well_known(known, message),
        })
    }

    /// One level deeper. Faults end everything, so that the count need not be right after one.
    #[inline]
    fn nested(&mut self, write: impl FnOnce(&mut Self) -> Done) -> Done {
        if self.left == 0 {
            return Err(Fault::write(WriteErrorKind::DepthLimit, ""));
        }
        self.left -= 1;
        write(self)?;
        self.left += 1;
        Ok(())
    }

    /// The fields of the message in an `Any`, a level below it.
    pub(super) fn payload_fields(&mut self, message: MessageRef<'_>, first: &mut bool) -> Done {
        self.nested(|writer| writer.fields(message, first))
    }

    /// A message as an object of its fields.
    pub(super) fn object(&mut self, message: MessageRef<'_>) -> Done {
        let mut first = self.open(b'{');
        self.fields(message, &mut first)?;
        self.close(b'}', first);
        Ok(())
    }

    pub(super) fn fields(&mut self, message: MessageRef<'_>, first: &mut bool) -> Done {
        let layout = message.layout();
        if !self.options.emit_defaults {
            for (slot, value) in message.set_fields() {
                self.field(layout, slot, value, first).in_field(layout, slot)?;
            }
            return Ok(());
        }
        for slot in &layout.fields {
            let tracked = !matches!(slot.presence, SlotPresence::NonZero | SlotPresence::NonEmpty);
            let value = match message.get_set(slot) {
                None if tracked || matches!(slot.key, FieldKey::Extension(_)) => continue,
                None => message.get_slot(slot),
                Some(value) => value,
            };
            self.field(layout, slot, value, first).in_field(layout, slot)?;
        }
        Ok(())
    }

    #[inline]
    fn field(&mut self, layout: &Layout, slot: &FieldSlot, value: ValueRef<'_>, first: &mut bool) -> Done {
        self.separate(first);
        match slot.key {
            FieldKey::Field(..) => {
                let def = layout.field_def(slot);
                push_string(self.out, if self.options.proto_field_names { &def.name } else { &def.json_name });
            }
            FieldKey::Extension(id) => {
                let name = &layout.schema.extensions[id.index()].full_name;
                self.out.extend_from_slice(b"\"[");
                self.out.extend_from_slice(name.as_bytes());
                self.out.extend_from_slice(b"]\"");
            }
        }
        self.colon();
        match value {
            ValueRef::List(list) => self.list(layout, list),
            ValueRef::Map(map) => self.map(layout, map),
            value => self.value(layout, slot.kind, value),
        }
    }

    fn list(&mut self, layout: &Layout, list: ListRef<'_>) -> Done {
        let mut first = self.open(b'[');
        for (at, value) in list.iter().enumerate() {
            self.separate(&mut first);
            self.value(layout, list.kind(), value).within(|| PathStep::Index(at))?;
        }
        self.close(b']', first);
        Ok(())
    }

    pub(super) fn map(&mut self, layout: &Layout, map: MapRef<'_>) -> Done {
        let mut first = self.open(b'{');
        for (key, value) in map {
            self.separate(&mut first);
            match key {
                KeyRef::Str(text) => self.string(text)?,
                key => {
                    self.out.push(b'"');
                    match key {
                        KeyRef::Bool(key) => self.literal(if key { "true" } else { "false" }),
                        KeyRef::I32(key) => push_integer(self.out, key),
                        KeyRef::I64(key) => push_integer(self.out, key),
                        KeyRef::U32(key) => push_integer(self.out, key),
                        KeyRef::U64(key) => push_integer(self.out, key),
                        KeyRef::Str(_) => {}
                    }
                    self.out.push(b'"');
                }
            }
            self.colon();
            self.value(layout, map.value_kind(), value).within(|| PathStep::Key(key_text(key)))?;
        }
        self.close(b'}', first);
        Ok(())
    }

    /// A value that is neither list nor map.
    #[inline]
    pub(super) fn value(&mut self, layout: &Layout, kind: FieldKind, value: ValueRef<'_>) -> Done {
        match value {
            ValueRef::Bool(value) => self.literal(if value { "true" } else { "false" }),
            ValueRef::I32(value) => push_integer(self.out, value),
            ValueRef::U32(value) => push_integer(self.out, value),
            ValueRef::I64(value) => self.quoted_unless(self.options.int64_as_numbers, |out| push_integer(out, value)),
            ValueRef::U64(value) => self.quoted_unless(self.options.int64_as_numbers, |out| push_integer(out, value)),
            ValueRef::F32(value) if value.is_finite() => push_finite(self.out, value),
            ValueRef::F32(value) => self.not_finite(value.into()),
            ValueRef::F64(value) if value.is_finite() => push_finite(self.out, value),
            ValueRef::F64(value) => self.not_finite(value),
            ValueRef::Str(value) => return self.string(value),
            ValueRef::Bytes(value) => self.quoted_unless(false, |out| base64::push(out, value)),
            ValueRef::Enum(number) => match kind {
                FieldKind::Enum(id) => self.enum_value(layout.schema.enum_(id), number),
                _ => push_integer(self.out, number),
            },
            ValueRef::Message(message) => return self.message(message),
            // Neither occurs inside of the other.
            ValueRef::List(list) => return self.list(layout, list),
            ValueRef::Map(map) => return self.map(layout, map),
        }
        Ok(())
    }

    fn enum_value(&mut self, def: &EnumDef, number: i32) {
        match enum_name(def, number) {
            _ if &*def.full_name == "google.protobuf.NullValue" => self.literal("null"),
            Some(name) if !self.options.enums_as_integers => push_string(self.out, name),
            _ => push_integer(self.out, number),
        }
    }

    fn not_finite(&mut self, value: f64) {
        self.literal(if value.is_nan() {
            "\"NaN\""
        } else if value > 0.0 {
            "\"Infinity\""
        } else {
            "\"-Infinity\""
        });
    }

    pub(super) fn string(&mut self, text: StrRef<'_>) -> Done {
        let text = text.to_str().map_err(|error| Fault::write(WriteErrorKind::InvalidUtf8, error.to_string()))?;
        push_string(self.out, text);
        Ok(())
    }

    #[inline]
    fn quoted_unless(&mut self, bare: bool, push: impl FnOnce(&mut Vec<u8>)) {
        if !bare {
            self.out.push(b'"');
        }
        push(self.out);
        if !bare {
            self.out.push(b'"');
        }
    }

    pub(super) fn literal(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Opens an object or array; the result is the `first` of what follows.
    pub(super) fn open(&mut self, bracket: u8) -> bool {
        self.out.push(bracket);
        self.level += 1;
        true
    }

    /// Between members or elements, and before the first.
    #[inline]
    pub(super) fn separate(&mut self, first: &mut bool) {
        if !std::mem::take(first) {
            self.out.push(b',');
        }
        if self.options.pretty {
            self.line();
        }
    }

    pub(super) fn colon(&mut self) {
        self.literal(if self.options.pretty { ": " } else { ":" });
    }

    pub(super) fn close(&mut self, bracket: u8, empty: bool) {
        self.level -= 1;
        if self.options.pretty && !empty {
            self.line();
        }
        self.out.push(bracket);
    }

    fn line(&mut self) {
        self.out.push(b'\n');
        self.out.resize(self.out.len() + 2 * self.level, b' ');
    }
}
