//! Reading raw cells: the one place where a slot's description becomes a load.

use super::{ListRef, MapRef, MessageRef, StrRef, ValueRef};
use crate::memory::map::MapTable;
use crate::memory::slots::{ListSlot, Storage, StrSlot};
use crate::program::{Child, FieldSlot, Layout, SlotPresence};
use crate::schema::model::{DefaultValue, FieldDef, FieldKind, SchemaData};

/// Whether the slot's field is set.
///
/// # Safety
/// `part` is the part that the slot lies in, of a live message of the slot's layout.
#[inline]
pub(super) unsafe fn is_set(part: *const u8, slot: &FieldSlot) -> bool {
    // SAFETY: all offsets of a slot lie in its part, and its cell is as wide as its storage.
    unsafe {
        let cell = part.add(slot.offset as usize);
        match slot.presence {
            SlotPresence::Hasbit { offset, mask } => part.add(offset as usize).cast::<u32>().read() & mask != 0,
            SlotPresence::Case { offset } => part.add(offset as usize).cast::<u32>().read() == slot.number,
            SlotPresence::Pointer => !cell.cast::<*const u8>().read().is_null(),
            SlotPresence::NonZero => match slot.storage {
                Storage::Bool => cell.read() != 0,
                Storage::Bits32 => cell.cast::<u32>().read() != 0,
                Storage::Bits64 => cell.cast::<u64>().read() != 0,
                _ => cell.cast::<StrSlot>().read().len != 0,
            },
            SlotPresence::NonEmpty => match slot.storage {
                Storage::Map => {
                    let table = cell.cast::<*const MapTable>().read();
                    !table.is_null() && (*table).len != 0
                }
                _ => cell.cast::<ListSlot>().read().len != 0,
            },
        }
    }
}

/// The value of a cell that holds one value: a singular field, a list's element, a map's value.
///
/// # Safety
/// `cell` belongs to a message that is live and unchanged for `'a`; it holds a value of this kind, messages of
/// the layout `child`.
#[inline]
pub(super) unsafe fn read<'a>(cell: *const u8, kind: FieldKind, child: &'a Child<Layout>) -> ValueRef<'a> {
    use FieldKind::*;
    // SAFETY: the cell is as wide as the storage of its kind, and aligned to it.
    unsafe {
        match kind {
            Bool => ValueRef::Bool(cell.read() != 0),
            Int32 | Sint32 | Sfixed32 => ValueRef::I32(cell.cast::<i32>().read()),
            Uint32 | Fixed32 => ValueRef::U32(cell.cast::<u32>().read()),
            Int64 | Sint64 | Sfixed64 => ValueRef::I64(cell.cast::<i64>().read()),
            Uint64 | Fixed64 => ValueRef::U64(cell.cast::<u64>().read()),
            Float => ValueRef::F32(cell.cast::<f32>().read()),
            Double => ValueRef::F64(cell.cast::<f64>().read()),
            Enum(_) => ValueRef::Enum(cell.cast::<i32>().read()),
            String => ValueRef::Str(StrRef::new(cell.cast::<StrSlot>().read().bytes())),
            Bytes => ValueRef::Bytes(cell.cast::<StrSlot>().read().bytes()),
            Message(_) => ValueRef::Message(read_message(cell, child)),
        }
    }
}

/// The message in a pointer cell, the empty one where the pointer is null.
///
/// # Safety
/// As [`read`], for a message's cell.
#[inline]
pub(super) unsafe fn read_message<'a>(cell: *const u8, child: &'a Child<Layout>) -> MessageRef<'a> {
    let layout = child_layout(child);
    // SAFETY: as promised to this function; pointers in live messages point to live messages.
    unsafe {
        let message = cell.cast::<*const u8>().read();
        if message.is_null() { MessageRef::empty(layout) } else { MessageRef::from_raw(message, layout) }
    }
}

/// The layout of a sub-message.
#[inline]
pub(super) fn child_layout(child: &Child<Layout>) -> &Layout {
    child.get().expect("slots of messages are linked to a layout when shapes are built")
}

/// The value of a slot's cell.
///
/// # Safety
/// `part` is the part that the slot lies in, of a message of the slot's layout that is live and
/// unchanged for `'a`. The slot is no member of a oneof, or the one that is set.
#[inline]
pub(super) unsafe fn read_slot<'a>(part: *const u8, slot: &'a FieldSlot) -> ValueRef<'a> {
    // SAFETY: as promised to this function.
    unsafe {
        let cell = part.add(slot.offset as usize);
        match slot.storage {
            Storage::List => ValueRef::List(ListRef::new(cell.cast::<ListSlot>().read(), slot)),
            Storage::Map => ValueRef::Map(MapRef::new(cell.cast::<*const MapTable>().read(), slot)),
            _ => read(cell, slot.kind, &slot.child),
        }
    }
}

/// The bits of a number's default.
pub(super) fn default_bits(schema: &SchemaData, field: &FieldDef) -> u64 {
    match (&field.default, field.kind) {
        (Some(DefaultValue::Bits(bits)), _) => *bits,
        (_, FieldKind::Enum(id)) => schema.enum_(id).values.first().map_or(0, |value| value.number as u64),
        _ => 0,
    }
}

/// What a string's default is.
pub(super) fn default_bytes(field: &FieldDef) -> &[u8] {
    match &field.default {
        Some(DefaultValue::Bytes(bytes)) => bytes,
        _ => &[],
    }
}

/// What reads as the value of a field that is not set.
#[cold]
pub(super) fn default_value<'a>(layout: &'a Layout, slot: &'a FieldSlot) -> ValueRef<'a> {
    use FieldKind::*;
    match slot.storage {
        Storage::List => return ValueRef::List(ListRef::empty(slot)),
        Storage::Map => return ValueRef::Map(MapRef::empty(slot)),
        _ => {}
    }
    let field = layout.field_def(slot);
    let bits = default_bits(&layout.schema, field);
    match slot.kind {
        Bool => ValueRef::Bool(bits != 0),
        Int32 | Sint32 | Sfixed32 => ValueRef::I32(bits as i32),
        Uint32 | Fixed32 => ValueRef::U32(bits as u32),
        Int64 | Sint64 | Sfixed64 => ValueRef::I64(bits as i64),
        Uint64 | Fixed64 => ValueRef::U64(bits),
        Float => ValueRef::F32(f32::from_bits(bits as u32)),
        Double => ValueRef::F64(f64::from_bits(bits)),
        Enum(_) => ValueRef::Enum(bits as i32),
        String => ValueRef::Str(StrRef::new(default_bytes(field))),
        Bytes => ValueRef::Bytes(default_bytes(field)),
        Message(_) => ValueRef::Message(MessageRef::empty(child_layout(&slot.child))),
    }
}
