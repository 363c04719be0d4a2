//! All kinds in all cardinalities: set, read, clear.

use protojit_core::memory::Arena;
use protojit_core::message::{KeyRef, MessageRef, SetError, Value, ValueRef};

use crate::schema::{SCALARS, new, shape, slot};

/// A value as it should be read.
fn same(read: ValueRef<'_>, set: Value<'_>) -> bool {
    match (read, set) {
        (ValueRef::Str(read), Value::Str(set)) => read == set,
        (read, set) => read.to_value() == Some(set),
    }
}

#[test]
fn singular_fields() {
    for name in ["Optional", "Implicit", "Defaults", "Cases"] {
        let (shape, arena) = (shape(name), Arena::new());
        let mut message = new(&shape, &arena);
        for (kind, values, _, default) in SCALARS {
            let slot = slot(&shape, &format!("f_{kind}"));
            let unset = message.as_ref().get_slot(slot);
            assert!(!message.as_ref().has(slot) && message.as_ref().get_set(slot).is_none());
            match name {
                "Defaults" => assert!(same(unset, default), "{unset:?}"),
                _ => assert!(!same(unset, values[0])),
            }
            for value in values.into_iter().chain(values) {
                message.set_slot(slot, value).unwrap();
                assert!(message.as_ref().has(slot));
                let read = message.as_ref().get_slot(slot);
                assert!(same(read, value), "{read:?} is not {value:?}");
            }
            if name != "Cases" {
                message.clear_slot(slot);
                assert!(!message.as_ref().has(slot));
                message.set_slot(slot, values[1]).unwrap();
            }
        }
        let count = message.as_ref().set_fields().count();
        assert_eq!(count, if name == "Cases" { 1 } else { SCALARS.len() });
        message.clear();
        assert!(message.as_ref().is_empty());
    }
}

#[test]
fn zero_is_a_value_where_presence_is_tracked() {
    let arena = Arena::new();
    for (name, tracked) in [("Optional", true), ("Implicit", false), ("Defaults", true), ("Cases", true)] {
        let shape = shape(name);
        let mut message = new(&shape, &arena);
        for (kind, zero) in [
            ("int32", Value::I32(0)),
            ("string", Value::Str("")),
            ("double", Value::F64(0.0)),
            ("bool", Value::Bool(false)),
            ("enum", Value::Enum(0)),
        ] {
            let slot = slot(&shape, &format!("f_{kind}"));
            message.set_slot(slot, zero).unwrap();
            assert_eq!(message.as_ref().has(slot), tracked);
            assert!(same(message.as_ref().get_slot(slot), zero));
        }
    }
    let implicit = shape("Implicit");
    let mut message = new(&implicit, &arena);
    message.set_slot(slot(&implicit, "f_double"), -0.0).unwrap();
    assert!(message.as_ref().has(slot(&implicit, "f_double")), "its bits are not zero");
}

#[test]
fn enums() {
    let arena = Arena::new();
    for (name, unset) in [("Optional", 2), ("Cases", 2), ("Implicit", 0), ("Defaults", -1)] {
        let shape = shape(name);
        let slot = slot(&shape, "f_enum");
        let mut message = new(&shape, &arena);
        assert_eq!(message.as_ref().get_slot(slot).as_enum(), Some(unset));
        let undeclared = message.set_slot(slot, Value::Enum(77));
        match name {
            "Implicit" => assert_eq!(message.as_ref().get_slot(slot).as_enum(), Some(77)),
            _ => assert_eq!(undeclared, Err(SetError::EnumNumber(77))),
        }
        assert_eq!(message.set_slot(slot, 1), Err(SetError::WrongKind));
    }
}

