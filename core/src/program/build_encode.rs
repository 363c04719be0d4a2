//! How an encode program is made of a shape.

use std::sync::Arc;
use std::sync::atomic::AtomicPtr;

use crate::schema::model::{FieldKind, Presence};
use crate::wire::tag;

use super::build::{EncodeKey, Links, Shapes, cardinality, entry_fields, value_kind, written_tag, written_wire_type};
use super::encode::{EncodeMapOp, EncodeOp, EncodeProgram, SetTest};
use super::layout::SlotPresence;
use super::ops::Cardinality;
use super::unit::{Child, Unit};

pub(super) fn build_encode(
    component: &[EncodeKey],
    shapes: &Shapes,
    links: &Links<'_, EncodeKey, EncodeProgram>,
) -> Arc<Unit<EncodeProgram>> {
    let members = component.iter().map(|&key| encode_program(key, shapes)).collect();
    Unit::new(members, links.deps.clone(), |at, program, linker| {
        let shape = program.shape.clone();
        program.layout = Child::pinned(&shape);
        for (op, slot) in program.ops.iter_mut().zip(&shape.fields) {
            let Some(layout) = slot.child.get() else { continue };
            let child = links.resolve(EncodeKey { layout: layout.id, ..component[at] }, linker);
            match op.cardinality {
                Cardinality::Map => program.maps[op.aux as usize].child = child,
                _ => op.child = child,
            }
        }
    })
}

fn encode_program(key: EncodeKey, shapes: &Shapes) -> EncodeProgram {
    let (shape, options) = (shapes.get(key.layout), key.options);
    let schema = &shape.schema;
    let mut maps = Vec::new();
    let ops = shape
        .fields
        .iter()
        .map(|slot| {
            let field = schema.field(slot.key);
            let kind = value_kind(schema, field, true);
            let mut aux = 0;
            if let Some(entry) = slot.entry {
                aux = maps.len() as u32;
                let defs = entry_fields(schema, field);
                maps.push(EncodeMapOp {
                    entry,
                    key: value_kind(schema, defs[0], true),
                    key_signed: matches!(
                        defs[0].kind,
                        FieldKind::Int32
                            | FieldKind::Int64
                            | FieldKind::Sint32
                            | FieldKind::Sint64
                            | FieldKind::Sfixed32
                            | FieldKind::Sfixed64
                    ),
                    value: value_kind(schema, defs[1], true),
                    child: Child::NONE,
                });
            }
            let (tag_bytes, tag_len) = written_tag(tag(slot.number, written_wire_type(field, kind)));
            EncodeOp {
                tag_bytes,
                tag_len,
                kind,
                cardinality: cardinality(slot),
                packed: field.packed,
                required: options.check_required && field.presence == Presence::Required,
                page: slot.page,
                offset: slot.offset,
                number: slot.number,
                presence: slot.presence,
                test: SetTest::of(slot.presence, slot.number),
                implicit: matches!(slot.presence, SlotPresence::NonZero | SlotPresence::Pointer),
                tag_word: tag_bytes << (64 - 8 * u32::from(tag_len)),
                aux,
                key: slot.key,
                child: Child::NONE,
            }
        })
        .collect();
    EncodeProgram {
        entry: AtomicPtr::default(),
        ops,
        layout: Child::NONE,
        message_set: schema.message(shape.message).is_message_set,
        options,
        maps: maps.into(),
        schema: schema.clone(),
        message: shape.message,
        shape,
    }
}
