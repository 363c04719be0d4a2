//! `message_set_wire_format`: extensions as items.
//!
//! An item is a group 1 of a type id (field 2, the extension's number) and a message (field 3), in either order; what else stands
//! in it is ignored, as is a second id or message, and an item that lacks one of them. An item of a type the program does not know
//! is kept as it came. Extensions in the ordinary encoding are accepted too, by the ordinary code. An item counts as one level of
//! nesting, its message as another; and so does an extension in the ordinary encoding, which becomes an item when it is written again.

use protojit_core::error::DecodeErrorKind;
use protojit_core::program::{Cardinality, DecodeProgram, ValueKind};
use protojit_core::wire::{WireType, tag as make_tag};

use super::DecodeCtx;
use super::field::message;
use super::read::{tag, tag_error, varint, varint_error};
use super::unknown::{keep, length, skip};

/// The tag that begins an item.
pub(super) const ITEM: u32 = make_tag(1, WireType::StartGroup);
const ITEM_END: u32 = make_tag(1, WireType::EndGroup);
const TYPE_ID: u32 = make_tag(2, WireType::Varint);
const MESSAGE: u32 = make_tag(3, WireType::Len);

/// One item whose tag was read at `start`.
///
/// # Safety
/// As [`decode_field`](super::field::decode_field).
#[inline(never)]
pub(super) unsafe fn item(
    program: &DecodeProgram,
    start: *const u8,
    mut p: *const u8,
    limit: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    let null = std::ptr::null();
    let Some(depth) = ctx.depth.checked_sub(1) else {
        return ctx.fail(DecodeErrorKind::DepthLimit, start);
    };
    ctx.depth = depth;
    let (mut type_id, mut payload) = (None, None);
    // SAFETY: as promised to this function.
    unsafe {
        loop {
            if p >= limit {
                return ctx.fail(DecodeErrorKind::UnclosedGroup, start);
            }
            let (tag, behind) = tag(p, limit);
            if behind.is_null() {
                return ctx.fail(tag_error(p, limit), p);
            }
            match tag {
                ITEM_END => {
                    p = behind;
                    break;
                }
                TYPE_ID => {
                    let (id, next) = varint(behind, limit);
                    if next.is_null() {
                        return ctx.fail(varint_error(behind, limit), behind);
                    }
                    if id as u32 == 0 {
                        return ctx.fail(DecodeErrorKind::InvalidTag, behind);
                    }
                    type_id = type_id.or(Some(id as u32));
                    p = next;
                }
                MESSAGE => {
                    let (len, from) = length(behind, limit, ctx);
                    if from.is_null() {
                        return null;
                    }
                    p = from.add(len);
                    payload = payload.or(Some((from, p)));
                }
                _ => {
                    p = skip(tag, p, behind, limit, ctx);
                    if p.is_null() {
                        return null;
                    }
                }
            }
        }
        if let (Some(number), Some((from, end))) = (type_id, payload) {
            match program.op(number) {
                Some(op) if op.kind == ValueKind::Message && op.cardinality == Cardinality::Singular => {
                    if message(program, op, start, from, end, msg, ctx).is_null() {
                        ctx.note_field(op.number);
                        return null;
                    }
                }
                _ => {
                    if !keep(program, start, p, msg, ctx) {
                        return null;
                    }
                }
            }
        }
    }
    ctx.depth = depth + 1;
    p
}
