//! Random changes, made to our messages and to prost-reflect's: afterwards they are the same.

use proptest::prelude::*;
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, MapKey, ReflectMessage, Value as Other};
use protojit_core::memory::{Arena, slots::Storage};
use protojit_core::message::{KeyRef, MessageMut, MessageRef, Value, ValueRef};
use protojit_core::schema::model::{FieldKey, FieldKind};

use crate::schema::{new, shape};

const MESSAGES: [&str; 9] =
    ["Optional", "Repeated", "Cases", "Defaults", "Implicit", "Maps", "Person", "Wide", "Needy"];

/// A field, an action, a value and a key or position.
type Step = (usize, u8, usize, u8);

fn value(kind: FieldKind, which: usize) -> Option<(Value<'static>, Other)> {
    use FieldKind::*;
    const STRINGS: [&str; 4] = ["", "a", "a longer one that needs more room", "é"];
    let number = [0i64, 1, -1, 77][which];
    Some(match kind {
        Bool => (Value::Bool(number == 1), Other::Bool(number == 1)),
        Int32 | Sint32 | Sfixed32 => (Value::I32(number as i32), Other::I32(number as i32)),
        Uint32 | Fixed32 => (Value::U32(number as u32), Other::U32(number as u32)),
        Int64 | Sint64 | Sfixed64 => (Value::I64(number), Other::I64(number)),
        Uint64 | Fixed64 => (Value::U64(number as u64), Other::U64(number as u64)),
        Float => (Value::F32(number as f32), Other::F32(number as f32)),
        Double => (Value::F64(number as f64), Other::F64(number as f64)),
        // Declared by both the closed and the open enum.
        Enum(_) => (Value::Enum(0), Other::EnumNumber(0)),
        String => (Value::Str(STRINGS[which]), Other::String(STRINGS[which].to_owned())),
        Bytes => (Value::Bytes(STRINGS[which].as_bytes()), Other::Bytes(STRINGS[which].as_bytes().into())),
        Message(_) => return None,
    })
}

fn key(kind: FieldKind, which: usize) -> (KeyRef<'static>, MapKey) {
    match value(kind, which).unwrap().0 {
        Value::Bool(key) => (KeyRef::Bool(key), MapKey::Bool(key)),
        Value::I32(key) => (KeyRef::I32(key), MapKey::I32(key)),
        Value::I64(key) => (KeyRef::I64(key), MapKey::I64(key)),
        Value::U32(key) => (KeyRef::U32(key), MapKey::U32(key)),
        Value::U64(key) => (KeyRef::U64(key), MapKey::U64(key)),
        Value::Str(key) => (KeyRef::Str(key.into()), MapKey::String(key.to_owned())),
        _ => unreachable!(),
    }
}

/// Makes one change; one to a sub-message takes the next step as well.
fn change(message: &mut MessageMut<'_>, model: &mut DynamicMessage, steps: &mut std::slice::Iter<'_, Step>) {
    let Some(&(field, action, which, position)) = steps.next() else { return };
    let layout = message.layout();
    let slot = &layout.fields[field % layout.fields.len()];
    if matches!(slot.key, FieldKey::Extension(_)) {
        return;
    }
    if action == 0 {
        message.clear_slot(slot);
        model.clear_field_by_number(slot.number);
        return;
    }
    let at = position as usize;
    match slot.storage {
        Storage::Message => {
            let below = model.get_field_by_number_mut(slot.number).unwrap().as_message_mut().unwrap();
            change(&mut message.mutable(slot).unwrap(), below, steps);
        }
        Storage::List => {
            let kind = model.descriptor().get_field(slot.number).unwrap().kind();
            let list = model.get_field_by_number_mut(slot.number).unwrap().as_list_mut().unwrap();
            let mut ours = message.list(slot).unwrap();
            match (action, value(slot.kind, which)) {
                (1, _) => {
                    assert_eq!(ours.remove(at).is_ok(), at < list.len());
                    if at < list.len() {
                        list.remove(at);
                    }
                }
                (2, _) => {
                    ours.truncate(at);
                    list.truncate(at);
                }
                (3, Some((value, other))) => {
                    assert_eq!(ours.set(at, value).is_ok(), at < list.len());
                    if let Some(element) = list.get_mut(at) {
                        *element = other;
                    }
                }
                (3, None) => {
                    if let Some(element) = list.get_mut(at) {
                        change(&mut ours.message(at).unwrap(), element.as_message_mut().unwrap(), steps);
                    }
                }
                (_, Some((value, other))) => {
                    ours.push(value).unwrap();
                    list.push(other);
                }
                (_, None) => {
                    let mut ours = ours.push_message().unwrap();
                    list.push(Other::Message(DynamicMessage::new(kind.as_message().unwrap().clone())));
                    change(&mut ours, list.last_mut().unwrap().as_message_mut().unwrap(), steps);
                }
            }
        }
        Storage::Map => {
            let (key_kind, value_kind) = slot.entry_kinds.unwrap();
            let (key, other_key) = key(key_kind, at % 4);
            let value_type = model.descriptor().get_field(slot.number).unwrap().kind();
            let value_type = value_type.as_message().unwrap().map_entry_value_field().kind();
            let map = model.get_field_by_number_mut(slot.number).unwrap().as_map_mut().unwrap();
            let mut ours = message.map(slot).unwrap();
            match (action, value(value_kind, which)) {
                (1, _) => assert_eq!(ours.remove(key), map.remove(&other_key).is_some()),
                (_, Some((value, other))) => {
                    ours.insert(key, value).unwrap();
                    map.insert(other_key, other);
                }
                (_, None) => {
                    let empty = || Other::Message(DynamicMessage::new(value_type.as_message().unwrap().clone()));
                    let (mut ours, other) = if action == 2 {
                        map.insert(other_key.clone(), empty());
                        (ours.insert_message(key).unwrap(), map.get_mut(&other_key).unwrap())
                    } else {
                        (ours.message(key).unwrap(), map.entry(other_key).or_insert_with(empty))
                    };
                    change(&mut ours, other.as_message_mut().unwrap(), steps);
                }
            }
        }
        _ => {
            let (value, other) = value(slot.kind, which).unwrap();
            message.set_slot(slot, value).unwrap();
            model.set_field_by_number(slot.number, other);
        }
    }
}

