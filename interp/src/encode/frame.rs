//! Messages and their fields.

use protojit_core::error::EncodeErrorKind;
use protojit_core::memory::parts;
use protojit_core::memory::slots::{ListSlot, StrSlot};
use protojit_core::program::{Cardinality, EncodeOp, EncodeProgram, ValueKind};
use protojit_core::wire::{WireType, tag as make_tag, zigzag};

use super::context::{EncodeCtx, ROOM};
use super::map::map;
use super::varints::varints;
use super::write::{Tag, put, put_bytes, put_fixed32, put_fixed64, put_text, put_varint, tag_before, varint_before};
use crate::bytes::copy;
use crate::presence::is_set_in;

/// Writes the message before `at`, without tag or length, and gives the new position. Null after an error, which is recorded in
/// `ctx` with the fields it lies in.
///
/// # Safety
/// `msg` is a live message of the program's layout, and nobody changes it meanwhile. `at` is the context's position: from there to
/// [`EncodeCtx::end`] everything is written.
pub unsafe fn encode_frame(program: &EncodeProgram, msg: *const u8, at: *mut u8, ctx: &mut EncodeCtx) -> *mut u8 {
    // SAFETY: as promised to this function.
    unsafe {
        let mut at = at;
        if !parts::cold(msg).is_null() {
            at = unknown_fields(msg, at, ctx);
        }
        if at.is_null() {
            return at;
        }
        for op in program.ops.iter().rev() {
            if ctx.room(at) < ROOM || op.cardinality != Cardinality::Singular {
                at = field(program, op, msg, at, ctx);
                if at.is_null() {
                    return at;
                }
                continue;
            }
            // From here on there is room for a tag and a number, or a tag and a length.
            let mut part = msg;
            if op.page != 0 {
                part = parts::part(msg, op.page);
            }
            if part.is_null()
                || part.add(op.test.offset as usize).cast::<u32>().read() & op.test.mask != op.test.expected
            {
                if op.required {
                    return missing(op, ctx);
                }
                continue;
            }
            let cell = part.add(op.offset as usize);
            macro_rules! number {
                ($type:ty, $write:expr) => {{
                    let value = cell.cast::<$type>().read();
                    if value == 0 && op.implicit {
                        continue;
                    }
                    at = tag_word_before($write(at, value), op);
                }};
            }
            macro_rules! varint {
                ($type:ty, $kind:ident) => {
                    number!($type, |at, value: $type| varint_before(at, from_bits(ValueKind::$kind, value.into())))
                };
            }
            match op.kind {
                ValueKind::Bool => varint!(u8, Bool),
                ValueKind::Int32 | ValueKind::ClosedEnum => varint!(u32, Int32),
                ValueKind::Uint32 => varint!(u32, Uint32),
                ValueKind::Sint32 => varint!(u32, Sint32),
                ValueKind::Int64 => varint!(u64, Int64),
                ValueKind::Sint64 => varint!(u64, Sint64),
                ValueKind::Fixed32 => number!(u32, |at: *mut u8, value: u32| {
                    at.sub(4).cast::<u32>().write_unaligned(value);
                    at.sub(4)
                }),
                ValueKind::Fixed64 => number!(u64, |at: *mut u8, value: u64| {
                    at.sub(8).cast::<u64>().write_unaligned(value);
                    at.sub(8)
                }),
                ValueKind::String | ValueKind::Bytes => {
                    let text = cell.cast::<StrSlot>().read();
                    let len = text.len as usize;
                    if len == 0 && op.implicit {
                        continue;
                    }
                    if ctx.room(at) < len + ROOM {
                        at = put_text(Tag::of(op), text.ptr, len, at, ctx);
                        if at.is_null() {
                            return at;
                        }
                        continue;
                    }
                    at = at.sub(len);
                    copy(text.ptr, at, len);
                    at = tag_word_before(varint_before(at, len as u64), op);
                }
                ValueKind::Message | ValueKind::Group => {
                    let sub = cell.cast::<*const u8>().read();
                    if sub.is_null() && op.implicit {
                        if op.required {
                            return missing(op, ctx);
                        }
                        continue;
                    }
                    at = message(program, op, sub, at, ctx);
                    if at.is_null() {
                        ctx.note_field(op.number);
                        return at;
                    }
                }
            }
        }
        at
    }
}

