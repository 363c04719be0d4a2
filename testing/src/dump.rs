//! A message as text: every field that is set, in the order of numbers, elements and entries in theirs, floats by their
//! bits, and the bytes of unknown fields. Two messages are the same where their dumps are.

use std::fmt::Write;

use protojit::MessageRef;
use protojit_core::message::{KeyRef, ValueRef};

/// The dump of a message.
pub fn dump(message: MessageRef<'_>) -> String {
    let mut out = String::new();
    write_message(message, &mut out);
    out
}

fn write_message(message: MessageRef<'_>, out: &mut String) {
    out.push('{');
    for slot in &message.layout().fields {
        let set = message.get_set(slot);
        assert_eq!(set.is_some(), message.has(slot), "has and get_set agree on {}", slot.number);
        if let Some(value) = set {
            let _ = write!(out, "{}:", slot.number);
            write_value(value, out);
            out.push(' ');
        }
    }
    for (at, oneof) in message.def().oneofs.iter().enumerate() {
        let set = message.which_oneof(at as u32).map(|slot| slot.number);
        let members = oneof.fields.iter().map(|&field| message.def().fields[field as usize].number);
        let with = members.filter(|&number| message.layout().slot(number).is_some_and(|slot| message.has(slot)));
        assert_eq!(with.collect::<Vec<_>>(), Vec::from_iter(set), "at most one member of {} is set", oneof.name);
    }
    let unknown = message.unknown_fields();
    if !unknown.is_empty() {
        out.push('?');
        unknown.runs().flatten().for_each(|byte| write_byte(*byte, out));
        // What was kept are whole fields.
        let parsed: usize = unknown.iter().map(|field| field.bytes.len()).sum();
        assert_eq!(parsed, unknown.byte_len(), "unknown fields can be read again");
    }
    out.push('}');
}

fn write_byte(byte: u8, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(DIGITS[usize::from(byte >> 4)].into());
    out.push(DIGITS[usize::from(byte & 15)].into());
}

fn write_bytes(bytes: &[u8], out: &mut String) {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.bytes().all(|byte| byte != b'"' && !byte.is_ascii_control()) => {
            out.push('"');
            out.push_str(text);
            out.push('"');
        }
        _ => {
            out.push('\'');
            bytes.iter().for_each(|byte| write_byte(*byte, out));
            out.push('\'');
        }
    }
}

fn write_value(value: ValueRef<'_>, out: &mut String) {
    let _ = match value {
        ValueRef::Bool(value) => write!(out, "{value}"),
        ValueRef::I32(value) => write!(out, "{value}i"),
        ValueRef::I64(value) => write!(out, "{value}l"),
        ValueRef::U32(value) => write!(out, "{value}u"),
        ValueRef::U64(value) => write!(out, "{value}ul"),
        ValueRef::F32(value) => write!(out, "{:x}f", value.to_bits()),
        ValueRef::F64(value) => write!(out, "{:x}d", value.to_bits()),
        ValueRef::Enum(value) => write!(out, "{value}e"),
        ValueRef::Str(text) => {
            out.push('s');
            return write_bytes(text.as_bytes(), out);
        }
        ValueRef::Bytes(bytes) => {
            out.push('b');
            return write_bytes(bytes, out);
        }
        ValueRef::Message(message) => return write_message(message, out),
        ValueRef::List(list) => {
            out.push('[');
            for (at, value) in list.iter().enumerate() {
                if at != 0 {
                    out.push(',');
                }
                write_value(value, out);
            }
            return out.push(']');
        }
        ValueRef::Map(map) => {
            out.push('<');
            for (key, value) in map {
                match key {
                    KeyRef::Str(text) => write_bytes(text.as_bytes(), out),
                    key => write_value(key.to_value_ref(), out),
                }
                out.push('=');
                write_value(value, out);
                out.push(',');
                assert!(map.get(key).is_some(), "every key is found");
            }
            return out.push('>');
        }
    };
}
