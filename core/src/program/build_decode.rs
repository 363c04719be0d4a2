//! How a decode program is made of a message and a shape.

use std::sync::Arc;
use std::sync::atomic::AtomicPtr;

use crate::schema::model::{FieldDef, FieldKey};
use crate::wire::{MAX_FIELD_NUMBER, WireType, tag};

use super::Programs;
use super::bind::wire_kind;
use super::build::{
    DecodeKey, Links, Shapes, cardinality, entry_fields, enum_set, sub_message, value_kind, written_tag,
    written_wire_type,
};
use super::decode::{DecodeOp, DecodeProgram, MapOp};
use super::layout::{FieldSlot, Layout, SlotPresence};
use super::numbers::NumberTable;
use super::ops::{Access, Cardinality, Hasbit, NO_CASE, Route, ValueKind};
use super::unit::{Child, Unit};

impl Programs {
    pub(super) fn build_decode(
        &self,
        component: &[DecodeKey],
        shapes: &Shapes,
        links: &Links<'_, DecodeKey, DecodeProgram>,
    ) -> Arc<Unit<DecodeProgram>> {
        let members = component.iter().map(|&key| self.decode_program(key, shapes)).collect();
        Unit::new(members, links.deps.clone(), |at, program, linker| {
            let shape = program.shape.clone();
            program.layout = Child::pinned(&shape);
            for op in &mut program.ops {
                let slot = &shape.fields[op.slot as usize];
                let written = sub_message(&self.schema, self.schema.field(op.key));
                let (Some(layout), Some(message)) = (slot.child.get(), written) else { continue };
                let child = links.resolve(DecodeKey { message, layout: layout.id, ..component[at] }, linker);
                match op.cardinality {
                    Cardinality::Map => program.maps[op.aux as usize].child = child,
                    _ => op.child = child,
                }
            }
        })
    }

    fn decode_program(&self, key: DecodeKey, shapes: &Shapes) -> DecodeProgram {
        let DecodeKey { message, layout, options } = key;
        let shape = shapes.get(layout);
        let (mut enums, mut maps) = (Vec::new(), Vec::new());
        let mut ops: Vec<DecodeOp> = Vec::new();
        for (at, slot) in (0u32..).zip(&shape.fields) {
            // What the writer does not have stays unset.
            let Some(written) = self.schema.field_by_number(message, slot.number) else { continue };
            let field = self.schema.field(written);
            let kind = wire_kind(field, &shape, slot, options.check_utf8);
            let read = shape.field_def(slot);
            let mut aux = 0;
            if kind == ValueKind::ClosedEnum {
                aux = enums.len() as u32;
                enums.push(enum_set(&shape.schema, read));
            }
            if let Some(entry) = slot.entry {
                aux = maps.len() as u32;
                let read = entry_fields(&shape.schema, read);
                maps.push(MapOp {
                    entry,
                    key: value_kind(&shape.schema, read[0], options.check_utf8),
                    value: value_kind(&shape.schema, read[1], options.check_utf8),
                    enums: enum_set(&shape.schema, read[1]),
                    child: Child::NONE,
                });
            }
            ops.push(operation(at, slot, written, field, kind, aux));
        }
        let count = ops.len() as u32;
        let message_set = self.schema.message(message).is_message_set;
        for (at, op) in (0u32..).zip(&mut ops) {
            if message_set {
                op.route = Route::General;
            }
            op.sequential = at + 1 < count;
            op.next = if at + 1 < count { at + 1 } else { u32::MAX };
        }
        let required = if options.check_required { shape.required.clone() } else { Box::default() };
        DecodeProgram {
            entry: AtomicPtr::default(),
            numbers: NumberTable::new(ops.iter().map(|op| op.number)),
            first: if count == 0 { u32::MAX } else { 0 },
            ops: ops.into(),
            layout: Child::NONE,
            size: shape.size,
            required_bits: required_bits(&shape, &required),
            required,
            message_set,
            options,
            enums: enums.into(),
            maps: maps.into(),
            schema: self.schema.clone(),
            message,
            shape,
        }
    }
}

/// The operation that fills the slot at position `at` from a field. Its place among the others is set later.
fn operation(at: u32, slot: &FieldSlot, key: FieldKey, field: &FieldDef, kind: ValueKind, aux: u32) -> DecodeOp {
    let (hasbit, case_offset) = match slot.presence {
        SlotPresence::Hasbit { offset, mask } => (Hasbit { offset, mask }, NO_CASE),
        SlotPresence::Case { offset } => (Hasbit { offset: 0, mask: 0 }, offset),
        _ => (Hasbit { offset: 0, mask: 0 }, NO_CASE),
    };
    let wire_type = written_wire_type(field, kind);
    let tag = tag(slot.number, wire_type);
    let (tag_word, tag_len) = written_tag(tag);
    let (tag_bytes, tag_mask) = match tag_len {
        5 => (1, 0),
        // An extension of a MessageSet that only an item can name: cut to 32 bits its tag is another field's.
        _ if slot.number > MAX_FIELD_NUMBER => (1, 0),
        len => (tag_word as u32, u32::MAX >> (32 - 8 * u32::from(len))),
    };
    DecodeOp {
        tag,
        tag_bytes,
        tag_mask,
        tag_len,
        route: Route::of(kind, cardinality(slot), wire_type == WireType::Len),
        access: Access::of(slot.page, hasbit, case_offset),
        sequential: false,
        number: slot.number,
        next: u32::MAX,
        kind,
        cardinality: cardinality(slot),
        page: slot.page,
        offset: slot.offset,
        hasbit,
        case_offset,
        aux,
        slot: at,
        key,
        child: Child::NONE,
    }
}

/// The words of the message itself that required scalars set bits in.
fn required_bits(layout: &Layout, required: &[u32]) -> Box<[Hasbit]> {
    let mut words: Vec<Hasbit> = Vec::new();
    for &at in required {
        let slot = &layout.fields[at as usize];
        if let (0, SlotPresence::Hasbit { offset, mask }) = (slot.page, slot.presence) {
            match words.iter_mut().find(|word| word.offset == offset) {
                Some(word) => word.mask |= mask,
                None => words.push(Hasbit { offset, mask }),
            }
        }
    }
    words.into()
}
