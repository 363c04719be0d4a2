//! Well-known types on their way from JSON.

use protojit_core::memory::Arena;
use protojit_core::message::{MessageMut, Value};
use protojit_core::program::FieldSlot;
use protojit_core::schema::model::{FieldKind, WellKnown};

use super::read::Reader;
use super::tokenizer::Token;
use super::write_known::{NANOS, ONLY, SECONDS, TYPE, TYPE_URL, VALUE, VALUE_NAME};
use super::{ReadErrorKind, base64, field_mask, time, type_name};
use crate::convert::error::{Fault, ReadFault, Within};
use crate::convert::fields::map_defs;
use crate::convert::path::PathStep;

type Done = Result<(), ReadFault>;

/// Numbers of the fields of `google.protobuf.Value`.
mod value {
    pub(super) const NULL: u32 = 1;
    pub(super) const NUMBER: u32 = 2;
    pub(super) const STRING: u32 = 3;
    pub(super) const BOOL: u32 = 4;
    pub(super) const STRUCT: u32 = 5;
    pub(super) const LIST: u32 = 6;
}

impl Reader<'_, '_> {
    pub(super) fn well_known(&mut self, known: WellKnown, message: &mut MessageMut<'_>) -> Done {
        match known {
            WellKnown::Any => self.any(message),
            WellKnown::Timestamp | WellKnown::Duration => {
                let text = self.tokens.string()?;
                let (parsed, kind) = match known {
                    WellKnown::Timestamp => (time::parse_timestamp(&text), ReadErrorKind::InvalidTimestamp),
                    _ => (time::parse_duration(&text), ReadErrorKind::InvalidDuration),
                };
                let (seconds, nanos) = parsed.ok_or_else(|| self.tokens.fault(kind, format!("{text:?}")))?;
                self.set(message, SECONDS, Value::I64(seconds))?;
                self.set(message, NANOS, Value::I32(nanos))
            }
            WellKnown::FieldMask => self.field_mask(message),
            WellKnown::Struct => self.known_map(message, ONLY),
            WellKnown::ListValue => self.known_list(message, ONLY),
            WellKnown::Value => self.json_value(message),
            WellKnown::Wrapper => match message.layout().slot(ONLY) {
                Some(slot) => {
                    let schema = &*message.layout().schema;
                    let scalar = self.scalar(schema, slot.kind)?;
                    match scalar.as_value() {
                        Some(value) => self.set(message, ONLY, value),
                        None => Ok(()),
                    }
                }
                None => self.tokens.skip(self.left),
            },
            _ => self.object(message, false),
        }
    }

    /// Sets a field; one that the shape leaves out is forgotten.
    fn set(&mut self, message: &mut MessageMut<'_>, number: u32, value: Value<'_>) -> Done {
        match message.layout().slot(number) {
            Some(slot) => message.set_slot(slot, value).map_err(|error| Fault::of_set(error, self.tokens.last())),
            None => Ok(()),
        }
    }

    fn known_map(&mut self, message: &mut MessageMut<'_>, number: u32) -> Done {
        let layout = message.layout();
        let found =
            layout.slot(number).and_then(|slot| Some((slot, map_defs(&layout.schema, layout.field_def(slot))?)));
        match found {
            Some((slot, defs)) => {
                self.tokens.expect(Token::Object)?;
                let map = message.map(slot);
                let mut map = map.map_err(|error| Fault::of_set(error, self.tokens.last()))?;
                self.map(&layout.schema, defs, &mut map)
            }
            None => self.tokens.skip(self.left),
        }
    }

    fn known_list(&mut self, message: &mut MessageMut<'_>, number: u32) -> Done {
        let layout = message.layout();
        match layout.slot(number) {
            Some(slot) => {
                self.tokens.expect(Token::Array)?;
                let list = message.list(slot);
                let mut list = list.map_err(|error| Fault::of_set(error, self.tokens.last()))?;
                self.list(&layout.schema, slot.kind, &mut list)
            }
            None => self.tokens.skip(self.left),
        }
    }

    fn json_value(&mut self, message: &mut MessageMut<'_>) -> Done {
        let layout = message.layout();
        match self.tokens.peek()? {
            Token::Null => {
                self.tokens.null()?;
                self.set(message, value::NULL, Value::Enum(0))
            }
            Token::Number => {
                let number = self.float(FieldKind::Double, f64::is_finite)?;
                self.set(message, value::NUMBER, Value::F64(number))
            }
            Token::String => {
                let text = self.tokens.string()?;
                self.set(message, value::STRING, Value::Str(&text))
            }
            Token::Bool => {
                let value = self.tokens.bool()?;
                self.set(message, value::BOOL, Value::Bool(value))
            }
            Token::Object => match layout.slot(value::STRUCT) {
                Some(slot) => self.child(message, slot),
                None => self.tokens.skip(self.left),
            },
            Token::Array => match layout.slot(value::LIST) {
                Some(slot) => self.child(message, slot),
                None => self.tokens.skip(self.left),
            },
        }
    }

