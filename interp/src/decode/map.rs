//! Entries of maps.
//!
//! An entry is a message of two fields, in any order, each possibly repeated or absent; other fields in it are ignored. It counts
//! as one level of nesting (and a message value as another), as in C++.

use protojit_core::error::DecodeErrorKind;
use protojit_core::memory::map::{MapKey, MapTable, entry as map_entry};
use protojit_core::memory::slots::{Storage, StrSlot};
use protojit_core::program::{DecodeOp, DecodeProgram, MapOp, ValueKind};
use protojit_core::wire::tag as make_tag;

use super::DecodeCtx;
use super::cell::{new_message, part, store};
use super::field::{group, nested, number, text};
use super::frame::finish;
use super::read::{tag, tag_error};
use super::unknown::{keep, length, skip};

/// The last key and the last value read.
struct Parsed {
    key_bits: u64,
    key_text: StrSlot,
    value_bits: u64,
    value_text: StrSlot,
    value_message: *mut u8,
    /// The value is a number that its closed enum does not declare.
    undeclared: bool,
}

const EMPTY: StrSlot = StrSlot { ptr: std::ptr::null(), len: 0, cap: 0 };

/// One entry; `p` is at its length.
///
/// # Safety
/// As [`decode_field`](super::field::decode_field).
#[inline(never)]
pub(super) unsafe fn entry(
    program: &DecodeProgram,
    op: &DecodeOp,
    start: *const u8,
    p: *const u8,
    limit: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    let null = std::ptr::null();
    let map = &program.maps[op.aux as usize];
    // SAFETY: as promised to this function; the layout says that the cell is a map with these entries.
    unsafe {
        let (len, from) = length(p, limit, ctx);
        if from.is_null() {
            return null;
        }
        let end = from.add(len);
        let Some(depth) = ctx.depth.checked_sub(1) else {
            return ctx.fail(DecodeErrorKind::DepthLimit, start);
        };
        ctx.depth = depth;
        let mut parsed = Parsed {
            key_bits: 0,
            key_text: EMPTY,
            value_bits: 0,
            value_text: EMPTY,
            value_message: std::ptr::null_mut(),
            undeclared: false,
        };
        if !fields(map, from, end, &mut parsed, ctx) {
            return null;
        }
        ctx.depth = depth + 1;
        if parsed.undeclared {
            return if keep(program, start, end, msg, ctx) { end } else { null };
        }
        if map.entry.value == Storage::Message && parsed.value_message.is_null() {
            let Some(child) = map.child.get() else { return end };
            parsed.value_message = new_message(child, start, ctx);
            if parsed.value_message.is_null() {
                return null;
            }
            finish(child, parsed.value_message, ctx);
        }
        let part = part(program, op, start, msg, ctx);
        if part.is_null() {
            return null;
        }
        let key = match map.entry.key {
            Storage::Str => MapKey::Str(parsed.key_text.bytes()),
            _ => MapKey::Bits(parsed.key_bits),
        };
        let cell = &mut *part.add(op.offset as usize).cast::<*mut MapTable>();
        let Ok((at, _)) = map_entry(cell, &map.entry, key, parsed.key_text, ctx) else {
            return ctx.fail(DecodeErrorKind::MemoryLimit, start);
        };
        let value = at.add(map.entry.value_offset as usize);
        match map.entry.value {
            Storage::Str => value.cast::<StrSlot>().write(parsed.value_text),
            Storage::Message => value.cast::<*mut u8>().write(parsed.value_message),
            storage => store(storage, value, parsed.value_bits),
        }
        end
    }
}

/// Reads the fields of an entry. False after an error, with the field noted.
unsafe fn fields(map: &MapOp, mut p: *const u8, end: *const u8, parsed: &mut Parsed, ctx: &mut DecodeCtx) -> bool {
    let key_tag = make_tag(1, map.key.wire_type());
    let value_tag = make_tag(2, map.value.wire_type());
    // SAFETY: as promised to `entry`.
    unsafe {
        while p < end {
            let start = p;
            let (tag, behind) = tag(p, end);
            if behind.is_null() {
                ctx.fail(tag_error(p, end), p);
                return false;
            }
            if tag == key_tag {
                p = match map.key {
                    ValueKind::String | ValueKind::Bytes => {
                        let (text, next) = text(map.key, behind, end, ctx);
                        parsed.key_text = text;
                        next
                    }
                    kind => {
                        let (bits, next) = number(kind, behind, end, ctx);
                        parsed.key_bits = bits;
                        next
                    }
                };
                if p.is_null() {
                    ctx.note_field(1);
                    return false;
                }
            } else if tag == value_tag {
                p = value(map, start, behind, end, parsed, ctx);
                if p.is_null() {
                    ctx.note_field(2);
                    return false;
                }
            } else {
                p = skip(tag, start, behind, end, ctx);
                if p.is_null() {
                    return false;
                }
            }
        }
    }
    true
}

unsafe fn value(
    map: &MapOp,
    start: *const u8,
    p: *const u8,
    end: *const u8,
    parsed: &mut Parsed,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    // SAFETY: as promised to `entry`.
    unsafe {
        match map.value {
            ValueKind::String | ValueKind::Bytes => {
                let (text, next) = text(map.value, p, end, ctx);
                parsed.value_text = text;
                next
            }
            ValueKind::Message | ValueKind::Group => {
                let Some(child) = map.child.get() else {
                    return skip(make_tag(2, map.value.wire_type()), start, p, end, ctx);
                };
                let (len, from) = match map.value {
                    ValueKind::Message => length(p, end, ctx),
                    _ => (0, p),
                };
                if from.is_null() {
                    return from;
                }
                // A value that comes twice in one entry merges.
                if parsed.value_message.is_null() {
                    parsed.value_message = new_message(child, start, ctx);
                    if parsed.value_message.is_null() {
                        return std::ptr::null();
                    }
                }
                match map.value {
                    ValueKind::Message => nested(child, start, from, from.add(len), parsed.value_message, ctx),
                    _ => group(child, 2, start, p, end, parsed.value_message, ctx),
                }
            }
            kind => {
                let (bits, next) = number(kind, p, end, ctx);
                parsed.value_bits = bits;
                parsed.undeclared = kind == ValueKind::ClosedEnum && !map.enums.contains(bits as i32);
                next
            }
        }
    }
}
