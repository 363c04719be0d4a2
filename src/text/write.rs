//! From message memory to the text format.

use protojit_core::memory::Arena;
use protojit_core::message::{MessageRef, ValueRef};
use protojit_core::program::{FieldSlot, Layout};
use protojit_core::schema::model::{FieldKey, FieldKind, WellKnown};

use super::names::group_name;
use super::string::push_quoted;
use super::{AnyResolver, WriteError, WriteErrorKind, type_name};
use crate::convert::error::{Fault, Within, WriteFault};
use crate::convert::fields::{enum_name, key_text, map_defs};
use crate::convert::number::{push_finite, push_integer};
use crate::convert::path::PathStep;

/// How the text format is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextWriteOptions {
    /// All on one line, instead of a field a line, indented by two spaces.
    pub single_line: bool,
    /// Also write unknown fields, by number, as far as the wire tells what they are.
    pub unknown_fields: bool,
    /// Write the message in an `Any` in place where its type is known. Else it is the bytes that it holds.
    pub expand_any: bool,
    /// Escape all characters in strings that are not ASCII.
    pub ascii: bool,
    /// How deep messages may nest. Each level takes stack.
    pub max_depth: u32,
}

impl Default for TextWriteOptions {
    fn default() -> Self {
        TextWriteOptions { single_line: false, unknown_fields: false, expand_any: true, ascii: false, max_depth: 100 }
    }
}

/// Appends a message to `out` in the text format. The result is UTF-8; bytes in strings that are not are escaped.
///
/// # Errors
/// The depth limit is reached. Then `out` is as it was.
pub fn write(
    message: MessageRef<'_>,
    options: &TextWriteOptions,
    types: &dyn AnyResolver,
    out: &mut Vec<u8>,
) -> Result<(), WriteError> {
    let before = out.len();
    let mut writer = Writer { begin: before, out, options, types, level: 0, left: options.max_depth };
    writer.fields(message).map_err(|fault| {
        out.truncate(before);
        WriteError::of(*fault, &message.def().full_name)
    })
}

pub(super) type Done = Result<(), WriteFault>;

pub(super) struct Writer<'o> {
    begin: usize,
    pub(super) out: &'o mut Vec<u8>,
    pub(super) options: &'o TextWriteOptions,
    types: &'o dyn AnyResolver,
    /// Of indentation.
    level: usize,
    /// Levels of messages that may still be nested.
    pub(super) left: u32,
}