/// Writes an operation's tag so that it ends at `at`.
#[inline(always)]
unsafe fn tag_word_before(at: *mut u8, op: &EncodeOp) -> *mut u8 {
    // SAFETY: as promised to `tag_before`.
    unsafe {
        at.sub(8).cast::<u64>().write_unaligned(op.tag_word);
        at.sub(op.tag_len as usize)
    }
}

/// Writes one field, if it is set. For the slow exits of compiled code. Returns what [`encode_frame`] returns.
///
/// # Safety
/// As [`encode_frame`]; `op` is one of the program's operations.
pub unsafe fn encode_field(
    program: &EncodeProgram,
    op: &EncodeOp,
    msg: *const u8,
    at: *mut u8,
    ctx: &mut EncodeCtx,
) -> *mut u8 {
    // SAFETY: as promised to this function.
    unsafe { field(program, op, msg, at, ctx) }
}

/// Writes the unknown fields, as they came. Returns what [`encode_frame`] returns.
///
/// # Safety
/// As [`encode_frame`].
pub unsafe fn unknown_fields(msg: *const u8, at: *mut u8, ctx: &mut EncodeCtx) -> *mut u8 {
    let mut at = at;
    // SAFETY: as promised to this function.
    unsafe {
        for run in parts::unknown(msg).elements::<StrSlot>().iter().rev() {
            at = put_bytes(run.ptr, run.len as usize, at, ctx);
            if at.is_null() {
                break;
            }
        }
    }
    at
}

#[inline(never)]
unsafe fn field(program: &EncodeProgram, op: &EncodeOp, msg: *const u8, at: *mut u8, ctx: &mut EncodeCtx) -> *mut u8 {
    // SAFETY: as promised to `encode_frame`; the layout says what the cell holds.
    unsafe {
        let mut part = msg;
        if op.page != 0 {
            part = parts::part(msg, op.page);
            if part.is_null() {
                return unset(op, at, ctx);
            }
        }
        let cell = part.add(op.offset as usize);
        match op.cardinality {
            Cardinality::Singular => {
                if !is_set_in(part, op.presence, op.offset, op.number, op.kind.storage()) {
                    return unset(op, at, ctx);
                }
                match op.kind {
                    ValueKind::Message | ValueKind::Group => {
                        let at = message(program, op, cell.cast::<*const u8>().read(), at, ctx);
                        if at.is_null() {
                            ctx.note_field(op.number);
                        }
                        at
                    }
                    kind => value(kind, Tag::of(op), cell, at, ctx),
                }
            }
            Cardinality::List => {
                let list = cell.cast::<ListSlot>().read();
                if list.len == 0 { at } else { repeated(program, op, list, at, ctx) }
            }
            Cardinality::Map => map(program, op, cell, at, ctx),
        }
    }
}

/// A field that is not set.
#[inline(always)]
fn unset(op: &EncodeOp, at: *mut u8, ctx: &mut EncodeCtx) -> *mut u8 {
    if op.required { missing(op, ctx) } else { at }
}

#[cold]
fn missing(op: &EncodeOp, ctx: &mut EncodeCtx) -> *mut u8 {
    ctx.note_field(op.number);
    ctx.fail(EncodeErrorKind::MissingRequired)
}

/// The varint of a number that is stored as these bits.
#[inline(always)]
pub(super) const fn from_bits(kind: ValueKind, bits: u64) -> u64 {
    match kind {
        // Negative ones take ten bytes, so that they can be read as 64-bit numbers.
        ValueKind::Int32 | ValueKind::ClosedEnum => bits as u32 as i32 as i64 as u64,
        ValueKind::Sint32 => zigzag(bits as u32 as i32 as i64),
        ValueKind::Sint64 => zigzag(bits as i64),
        _ => bits,
    }
}

/// The bits that a cell of this kind holds.
///
/// # Safety
/// `cell` is a cell of that kind of number.
#[inline(always)]
pub(super) unsafe fn bits(kind: ValueKind, cell: *const u8) -> u64 {
    use protojit_core::memory::slots::Storage;
    // SAFETY: the caller's promise; cells are aligned.
    unsafe {
        match kind.storage() {
            Storage::Bool => u64::from(cell.read()),
            Storage::Bits32 => u64::from(cell.cast::<u32>().read()),
            _ => cell.cast::<u64>().read(),
        }
    }
}

