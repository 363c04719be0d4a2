//! The length of an encoded message, without writing it.

use protojit_core::error::{EncodeError, EncodeErrorKind, FieldPath};
use protojit_core::limits::Limits;
use protojit_core::memory::map::MapTable;
use protojit_core::memory::parts;
use protojit_core::memory::slots::{ListSlot, StrSlot};
use protojit_core::program::{Cardinality, EncodeOp, EncodeProgram, ValueKind};
use protojit_core::wire::varint_len;

use super::frame::{bits, from_bits};
use crate::presence::is_set_in;

/// How many bytes the message takes when it is encoded. Missing required fields do not matter here.
///
/// # Errors
/// Messages are nested too deeply, or the length is more than the limit.
///
/// # Safety
/// `msg` is a live message of the program's layout, and nobody changes it meanwhile.
pub unsafe fn encoded_len(program: &EncodeProgram, msg: *const u8, limits: &Limits) -> Result<usize, EncodeError> {
    let error = |kind| EncodeError::new(kind, FieldPath::new(program.schema.clone(), program.message, Vec::new()));
    // SAFETY: as promised to this function.
    let len = unsafe { message_len(program, msg, limits.depth()) }.ok_or_else(|| error(EncodeErrorKind::DepthLimit))?;
    if len > limits.max_message_bytes.min(i32::MAX as usize) as u64 {
        return Err(error(EncodeErrorKind::MessageTooLarge));
    }
    Ok(len as usize)
}

/// The length of a message's fields; `None` where `depth` levels do not do. Sums of `u64` cannot overflow: a cell counts for at most 2^32
/// bytes, and takes eight in memory.
unsafe fn message_len(program: &EncodeProgram, msg: *const u8, depth: u32) -> Option<u64> {
    // SAFETY: as promised to `encoded_len`; the layout says what the cells hold.
    unsafe {
        let mut len: u64 = parts::unknown(msg).elements::<StrSlot>().iter().map(|run| u64::from(run.len)).sum();
        for op in &program.ops {
            let part = parts::part(msg, op.page);
            if part.is_null() {
                continue;
            }
            let cell = part.add(op.offset as usize);
            match op.cardinality {
                Cardinality::Singular => {
                    if is_set_in(part, op.presence, op.offset, op.number, op.kind.storage()) {
                        let item = program.message_set && op.kind == ValueKind::Message;
                        let tag = if item { 0 } else { u64::from(op.tag_len) };
                        let (depth, around) = match item {
                            // Four tags of one byte, and the number.
                            true => (depth.checked_sub(1)?, 4 + varint_len(op.number.into()) as u64),
                            false => (depth, 0),
                        };
                        len += around + tag + value_len(op.kind, op.child.get(), op.tag_len, cell, depth)?;
                    }
                }
                Cardinality::List => len += list_len(op, cell.cast::<ListSlot>().read(), depth)?,
                Cardinality::Map => len += map_len(program, op, cell.cast::<*const MapTable>().read(), depth)?,
            }
        }
        Some(len)
    }
}

/// A value without its first tag.
unsafe fn value_len(
    kind: ValueKind,
    child: Option<&EncodeProgram>,
    tag_len: u8,
    cell: *const u8,
    depth: u32,
) -> Option<u64> {
    // SAFETY: as promised to `encoded_len`.
    unsafe {
        Some(match kind {
            ValueKind::String | ValueKind::Bytes => prefixed(cell.cast::<StrSlot>().read().len.into()),
            ValueKind::Message | ValueKind::Group => {
                let depth = depth.checked_sub(1)?;
                let sub = cell.cast::<*const u8>().read();
                let len = match child {
                    Some(child) => message_len(child, sub, depth)?,
                    None => 0,
                };
                if kind == ValueKind::Group { len + u64::from(tag_len) } else { prefixed(len) }
            }
            kind => number_len(kind, cell),
        })
    }
}

unsafe fn number_len(kind: ValueKind, cell: *const u8) -> u64 {
    match kind {
        ValueKind::Fixed32 => 4,
        ValueKind::Fixed64 => 8,
        // SAFETY: as promised to `encoded_len`.
        kind => varint_len(from_bits(kind, unsafe { bits(kind, cell) })) as u64,
    }
}

unsafe fn list_len(op: &EncodeOp, list: ListSlot, depth: u32) -> Option<u64> {
    if list.len == 0 {
        return Some(0);
    }
    let tag = u64::from(op.tag_len);
    let width = op.kind.storage().size() as usize;
    // SAFETY: as promised to `encoded_len`; `len` elements lie at `ptr`.
    let elements = (0..list.len as usize).map(|at| unsafe { list.ptr.add(at * width).cast_const() });
    let mut len = 0;
    for element in elements {
        // SAFETY: as above.
        len += unsafe { value_len(op.kind, op.child.get(), op.tag_len, element, depth)? };
    }
    Some(if op.packed { tag + prefixed(len) } else { len + tag * u64::from(list.len) })
}

unsafe fn map_len(program: &EncodeProgram, op: &EncodeOp, table: *const MapTable, depth: u32) -> Option<u64> {
    if table.is_null() {
        return Some(0);
    }
    let map = &program.maps[op.aux as usize];
    let mut sum = 0;
    // SAFETY: as promised to `encoded_len`; `len` entries lie at `entries`.
    unsafe {
        let count = (*table).len as usize;
        for at in 0..count {
            let depth = depth.checked_sub(1)?;
            let entry = (*table).entries.add(at * map.entry.stride as usize).cast_const();
            let value = entry.add(map.entry.value_offset as usize);
            let len = 2
                + value_len(map.key, None, 1, entry, depth)?
                + value_len(map.value, map.child.get(), 1, value, depth)?;
            sum += u64::from(op.tag_len) + prefixed(len);
        }
    }
    Some(sum)
}

fn prefixed(len: u64) -> u64 {
    varint_len(len) as u64 + len
}
