//! Well-known types on their way to JSON.

use protojit_core::memory::Arena;
use protojit_core::message::{MessageRef, StrRef, ValueRef};
use protojit_core::schema::model::WellKnown;

use super::escape::push_string;
use super::write::Writer;
use super::{WriteErrorKind, base64, field_mask, time, type_name};
use crate::convert::error::{Fault, Within, WriteFault};
use crate::convert::path::PathStep;

type Done = Result<(), WriteFault>;

// Numbers of fields. Where a shape leaves the field out, it reads as zero.
pub(super) const SECONDS: u32 = 1;
pub(super) const NANOS: u32 = 2;
pub(super) const TYPE_URL: u32 = 1;
pub(super) const VALUE: u32 = 2;
/// Names of the members of an `Any`: its type, and the message where that has a JSON form of its own.
pub(super) const TYPE: &str = "@type";
pub(super) const VALUE_NAME: &str = "value";
/// The only field of wrappers, `Struct`, `ListValue` and `FieldMask`.
pub(super) const ONLY: u32 = 1;

impl Writer<'_> {
    pub(super) fn well_known(&mut self, known: WellKnown, message: MessageRef<'_>) -> Done {
        let field = |number| message.get_by_number(number);
        match known {
            WellKnown::Any => self.any(message),
            WellKnown::Timestamp | WellKnown::Duration => {
                let seconds = field(SECONDS).and_then(ValueRef::as_i64).unwrap_or(0);
                let nanos = field(NANOS).and_then(ValueRef::as_i32).unwrap_or(0);
                self.out.push(b'"');
                let (done, kind) = match known {
                    WellKnown::Timestamp => {
                        (time::push_timestamp(self.out, seconds, nanos), WriteErrorKind::InvalidTimestamp)
                    }
                    _ => (time::push_duration(self.out, seconds, nanos), WriteErrorKind::InvalidDuration),
                };
                done.ok_or_else(|| Fault::write(kind, format!("{seconds} seconds, {nanos} nanoseconds")))?;
                self.out.push(b'"');
                Ok(())
            }
            WellKnown::FieldMask => self.field_mask(message),
            WellKnown::Struct => match field(ONLY) {
                Some(ValueRef::Map(map)) => self.map(message.layout(), map),
                _ => self.object(message),
            },
            WellKnown::ListValue | WellKnown::Wrapper => match message.layout().slot(ONLY) {
                Some(slot) => self.value(message.layout(), slot.kind, message.get_slot(slot)),
                None => self.object(message),
            },
            WellKnown::Value => self.json_value(message),
            _ => self.object(message),
        }
    }

    fn json_value(&mut self, message: MessageRef<'_>) -> Done {
        let Some((slot, value)) = message.set_fields().next() else {
            return Err(Fault::write(WriteErrorKind::InvalidValue, "it is not set"));
        };
        if let ValueRef::F64(number) = value
            && !number.is_finite()
        {
            return Err(Fault::write(WriteErrorKind::InvalidValue, number.to_string()));
        }
        self.value(message.layout(), slot.kind, value)
    }

    fn field_mask(&mut self, message: MessageRef<'_>) -> Done {
        let mut text = String::new();
        if let Some(ValueRef::List(paths)) = message.get_by_number(ONLY) {
            for path in paths.as_strs().into_iter().flat_map(|paths| paths.into_iter()) {
                if !text.is_empty() {
                    text.push(',');
                }
                let path = str_of(path)?;
                field_mask::push_camel(&mut text, path)
                    .ok_or_else(|| Fault::write(WriteErrorKind::InvalidFieldMask, path))?;
            }
        }
        self.string(StrRef::from(text.as_str()))
    }

    fn any(&mut self, message: MessageRef<'_>) -> Done {
        let url = str_of(message.get_by_number(TYPE_URL).and_then(ValueRef::as_str).unwrap_or_default())?;
        let bytes = message.get_by_number(VALUE).and_then(ValueRef::as_bytes).unwrap_or_default();
        if url.is_empty() && bytes.is_empty() {
            self.literal("{}");
            return Ok(());
        }
        let invalid = |detail: String| Fault::write(WriteErrorKind::InvalidAny, detail);
        let name = type_name(url).ok_or_else(|| invalid(format!("malformed type URL {url:?}")))?;
        let found = match self.types.resolve(url) {
            Some(found) => found,
            None if self.options.unresolved_any_as_bytes => return self.any_as_bytes(url, bytes),
            None => return Err(Fault::write(WriteErrorKind::UnresolvedAny, url)),
        };
        let arena = Arena::new();
        let payload = found.decode(bytes, &arena).map_err(|error| invalid(error.to_string()))?;
        let mut first = self.open_any(url);
        let done = match payload.def().well_known {
            None | Some(WellKnown::Empty) => self.payload_fields(payload, &mut first),
            Some(_) => {
                self.name(VALUE_NAME, &mut first);
                self.message(payload)
            }
        };
        done.within(|| PathStep::Any(name.into()))?;
        self.close(b'}', first);
        Ok(())
    }

    fn any_as_bytes(&mut self, url: &str, bytes: &[u8]) -> Done {
        let mut first = self.open_any(url);
        self.name(VALUE_NAME, &mut first);
        self.out.push(b'"');
        base64::push(self.out, bytes);
        self.out.push(b'"');
        self.close(b'}', first);
        Ok(())
    }

    /// Opens the object of an `Any` and writes its type; the result is the `first` of what follows.
    fn open_any(&mut self, url: &str) -> bool {
        let mut first = self.open(b'{');
        self.name(TYPE, &mut first);
        push_string(self.out, url);
        first
    }

    fn name(&mut self, name: &str, first: &mut bool) {
        self.separate(first);
        push_string(self.out, name);
        self.colon();
    }
}

pub(super) fn str_of(text: StrRef<'_>) -> Result<&str, WriteFault> {
    text.to_str().map_err(|error| Fault::write(WriteErrorKind::InvalidUtf8, error.to_string()))
}