/// Writes a value that is no message.
///
/// # Safety
/// As [`encode_frame`]; `cell` is a cell of that kind.
#[inline(always)]
pub(super) unsafe fn value(kind: ValueKind, tag: Tag, cell: *const u8, at: *mut u8, ctx: &mut EncodeCtx) -> *mut u8 {
    // SAFETY: as promised to this function.
    unsafe {
        match kind {
            ValueKind::Bool => put_varint(tag, u64::from(cell.read()), at, ctx),
            ValueKind::Int32 | ValueKind::ClosedEnum => {
                put_varint(tag, from_bits(ValueKind::Int32, cell.cast::<u32>().read().into()), at, ctx)
            }
            ValueKind::Uint32 => put_varint(tag, cell.cast::<u32>().read().into(), at, ctx),
            ValueKind::Sint32 => {
                put_varint(tag, from_bits(ValueKind::Sint32, cell.cast::<u32>().read().into()), at, ctx)
            }
            ValueKind::Int64 => put_varint(tag, cell.cast::<u64>().read(), at, ctx),
            ValueKind::Sint64 => put_varint(tag, from_bits(ValueKind::Sint64, cell.cast::<u64>().read()), at, ctx),
            ValueKind::Fixed32 => put_fixed32(tag, cell.cast::<u32>().read(), at, ctx),
            ValueKind::Fixed64 => put_fixed64(tag, cell.cast::<u64>().read(), at, ctx),
            _ => {
                let text = cell.cast::<StrSlot>().read();
                put_text(tag, text.ptr, text.len as usize, at, ctx)
            }
        }
    }
}

/// Writes a sub-message with its tag.
#[inline(always)]
unsafe fn message(program: &EncodeProgram, op: &EncodeOp, sub: *const u8, at: *mut u8, ctx: &mut EncodeCtx) -> *mut u8 {
    let Some(child) = op.child.get() else { return at };
    // SAFETY: as promised to `encode_frame`.
    unsafe {
        if op.kind == ValueKind::Group {
            return group(child, Tag::of(op), sub, at, ctx);
        }
        if program.message_set && op.cardinality == Cardinality::Singular {
            return item(child, op.number, sub, at, ctx);
        }
        nested(child, Tag::of(op), sub, at, ctx)
    }
}

/// Writes a length-prefixed message with its tag, one level down.
///
/// # Safety
/// As [`encode_frame`]; `sub` is a live message of the child's layout.
#[inline(always)]
pub(super) unsafe fn nested(
    child: &EncodeProgram,
    tag: Tag,
    sub: *const u8,
    at: *mut u8,
    ctx: &mut EncodeCtx,
) -> *mut u8 {
    // SAFETY: as promised to this function.
    unsafe {
        let before = ctx.written(at);
        let at = below(child, sub, at, ctx);
        if at.is_null() {
            return at;
        }
        let len = ctx.written(at) - before;
        put_varint(tag, len as u64, at, ctx)
    }
}

/// Writes the fields of a message, one level down.
#[inline(always)]
unsafe fn below(child: &EncodeProgram, sub: *const u8, at: *mut u8, ctx: &mut EncodeCtx) -> *mut u8 {
    let Some(depth) = ctx.depth.checked_sub(1) else { return ctx.fail(EncodeErrorKind::DepthLimit) };
    ctx.depth = depth;
    // SAFETY: as promised to `nested`.
    let at = unsafe { encode_frame(child, sub, at, ctx) };
    ctx.depth = depth + 1;
    at
}

/// Writes a message between group tags, of which `tag` is the first.
///
/// # Safety
/// As [`nested`].
pub(super) unsafe fn group(
    child: &EncodeProgram,
    tag: Tag,
    sub: *const u8,
    at: *mut u8,
    ctx: &mut EncodeCtx,
) -> *mut u8 {
    const TO_END: u64 = WireType::EndGroup as u64 - WireType::StartGroup as u64;
    // SAFETY: as promised to this function; the wire type is in the low bits of a tag's first byte.
    unsafe {
        let mut at = put(at, ctx, |at| tag_before(at, Tag { bytes: tag.bytes + TO_END, ..tag }));
        if !at.is_null() {
            at = below(child, sub, at, ctx);
        }
        if at.is_null() { at } else { put(at, ctx, |at| tag_before(at, tag)) }
    }
}

