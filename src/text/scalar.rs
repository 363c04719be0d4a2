//! Scalars from the text format, by the type that the schema wants.

use std::borrow::Cow;

use protojit_core::message::{KeyRef, StrRef, Value};
use protojit_core::schema::model::{FieldKind, SchemaData};

use super::ReadErrorKind;
use super::lexer::{Lexer, Number};
use crate::convert::error::ReadFault;
use crate::convert::fields::enum_number;
use crate::convert::number::{signed, unsigned};

/// A scalar that was read; strings without escapes are slices of the input.
pub(super) enum Scalar<'i> {
    Plain(Value<'static>),
    Bytes(Cow<'i, [u8]>),
}

impl Scalar<'_> {
    pub(super) fn as_value(&self) -> Value<'_> {
        match self {
            Scalar::Plain(value) => *value,
            Scalar::Bytes(bytes) => Value::Bytes(bytes),
        }
    }

    /// The scalar as a map's key; `None` for types that are none.
    pub(super) fn as_key(&self) -> Option<KeyRef<'_>> {
        Some(match self {
            Scalar::Plain(Value::Bool(key)) => KeyRef::Bool(*key),
            Scalar::Plain(Value::I32(key)) => KeyRef::I32(*key),
            Scalar::Plain(Value::I64(key)) => KeyRef::I64(*key),
            Scalar::Plain(Value::U32(key)) => KeyRef::U32(*key),
            Scalar::Plain(Value::U64(key)) => KeyRef::U64(*key),
            Scalar::Bytes(key) => KeyRef::Str(StrRef::new(key)),
            Scalar::Plain(_) => return None,
        })
    }

    /// What a kind's value is where none is given.
    pub(super) fn zero(schema: &SchemaData, kind: FieldKind) -> Scalar<'static> {
        use FieldKind::*;
        Scalar::Plain(match kind {
            Int32 | Sint32 | Sfixed32 => Value::I32(0),
            Int64 | Sint64 | Sfixed64 => Value::I64(0),
            Uint32 | Fixed32 => Value::U32(0),
            Uint64 | Fixed64 => Value::U64(0),
            Float => Value::F32(0.0),
            Double => Value::F64(0.0),
            Bool => Value::Bool(false),
            Enum(id) => Value::Enum(schema.enum_(id).values.first().map_or(0, |value| value.number)),
            String | Bytes | Message(_) => return Scalar::Bytes(Cow::Borrowed(&[])),
        })
    }
}

/// The name of a number that no digits stand for, in any case: infinity or not a number.
pub(super) fn special(name: &str) -> Option<f64> {
    if name.eq_ignore_ascii_case("inf") || name.eq_ignore_ascii_case("infinity") {
        Some(f64::INFINITY)
    } else if name.eq_ignore_ascii_case("nan") {
        Some(f64::NAN)
    } else {
        None
    }
}

/// Reads a value of a kind that is no message.
pub(super) fn scalar<'i>(lexer: &mut Lexer<'i>, schema: &SchemaData, kind: FieldKind) -> Result<Scalar<'i>, ReadFault> {
    use FieldKind::*;
    Ok(Scalar::Plain(match kind {
        Int32 | Sint32 | Sfixed32 => Value::I32(signed_integer(lexer, 32)? as i32),
        Int64 | Sint64 | Sfixed64 => Value::I64(signed_integer(lexer, 64)?),
        Uint32 | Fixed32 => Value::U32(unsigned_integer(lexer, 32)? as u32),
        Uint64 | Fixed64 => Value::U64(unsigned_integer(lexer, 64)?),
        Float => Value::F32(match float(lexer)? {
            Real::Digits(negative, digits) => {
                let value = digits.parse::<f32>().map_err(|_| wrong(lexer, "a number"))?;
                if negative { -value } else { value }
            }
            Real::Special(value) => value as f32,
        }),
        Double => Value::F64(match float(lexer)? {
            Real::Digits(negative, digits) => {
                let value = digits.parse::<f64>().map_err(|_| wrong(lexer, "a number"))?;
                if negative { -value } else { value }
            }
            Real::Special(value) => value,
        }),
        Bool => Value::Bool(bool(lexer)?),
        String | Bytes => {
            let text = lexer.string()?;
            return text.map(Scalar::Bytes).ok_or_else(|| wrong(lexer, "a string"));
        }
        Enum(id) => {
            let def = schema.enum_(id);
            match lexer.name() {
                Some(name) => Value::Enum(enum_number(def, name).ok_or_else(|| {
                    let detail = format!("{name} in {}", def.full_name);
                    lexer.fault(ReadErrorKind::UnknownEnumValue, detail)
                })?),
                None => Value::Enum(signed_integer(lexer, 32)? as i32),
            }
        }
        Message(_) => return Err(wrong(lexer, "a message")),
    }))
}