#[test]
fn lists() {
    let (shape, arena) = (shape("Repeated"), Arena::new());
    let mut message = new(&shape, &arena);
    for (kind, values, ..) in SCALARS {
        let slot = slot(&shape, &format!("f_{kind}"));
        assert_eq!(message.as_ref().get_slot(slot).as_list().unwrap().len(), 0);
        for round in 0..50 {
            message.push(slot, values[round % 2]).unwrap();
        }
        let list = message.as_ref().get_slot(slot).as_list().unwrap();
        assert_eq!((list.len(), list.iter().len(), list.get(50)), (50, 50, None));
        assert!(list.iter().enumerate().all(|(at, read)| same(read, values[at % 2])));
        assert!(list.iter().rev().zip(0..).all(|(read, at)| same(read, values[(at + 1) % 2])));
        assert_eq!(message.set_slot(slot, values[0]), Err(SetError::WrongKind));

        let mut list = message.list(slot).unwrap();
        list.set(0, values[1]).unwrap();
        list.remove(2).unwrap();
        assert_eq!(list.set(49, values[1]), Err(SetError::NoSuchElement(49)));
        assert_eq!(list.remove(49), Err(SetError::NoSuchElement(49)));
        assert!(same(list.as_ref().get(0).unwrap(), values[1]) && same(list.as_ref().get(2).unwrap(), values[1]));
        list.truncate(10);
        list.truncate(20);
        assert_eq!(list.len(), 10);
        list.extend([values[0]; 3]).unwrap();
        assert_eq!(list.len(), 13);
        assert!(same(list.as_ref().get(12).unwrap(), values[0]));
    }
    let list = |name: &str| message.as_ref().get_by_name(name).unwrap().as_list().unwrap();
    assert_eq!(list("f_int32").as_i32s().unwrap()[..2], [i32::MAX, i32::MAX]);
    assert_eq!(list("f_sint32").as_i32s().map(<[i32]>::len), Some(13));
    assert_eq!(list("f_bool").as_bools(), Some(&[true; 13][..]));
    assert_eq!(list("f_fixed32").as_u32s().unwrap()[12], 2);
    assert_eq!(list("f_sfixed64").as_i64s().unwrap()[12], -2);
    assert_eq!(list("f_uint64").as_u64s().unwrap()[12], 1);
    assert_eq!(list("f_float").as_f32s().unwrap()[12], 1.5);
    assert_eq!(list("f_double").as_f64s().unwrap()[12], 1.5);
    assert_eq!(list("f_double").as_f32s(), None);
    assert!(list("f_enum").as_i32s().is_none() && list("f_enum").as_enums().is_some());
    assert_eq!(list("f_string").as_strs().unwrap().get(12).unwrap(), "é");
    assert_eq!(list("f_string").as_strs().unwrap().iter().len(), 13);
    assert_eq!(list("f_bytes").as_byte_strings().unwrap().iter().last(), Some(&b"\xff"[..]));
    assert!(list("f_bytes").as_strs().is_none() && list("f_bytes").as_messages().is_none());
    message.clear_slot(slot(&shape, "f_string"));
    assert!(!message.as_ref().has(slot(&shape, "f_string")));
    message.push(slot(&shape, "f_string"), "again").unwrap();
    assert_eq!(message.as_ref().get_by_number(9).unwrap().as_list().unwrap().len(), 1);
}