/// Writes an extension as an item of a message set: a level of its own, like its message.
unsafe fn item(child: &EncodeProgram, number: u32, sub: *const u8, at: *mut u8, ctx: &mut EncodeCtx) -> *mut u8 {
    const BEGIN: Tag = Tag::short(make_tag(1, WireType::StartGroup));
    const END: Tag = Tag::short(make_tag(1, WireType::EndGroup));
    const TYPE_ID: Tag = Tag::short(make_tag(2, WireType::Varint));
    const MESSAGE: Tag = Tag::short(make_tag(3, WireType::Len));
    let Some(depth) = ctx.depth.checked_sub(1) else { return ctx.fail(EncodeErrorKind::DepthLimit) };
    ctx.depth = depth;
    // SAFETY: as promised to `nested`.
    unsafe {
        let mut at = put(at, ctx, |at| tag_before(at, END));
        if !at.is_null() {
            at = nested(child, MESSAGE, sub, at, ctx);
        }
        ctx.depth = depth + 1;
        if at.is_null() {
            return at;
        }
        put(at, ctx, |at| tag_before(tag_before(varint_before(at, number.into()), TYPE_ID), BEGIN))
    }
}

/// Writes the elements of a list that is not empty.
#[inline(never)]
unsafe fn repeated(
    program: &EncodeProgram,
    op: &EncodeOp,
    list: ListSlot,
    at: *mut u8,
    ctx: &mut EncodeCtx,
) -> *mut u8 {
    let mut at = at;
    let width = op.kind.storage().size() as usize;
    // SAFETY: as promised to `encode_frame`; `len` elements lie at `ptr`.
    unsafe {
        if op.packed {
            return packed(op, list, width, at, ctx);
        }
        let mut element = list.ptr.add(list.len as usize * width).cast_const();
        while element != list.ptr {
            element = element.sub(width);
            at = match op.kind {
                ValueKind::Message | ValueKind::Group => {
                    message(program, op, element.cast::<*const u8>().read(), at, ctx)
                }
                kind => value(kind, Tag::of(op), element, at, ctx),
            };
            if at.is_null() {
                if op.kind.is_message() {
                    ctx.note_field(op.number);
                }
                return at;
            }
        }
        at
    }
}

/// Writes a packed list that is not empty, with its tag. Gives the new position, or null. For compiled code too.
///
/// # Safety
/// As [`encode_frame`]; `list` is the list of the operation, which is a packed one.
pub unsafe fn encode_packed(op: &EncodeOp, list: ListSlot, at: *mut u8, ctx: &mut EncodeCtx) -> *mut u8 {
    // SAFETY: as promised to this function.
    let at = unsafe { packed(op, list, op.kind.storage().size() as usize, at, ctx) };
    if at.is_null() {
        ctx.note_field(op.number);
    }
    at
}

/// Writes a packed list.
unsafe fn packed(op: &EncodeOp, list: ListSlot, width: usize, at: *mut u8, ctx: &mut EncodeCtx) -> *mut u8 {
    let count = list.len as usize;
    // SAFETY: as promised to `repeated`.
    unsafe {
        let before = ctx.written(at);
        let at = match op.kind {
            // What lies in memory is what goes on the wire.
            ValueKind::Bool | ValueKind::Fixed32 | ValueKind::Fixed64 => put_bytes(list.ptr, count * width, at, ctx),
            ValueKind::Int32 | ValueKind::ClosedEnum => {
                varints::<u32>(list, at, ctx, |v| from_bits(ValueKind::Int32, v.into()))
            }
            ValueKind::Sint32 => varints::<u32>(list, at, ctx, |v| from_bits(ValueKind::Sint32, v.into())),
            ValueKind::Sint64 => varints::<u64>(list, at, ctx, |v| from_bits(ValueKind::Sint64, v)),
            ValueKind::Uint32 => varints::<u32>(list, at, ctx, u64::from),
            _ => varints::<u64>(list, at, ctx, |v| v),
        };
        if at.is_null() {
            return at;
        }
        let len = ctx.written(at) - before;
        put_varint(Tag::of(op), len as u64, at, ctx)
    }
}