/// The next word is of the wrong type, or no value at all.
#[cold]
fn wrong(lexer: &mut Lexer<'_>, expected: &str) -> ReadFault {
    match lexer.peek() {
        Some(b'"' | b'\'' | b'-' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'{' | b'<' | b'[') => {
            let mut fault = lexer.syntax(expected);
            fault.kind = ReadErrorKind::WrongType;
            fault
        }
        _ => lexer.syntax(expected),
    }
}

fn integer(lexer: &mut Lexer<'_>) -> Result<u64, ReadFault> {
    match lexer.number()? {
        Some(Number::Integer(digits, radix)) => {
            u64::from_str_radix(digits, radix).map_err(|_| lexer.fault(ReadErrorKind::OutOfRange, digits))
        }
        Some(Number::Float(digits)) => Err(lexer.fault(ReadErrorKind::NotInteger, digits)),
        None => Err(wrong(lexer, "an integer")),
    }
}

fn signed_integer(lexer: &mut Lexer<'_>, bits: u32) -> Result<i64, ReadFault> {
    let negative = lexer.eat(b'-');
    let magnitude = integer(lexer)?;
    signed(negative, magnitude, bits).map_err(|kind| lexer.fault(kind, ""))
}

fn unsigned_integer(lexer: &mut Lexer<'_>, bits: u32) -> Result<u64, ReadFault> {
    if lexer.eat(b'-') {
        return Err(lexer.fault(ReadErrorKind::OutOfRange, "the field is unsigned"));
    }
    let magnitude = integer(lexer)?;
    unsigned(false, magnitude, bits).map_err(|kind| lexer.fault(kind, ""))
}

enum Real<'i> {
    /// Whether it is negative, and decimal digits as Rust reads them, too.
    Digits(bool, &'i str),
    Special(f64),
}

fn float<'i>(lexer: &mut Lexer<'i>) -> Result<Real<'i>, ReadFault> {
    let negative = lexer.eat(b'-');
    match lexer.number()? {
        Some(Number::Integer(digits, 10) | Number::Float(digits)) => Ok(Real::Digits(negative, digits)),
        Some(Number::Integer(digits, _)) => {
            Err(lexer.fault(ReadErrorKind::WrongType, format!("{digits} is neither decimal nor a float")))
        }
        None => match lexer.name() {
            Some(name) => match special(name) {
                Some(value) => Ok(Real::Special(if negative { -value } else { value })),
                None => Err(lexer.fault(ReadErrorKind::WrongType, format!("expected a number, found {name}"))),
            },
            None => Err(wrong(lexer, "a number")),
        },
    }
}

fn bool(lexer: &mut Lexer<'_>) -> Result<bool, ReadFault> {
    match lexer.name() {
        Some("true" | "True" | "t") => return Ok(true),
        Some("false" | "False" | "f") => return Ok(false),
        Some(name) => return Err(lexer.fault(ReadErrorKind::WrongType, format!("expected a bool, found {name}"))),
        None => {}
    }
    match lexer.number()? {
        Some(Number::Integer(digits, radix)) => match u64::from_str_radix(digits, radix) {
            Ok(value @ 0..=1) => Ok(value == 1),
            _ => Err(lexer.fault(ReadErrorKind::OutOfRange, digits)),
        },
        Some(Number::Float(digits)) => Err(lexer.fault(ReadErrorKind::WrongType, digits)),
        None => Err(wrong(lexer, "a bool")),
    }
}