#[test]
fn lists_of_messages() {
    let (shape, arena) = (shape("Repeated"), Arena::new());
    let messages = slot(&shape, "f_message");
    let numbers = slot(&shape, "f_int32");
    let mut message = new(&shape, &arena);
    for number in 0..20 {
        message.push_message(messages).unwrap().push(numbers, number).unwrap();
    }
    message.list(messages).unwrap().message(7).unwrap().push(numbers, 700).unwrap();
    assert_eq!(message.list(messages).unwrap().message(20).err(), Some(SetError::NoSuchElement(20)));
    assert_eq!(message.push(messages, 1), Err(SetError::WrongKind));
    assert_eq!(message.push_message(numbers).err(), Some(SetError::WrongKind));
    let read = message.freeze();
    let list = read.get_slot(messages).as_list().unwrap().as_messages().unwrap();
    let first = |message: MessageRef<'_>| message.get_slot(numbers).as_list().unwrap().as_i32s().unwrap().to_vec();
    assert_eq!(list.iter().map(|message| first(message)[0]).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    assert_eq!(first(list.get(7).unwrap()), [7, 700]);
}

#[test]
fn maps() {
    let (shape, arena) = (shape("Maps"), Arena::new());
    let mut message = new(&shape, &arena);
    for (kind, values, ..) in SCALARS {
        let slot = slot(&shape, &format!("to_{kind}"));
        let mut map = message.map(slot).unwrap();
        for key in 0..100 {
            map.insert(key * 7 % 100 - 50, values[0]).unwrap();
        }
        map.insert(-50, values[1]).unwrap();
        assert_eq!(map.insert(1i64, values[1]), Err(SetError::WrongKind));
        assert_eq!(map.insert_message(1).err(), Some(SetError::WrongKind));
        assert!(map.remove(-43) && !map.remove(-43) && !map.remove(7u64));
        assert_eq!(map.len(), 99);
        let map = message.as_ref().get_slot(slot).as_map().unwrap();
        assert_eq!(map.entry(0).unwrap().0, KeyRef::I32(-50), "the first key keeps its place");
        assert!(same(map.get(-50).unwrap(), values[1]) && same(map.get(49).unwrap(), values[0]));
        assert!(map.get(-43).is_none() && map.get(-50i64).is_none() && map.get("x").is_none());
        assert_eq!(map.iter().count(), 99);
        message.map(slot).unwrap().clear();
        assert!(!message.as_ref().has(slot));
    }
}

#[test]
fn keys_of_all_kinds() {
    let (shape, arena) = (shape("Maps"), Arena::new());
    let mut message = new(&shape, &arena);
    for (kind, values, ..) in SCALARS {
        let Some(slot) = shape.slot_named(&format!("by_{kind}")) else { continue };
        let keys = values.map(|value| match value {
            Value::Bool(key) => KeyRef::Bool(key),
            Value::I32(key) => KeyRef::I32(key),
            Value::I64(key) => KeyRef::I64(key),
            Value::U32(key) => KeyRef::U32(key),
            Value::U64(key) => KeyRef::U64(key),
            Value::Str(key) => KeyRef::Str(key.into()),
            _ => unreachable!(),
        });
        for (key, value) in keys.into_iter().zip(1..) {
            message.map(slot).unwrap().insert(key, value).unwrap();
        }
        let map = message.as_ref().get_slot(slot).as_map().unwrap();
        let expected: Vec<_> = if keys[0] == keys[1] { vec![(keys[0], 2)] } else { vec![(keys[0], 1), (keys[1], 2)] };
        assert_eq!(map.iter().map(|(key, value)| (key, value.as_i32().unwrap())).collect::<Vec<_>>(), expected);
        assert_eq!(map.get(keys[1]).unwrap().as_i32(), Some(2));
        assert_eq!(map.value_kind(), protojit_core::schema::model::FieldKind::Int32);
    }
}

#[test]
fn maps_to_messages_and_enums() {
    let (shape, arena) = (shape("Maps"), Arena::new());
    let (messages, enums) = (slot(&shape, "to_message"), slot(&shape, "to_enum"));
    let mut message = new(&shape, &arena);
    message.map(enums).unwrap().insert("many", Value::Enum(9)).unwrap();
    let mut map = message.map(messages).unwrap();
    map.message("a").unwrap().map(enums).unwrap().insert("x", Value::Enum(1)).unwrap();
    map.message("a").unwrap().map(enums).unwrap().insert("y", Value::Enum(1)).unwrap();
    map.insert_message("b").unwrap().map(enums).unwrap().insert("x", Value::Enum(1)).unwrap();
    map.insert_message("b").unwrap();
    assert_eq!(map.insert("c", 1), Err(SetError::WrongKind));
    let map = message.as_ref().get_slot(messages).as_map().unwrap();
    let size = |key: &str| map.get(key).unwrap().as_message().unwrap().get_slot(enums).as_map().unwrap().len();
    assert_eq!((map.len(), size("a"), size("b")), (2, 2, 0));
}

#[test]
fn strings_are_checked_where_the_schema_asks() {
    let arena = Arena::new();
    let (two, three) = (shape("Optional"), shape("Implicit"));
    let mut message = new(&three, &arena);
    assert_eq!(message.set_slot(slot(&three, "f_string"), b"\xff"), Err(SetError::InvalidUtf8));
    assert_eq!(message.set_slot(slot(&three, "f_bytes"), "text"), Err(SetError::WrongKind));
    message.set_slot(slot(&three, "f_string"), "é".as_bytes()).unwrap();
    let mut message = new(&two, &arena);
    message.set_slot(slot(&two, "f_string"), b"\xff").unwrap();
    let read = message.as_ref().get_by_name("f_string").unwrap().as_str().unwrap();
    assert!(read.to_str().is_err());
    assert_eq!((read.to_str_lossy().as_ref(), format!("{read:?}")), ("\u{fffd}", "\"\\xff\"".to_owned()));
    let maps = shape("Maps");
    let mut message = new(&maps, &arena);
    let key = protojit_core::message::StrRef::new(b"\xff");
    assert_eq!(message.map(slot(&maps, "to_enum")).unwrap().insert(key, Value::Enum(1)), Err(SetError::InvalidUtf8));
}