    /// The object or array of a value: no level of its own.
    fn child(&mut self, message: &mut MessageMut<'_>, slot: &FieldSlot) -> Done {
        let child = message.mutable(slot);
        let mut child = child.map_err(|error| Fault::of_set(error, self.tokens.last()))?;
        match child.layout().def().well_known {
            Some(WellKnown::Struct) => self.known_map(&mut child, ONLY),
            _ => self.known_list(&mut child, ONLY),
        }
    }

    fn field_mask(&mut self, message: &mut MessageMut<'_>) -> Done {
        let text = self.tokens.string()?;
        let Some(slot) = message.layout().slot(ONLY) else { return Ok(()) };
        if text.is_empty() {
            return Ok(());
        }
        let mut snake = String::new();
        for path in text.split(',') {
            snake.clear();
            field_mask::push_snake(&mut snake, path)
                .ok_or_else(|| self.tokens.fault(ReadErrorKind::InvalidFieldMask, format!("{path:?}")))?;
            let pushed = message.push(slot, &snake);
            pushed.map_err(|error| Fault::of_set(error, self.tokens.last()))?;
        }
        Ok(())
    }

    fn any(&mut self, message: &mut MessageMut<'_>) -> Done {
        self.tokens.expect(Token::Object)?;
        let (begin, begin_offset) = (self.tokens.position(), self.tokens.last());
        let invalid = |detail: &str| Fault::at(ReadErrorKind::InvalidAny, begin_offset, detail);
        // The type may stand anywhere: look for it, then begin again.
        let mut url = None;
        let (mut first, mut members) = (true, 0);
        self.tokens.object()?;
        while let Some(name) = self.tokens.member(&mut first)? {
            members += 1;
            if name == TYPE {
                url = Some(self.tokens.string()?);
                break;
            }
            self.tokens.skip(self.left)?;
        }
        let Some(url) = url else {
            // An object without members is an `Any` in which nothing is set.
            return if members == 0 { Ok(()) } else { Err(invalid("there is no \"@type\"")) };
        };
        let name = type_name(&url).ok_or_else(|| invalid(&format!("malformed type URL {url:?}")))?;
        let types = self.types;
        self.tokens.rewind(begin);
        let Some(found) = types.resolve(&url) else {
            let unresolved = || Fault::at(ReadErrorKind::UnresolvedAny, begin_offset, url.as_ref());
            if !self.options.unresolved_any_as_bytes {
                return Err(unresolved());
            }
            let mut bytes = None;
            self.any_value(true, |reader| {
                if reader.tokens.peek()? != Token::String {
                    return Err(unresolved());
                }
                bytes = base64::decode(reader.tokens.string()?.as_bytes());
                Ok(())
            })?;
            let bytes = bytes.ok_or_else(unresolved)?;
            self.set(message, TYPE_URL, Value::Str(&url))?;
            return self.set(message, VALUE, Value::Bytes(&bytes));
        };
        let arena = Arena::with_limit(message.arena().limit());
        let payload = MessageMut::new(found.shape(), &arena);
        let mut payload = payload.map_err(|full| Fault::of_arena(full, begin_offset))?;
        let done = match payload.layout().def().well_known {
            None => self.nested(|reader| reader.object(&mut payload, true)),
            Some(WellKnown::Empty) => self.any_value(false, |reader| reader.message(&mut payload)),
            Some(_) => self.any_value(true, |reader| reader.message(&mut payload)),
        };
        done.within(|| PathStep::Any(name.into()))?;
        let bytes = found.encode(payload.as_ref()).map_err(|error| invalid(&error.to_string()))?;
        self.set(message, TYPE_URL, Value::Str(&url))?;
        self.set(message, VALUE, Value::Bytes(&bytes))
    }

    /// An object with the members `@type` and `value`; `read` reads the latter.
    fn any_value(&mut self, required: bool, mut read: impl FnMut(&mut Self) -> Done) -> Done {
        self.tokens.object()?;
        let (mut first, mut types, mut values) = (true, 0, 0);
        while let Some(name) = self.tokens.member(&mut first)? {
            let count = match name.as_ref() {
                TYPE => &mut types,
                VALUE_NAME => &mut values,
                _ if self.options.ignore_unknown => {
                    self.tokens.skip(self.left)?;
                    continue;
                }
                _ => return Err(self.tokens.fault(ReadErrorKind::UnknownField, name.as_ref())),
            };
            *count += 1;
            if *count > 1 {
                return Err(self.tokens.fault(ReadErrorKind::DuplicateField, name.as_ref()));
            }
            match name.as_ref() {
                TYPE => _ = self.tokens.string()?,
                _ => read(self)?,
            }
        }
        if required && values == 0 {
            return Err(self.tokens.fault(ReadErrorKind::InvalidAny, "there is no \"value\""));
        }
        Ok(())
    }
}
