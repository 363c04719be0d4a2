//! Maps: entries in the order of insertion, or by key.

use std::cmp::Ordering;

use protojit_core::error::EncodeErrorKind;
use protojit_core::memory::map::{EntryLayout, MapKey, MapTable, key_of};
use protojit_core::memory::slots::Storage;
use protojit_core::program::{EncodeMapOp, EncodeOp, EncodeProgram, ValueKind};
use protojit_core::wire::tag as make_tag;

use super::context::EncodeCtx;
use super::frame::{group, nested, value};
use super::write::{Tag, put_varint};

/// Writes the entries of the map in `cell`, key and value always.
///
/// # Safety
/// As [`encode_frame`](super::encode_frame); `cell` is the map's cell.
#[inline(never)]
pub(super) unsafe fn map(
    program: &EncodeProgram,
    op: &EncodeOp,
    cell: *const u8,
    at: *mut u8,
    ctx: &mut EncodeCtx,
) -> *mut u8 {
    let map = &program.maps[op.aux as usize];
    // SAFETY: as promised to this function; `len` entries lie at `entries`.
    unsafe {
        let table = cell.cast::<*const MapTable>().read();
        if table.is_null() || (*table).len == 0 {
            return at;
        }
        let (entries, len) = ((*table).entries.cast_const(), (*table).len);
        let stride = map.entry.stride as usize;
        // A map's entries are a level of nesting, a message in them another, as when they are decoded.
        let Some(depth) = ctx.depth.checked_sub(1) else {
            ctx.note_field(op.number);
            return ctx.fail(EncodeErrorKind::DepthLimit);
        };
        ctx.depth = depth;
        let sorted = program.options.deterministic && len > 1;
        let mut base = 0;
        if sorted {
            let order = ctx.order();
            base = order.len();
            if order.try_reserve(len as usize).is_err() {
                return ctx.fail(EncodeErrorKind::OutOfMemory);
            }
            order.extend(0..len);
            order[base..].sort_unstable_by(|&a, &b| {
                compare(entries.add(a as usize * stride), entries.add(b as usize * stride), &map.entry, map.key_signed)
            });
        }
        let mut at = at;
        for turn in (0..len as usize).rev() {
            let which = if sorted { ctx.order()[base + turn] as usize } else { turn };
            at = entry(op, map, entries.add(which * stride), at, ctx);
            if at.is_null() {
                ctx.note_field(op.number);
                return at;
            }
        }
        if sorted {
            ctx.order().truncate(base);
        }
        ctx.depth = depth + 1;
        at
    }
}

unsafe fn entry(op: &EncodeOp, map: &EncodeMapOp, entry: *const u8, at: *mut u8, ctx: &mut EncodeCtx) -> *mut u8 {
    // SAFETY: as promised to `map`.
    unsafe {
        let before = ctx.written(at);
        let cell = entry.add(map.entry.value_offset as usize);
        let tag = Tag::short(make_tag(2, map.value.wire_type()));
        let at = match (map.value, map.child.get()) {
            (ValueKind::Message, Some(child)) => nested(child, tag, cell.cast::<*const u8>().read(), at, ctx),
            (ValueKind::Group, Some(child)) => group(child, tag, cell.cast::<*const u8>().read(), at, ctx),
            (ValueKind::Message | ValueKind::Group, None) => at,
            (kind, _) => value(kind, tag, cell, at, ctx),
        };
        if at.is_null() {
            ctx.note_field(2);
            return at;
        }
        let at = value(map.key, Tag::short(make_tag(1, map.key.wire_type())), entry, at, ctx);
        if at.is_null() {
            return at;
        }
        let len = ctx.written(at) - before;
        put_varint(Tag::of(op), len as u64, at, ctx)
    }
}

/// How the keys of two entries compare: numbers by value, strings by their bytes.
unsafe fn compare(a: *const u8, b: *const u8, layout: &EntryLayout, signed: bool) -> Ordering {
    // SAFETY: as promised to `map`.
    match unsafe { (key_of(a, layout), key_of(b, layout)) } {
        (MapKey::Bits(a), MapKey::Bits(b)) if signed && layout.key == Storage::Bits32 => (a as i32).cmp(&(b as i32)),
        (MapKey::Bits(a), MapKey::Bits(b)) if signed => (a as i64).cmp(&(b as i64)),
        (MapKey::Bits(a), MapKey::Bits(b)) => a.cmp(&b),
        (MapKey::Str(a), MapKey::Str(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}