fn same_messages(ours: MessageRef<'_>, model: &DynamicMessage) {
    for slot in ours.layout().fields.iter().filter(|slot| matches!(slot.key, FieldKey::Field(..))) {
        assert_eq!(ours.has(slot), model.has_field_by_number(slot.number), "{} of {ours:?} and {model}", slot.number);
        if ours.has(slot) || slot.storage != Storage::Message {
            same(ours.get_slot(slot), &model.get_field_by_number(slot.number).unwrap());
        }
    }
    for (at, oneof) in (0..).zip(model.descriptor().oneofs()) {
        let set = oneof.fields().find(|field| model.has_field(field)).map(|field| field.number());
        assert_eq!(ours.which_oneof(at).map(|slot| slot.number), set);
    }
}

fn same(ours: ValueRef<'_>, other: &Other) {
    match (ours, other) {
        (ValueRef::Message(ours), Other::Message(other)) => same_messages(ours, other),
        (ValueRef::List(ours), Other::List(other)) => {
            assert_eq!(ours.len(), other.len());
            ours.iter().zip(other).for_each(|(ours, other)| same(ours, other));
        }
        (ValueRef::Map(ours), Other::Map(other)) => {
            assert_eq!(ours.len(), other.len());
            for (key, value) in ours {
                let key = match key {
                    KeyRef::Bool(key) => MapKey::Bool(key),
                    KeyRef::I32(key) => MapKey::I32(key),
                    KeyRef::I64(key) => MapKey::I64(key),
                    KeyRef::U32(key) => MapKey::U32(key),
                    KeyRef::U64(key) => MapKey::U64(key),
                    KeyRef::Str(key) => MapKey::String(key.to_str().unwrap().to_owned()),
                };
                same(value, &other[&key]);
            }
        }
        (ValueRef::Str(ours), Other::String(other)) => assert_eq!(ours, other.as_str()),
        (ValueRef::Bytes(ours), Other::Bytes(other)) => assert_eq!(ours, other),
        (ValueRef::Bool(ours), Other::Bool(other)) => assert_eq!(ours, *other),
        (ValueRef::I32(ours), Other::I32(other)) => assert_eq!(ours, *other),
        (ValueRef::I64(ours), Other::I64(other)) => assert_eq!(ours, *other),
        (ValueRef::U32(ours), Other::U32(other)) => assert_eq!(ours, *other),
        (ValueRef::U64(ours), Other::U64(other)) => assert_eq!(ours, *other),
        (ValueRef::F32(ours), Other::F32(other)) => assert_eq!(ours, *other),
        (ValueRef::F64(ours), Other::F64(other)) => assert_eq!(ours, *other),
        (ValueRef::Enum(ours), Other::EnumNumber(other)) => assert_eq!(ours, *other),
        (ours, other) => panic!("{ours:?} is not {other:?}"),
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0..200usize, 0..10u8, 0..4usize, 0..6u8), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn changes_do_what_they_do_in_prost_reflect(name in 0..MESSAGES.len(), first in steps(), second in steps()) {
        let pool = DescriptorPool::decode(&include_bytes!("../fixtures/message.binpb")[..]).unwrap();
        let descriptor = pool.get_message_by_name(&format!("t.{}", MESSAGES[name])).unwrap();
        let (shape, arena) = (shape(MESSAGES[name]), Arena::new());
        let [mut a, mut b] = [&first, &second].map(|steps| {
            let (mut message, mut model) = (new(&shape, &arena), DynamicMessage::new(descriptor.clone()));
            let mut steps = steps.iter();
            while !steps.as_slice().is_empty() {
                change(&mut message, &mut model, &mut steps);
            }
            same_messages(message.as_ref(), &model);
            (message, model)
        });
        a.0.merge_from(b.0.as_ref()).unwrap();
        a.1.merge(&b.1.encode_to_vec()[..]).unwrap();
        same_messages(a.0.as_ref(), &a.1);
        b.0.clear();
        b.0.merge_from(a.0.as_ref()).unwrap();
        same_messages(b.0.as_ref(), &a.1);
        prop_assert!(a.0.as_ref().same_as(b.0.as_ref()));
    }
}