impl Writer<'_> {
    fn fields(&mut self, message: MessageRef<'_>) -> Done {
        let layout = message.layout();
        if layout.def().well_known == Some(WellKnown::Any) && self.options.expand_any && self.any(message)? {
            return Ok(());
        }
        for (slot, value) in message.set_fields() {
            self.field(layout, slot, value).in_field(layout, slot)?;
        }
        if self.options.unknown_fields {
            message.unknown_fields().iter().try_for_each(|field| self.unknown(field))?;
        }
        Ok(())
    }

    fn field(&mut self, layout: &Layout, slot: &FieldSlot, value: ValueRef<'_>) -> Done {
        match value {
            ValueRef::List(list) => {
                for (at, value) in list.iter().enumerate() {
                    self.name(layout, slot);
                    self.value(layout, slot.kind, value).within(|| PathStep::Index(at))?;
                }
            }
            ValueRef::Map(map) => {
                let kinds = map_defs(&layout.schema, layout.field_def(slot));
                let Some((key_def, value_def)) = kinds else { return Ok(()) };
                for (key, value) in map {
                    self.name(layout, slot);
                    self.nested(|writer| {
                        writer.word("key");
                        writer.value(layout, key_def.kind, key.to_value_ref())?;
                        writer.word("value");
                        writer.value(layout, value_def.kind, value).within(|| PathStep::Key(key_text(key)))
                    })?;
                }
            }
            value => {
                self.name(layout, slot);
                self.value(layout, slot.kind, value)?;
            }
        }
        Ok(())
    }

    /// The field's name, on a line of its own.
    fn name(&mut self, layout: &Layout, slot: &FieldSlot) {
        match slot.key {
            FieldKey::Field(..) => {
                let def = layout.field_def(slot);
                self.word(group_name(&layout.schema, layout.message, def).unwrap_or(&def.name));
            }
            FieldKey::Extension(id) => {
                self.word("[");
                self.literal(&layout.schema.extensions[id.index()].full_name);
                self.out.push(b']');
            }
        }
    }

    /// What stands behind a name, for a value that is neither list nor map.
    fn value(&mut self, layout: &Layout, kind: FieldKind, value: ValueRef<'_>) -> Done {
        if let ValueRef::Message(message) = value {
            return self.nested(|writer| writer.fields(message));
        }
        self.literal(": ");
        match value {
            ValueRef::Bool(value) => self.literal(if value { "true" } else { "false" }),
            ValueRef::I32(value) => push_integer(self.out, value),
            ValueRef::I64(value) => push_integer(self.out, value),
            ValueRef::U32(value) => push_integer(self.out, value),
            ValueRef::U64(value) => push_integer(self.out, value),
            ValueRef::F32(value) if value.is_finite() => push_finite(self.out, value),
            ValueRef::F32(value) => self.not_finite(value.into()),
            ValueRef::F64(value) if value.is_finite() => push_finite(self.out, value),
            ValueRef::F64(value) => self.not_finite(value),
            ValueRef::Str(value) => push_quoted(self.out, value.as_bytes(), !self.options.ascii),
            ValueRef::Bytes(value) => push_quoted(self.out, value, false),
            ValueRef::Enum(number) => {
                let name = match kind {
                    FieldKind::Enum(id) => enum_name(layout.schema.enum_(id), number),
                    _ => None,
                };
                match name {
                    Some(name) => self.literal(name),
                    None => push_integer(self.out, number),
                }
            }
            ValueRef::Message(_) | ValueRef::List(_) | ValueRef::Map(_) => {}
        }
        self.end();
        Ok(())
    }

    fn not_finite(&mut self, value: f64) {
        self.literal(if value.is_nan() {
            "nan"
        } else if value > 0.0 {
            "inf"
        } else {
            "-inf"
        });
    }

    /// Brackets around what `write` writes.
    pub(super) fn nested(&mut self, write: impl FnOnce(&mut Self) -> Done) -> Done {
        if self.left == 0 {
            return Err(Fault::write(WriteErrorKind::DepthLimit, ""));
        }
        self.left -= 1;
        self.literal(" {");
        let empty = self.out.len();
        self.end();
        self.level += 1;
        let begin = self.out.len();
        write(self)?;
        self.level -= 1;
        if self.out.len() == begin {
            self.out.truncate(empty);
            self.out.push(b'}');
        } else {
            self.word("}");
        }
        self.end();
        self.left += 1;
        Ok(())
    }

    /// Begins a line with a word; on a single line, parts it from what stands before.
    pub(super) fn word(&mut self, word: &str) {
        if !self.options.single_line {
            self.out.resize(self.out.len() + 2 * self.level, b' ');
        } else if self.out.len() > self.begin {
            self.out.push(b' ');
        }
        self.literal(word);
    }

    pub(super) fn literal(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Ends a line.
    pub(super) fn end(&mut self) {
        if !self.options.single_line {
            self.out.push(b'\n');
        }
    }

    /// The message in an `Any`; `false` where it cannot be shown.
    fn any(&mut self, message: MessageRef<'_>) -> Result<bool, WriteFault> {
        let url = message.get_by_number(1).and_then(ValueRef::as_str).unwrap_or_default().to_str();
        let bytes = message.get_by_number(2).and_then(ValueRef::as_bytes).unwrap_or_default();
        let Some((url, name)) = url.ok().and_then(|url| Some((url, type_name(url)?))) else { return Ok(false) };
        // What a reader would not take.
        let in_url = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-/~%!$&()*+,;=".contains(&byte);
        if !url.bytes().all(in_url) || url.split(['.', '/']).any(str::is_empty) {
            return Ok(false);
        }
        let Some(found) = self.types.resolve(url) else { return Ok(false) };
        let arena = Arena::new();
        let Ok(payload) = found.decode(bytes, &arena) else { return Ok(false) };
        self.word("[");
        self.literal(url);
        self.out.push(b']');
        self.nested(|writer| writer.fields(payload)).within(|| PathStep::Any(name.into()))?;
        Ok(true)
    }
}
