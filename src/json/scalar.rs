//! Scalars from JSON, by the type that the schema wants.

use std::borrow::Cow;

use protojit_core::message::{KeyRef, Value};
use protojit_core::schema::model::{FieldKind, SchemaData};

use super::ReadErrorKind;
use super::base64;
use super::read::Reader;
use super::tokenizer::Token;
use crate::convert::error::ReadFault;
use crate::convert::fields::enum_number;
use crate::convert::number::{integer, number_len, signed, unsigned};

/// A scalar that was read; strings without escapes are slices of the input.
pub(super) enum Scalar<'i> {
    Plain(Value<'static>),
    Str(Cow<'i, str>),
    Bytes(Vec<u8>),
    /// An enum name that is not known, where such are skipped.
    Skipped,
}

impl Scalar<'_> {
    /// The value to be set, if there is one.
    pub(super) fn as_value(&self) -> Option<Value<'_>> {
        Some(match self {
            Scalar::Plain(value) => *value,
            Scalar::Str(text) => Value::Str(text),
            Scalar::Bytes(bytes) => Value::Bytes(bytes),
            Scalar::Skipped => return None,
        })
    }
}

/// What a type's values are, for error messages.
fn wanted(kind: FieldKind) -> &'static str {
    use FieldKind::*;
    match kind {
        Double | Float => "a number",
        Bool => "a bool",
        String => "a string",
        Bytes => "a base64 string",
        Enum(_) => "an enum value",
        Message(_) => "a message",
        _ => "an integer",
    }
}

impl<'i> Reader<'i, '_> {
    /// A value of a kind that is no message.
    pub(super) fn scalar(&mut self, schema: &SchemaData, kind: FieldKind) -> Result<Scalar<'i>, ReadFault> {
        use FieldKind::*;
        Ok(Scalar::Plain(match kind {
            Int32 | Sint32 | Sfixed32 => Value::I32(self.signed(kind, 32)? as i32),
            Int64 | Sint64 | Sfixed64 => Value::I64(self.signed(kind, 64)?),
            Uint32 | Fixed32 => Value::U32(self.unsigned(kind, 32)? as u32),
            Uint64 | Fixed64 => Value::U64(self.unsigned(kind, 64)?),
            Float => Value::F32(self.float(kind, f32::is_finite)?),
            Double => Value::F64(self.float(kind, f64::is_finite)?),
            Bool => Value::Bool(self.tokens.bool()?),
            String => return self.tokens.string().map(Scalar::Str),
            Bytes => {
                let text = self.tokens.string()?;
                let bytes = base64::decode(text.as_bytes());
                return bytes.map(Scalar::Bytes).ok_or_else(|| self.tokens.fault(ReadErrorKind::InvalidBase64, ""));
            }
            Enum(id) => {
                let def = schema.enum_(id);
                match self.tokens.peek()? {
                    Token::Number => Value::Enum(self.signed(kind, 32)? as i32),
                    Token::Null if &*def.full_name == super::read::NULL_VALUE => {
                        self.tokens.null()?;
                        Value::Enum(0)
                    }
                    Token::String => {
                        let name = self.tokens.string()?;
                        match enum_number(def, &name) {
                            Some(number) => Value::Enum(number),
                            None if self.options.ignore_unknown => return Ok(Scalar::Skipped),
                            None => {
                                let detail = format!("{name:?} in {}", def.full_name);
                                return Err(self.tokens.fault(ReadErrorKind::UnknownEnumValue, detail));
                            }
                        }
                    }
                    found => return Err(self.tokens.wrong_type(wanted(kind), found)),
                }
            }
            Message(_) => return Err(self.tokens.fault(ReadErrorKind::WrongType, "expected a message")),
        }))
    }

    /// The digits of a number, in quotes or not.
    fn digits(&mut self, kind: FieldKind) -> Result<Cow<'i, str>, ReadFault> {
        match self.tokens.peek()? {
            Token::Number => self.tokens.number().map(Cow::Borrowed),
            Token::String => self.tokens.string(),
            found => Err(self.tokens.wrong_type(wanted(kind), found)),
        }
    }

    fn integer(&mut self, kind: FieldKind) -> Result<(bool, u64), ReadFault> {
        let text = self.digits(kind)?;
        if text.is_empty() || number_len(text.as_bytes()) != text.len() {
            return Err(self.tokens.fault(ReadErrorKind::WrongType, format!("{text:?} is no number")));
        }
        integer(&text).map_err(|kind| self.tokens.fault(kind, text.as_ref()))
    }

    fn signed(&mut self, kind: FieldKind, bits: u32) -> Result<i64, ReadFault> {
        let (negative, magnitude) = self.integer(kind)?;
        signed(negative, magnitude, bits).map_err(|kind| self.tokens.fault(kind, ""))
    }

    fn unsigned(&mut self, kind: FieldKind, bits: u32) -> Result<u64, ReadFault> {
        let (negative, magnitude) = self.integer(kind)?;
        unsigned(negative, magnitude, bits).map_err(|kind| self.tokens.fault(kind, ""))
    }

    /// `finite` of a number of digits tells whether they were in range.
    pub(super) fn float<F: std::str::FromStr + Copy>(
        &mut self,
        kind: FieldKind,
        finite: fn(F) -> bool,
    ) -> Result<F, ReadFault> {
        let text = self.digits(kind)?;
        let special = match text.as_ref() {
            "NaN" => Some("nan"),
            "Infinity" => Some("inf"),
            "-Infinity" => Some("-inf"),
            _ => None,
        };
        if special.is_none() && (text.is_empty() || number_len(text.as_bytes()) != text.len()) {
            return Err(self.tokens.fault(ReadErrorKind::WrongType, format!("{text:?} is no number")));
        }
        match special.unwrap_or(&text).parse::<F>() {
            Ok(value) if special.is_some() || finite(value) => Ok(value),
            _ => Err(self.tokens.fault(ReadErrorKind::OutOfRange, text.as_ref())),
        }
    }

    /// The key of a map from its text.
    pub(super) fn map_key<'k>(&self, kind: FieldKind, text: &'k str) -> Result<KeyRef<'k>, ReadFault> {
        use FieldKind::*;
        let number = || {
            if text.is_empty() || number_len(text.as_bytes()) != text.len() {
                return Err(ReadErrorKind::WrongType);
            }
            integer(text)
        };
        let key = match kind {
            String => return Ok(KeyRef::from(text)),
            Bool => match text {
                "true" => Ok(KeyRef::Bool(true)),
                "false" => Ok(KeyRef::Bool(false)),
                _ => Err(ReadErrorKind::WrongType),
            },
            Int32 | Sint32 | Sfixed32 => number().and_then(|(sign, n)| Ok(KeyRef::I32(signed(sign, n, 32)? as i32))),
            Int64 | Sint64 | Sfixed64 => number().and_then(|(sign, n)| Ok(KeyRef::I64(signed(sign, n, 64)?))),
            Uint32 | Fixed32 => number().and_then(|(sign, n)| Ok(KeyRef::U32(unsigned(sign, n, 32)? as u32))),
            Uint64 | Fixed64 => number().and_then(|(sign, n)| Ok(KeyRef::U64(unsigned(sign, n, 64)?))),
            _ => Err(ReadErrorKind::WrongType),
        };
        key.map_err(|error| self.tokens.fault(error, format!("map key {text:?}, expected {}", wanted(kind))))
    }
}
