//! Parts, presence, oneofs, unknown fields, required fields.

use protojit_core::memory::Arena;
use protojit_core::message::{MessageRef, SetError, UnknownValue, Value, read_unknown};
use protojit_core::program::SlotPresence;

use crate::schema::{SCALARS, new, shape, slot};

#[test]
fn a_wide_message_takes_memory_only_for_the_parts_that_are_set() {
    let (shape, arena) = (shape("Wide"), Arena::new());
    assert!(shape.pages.len() > 2 && shape.size < 400);
    let mut message = new(&shape, &arena);
    let empty = arena.used();
    for slot in &shape.fields {
        assert!(!message.as_ref().has(slot));
        let _ = message.as_ref().get_slot(slot);
        message.clear_slot(slot);
    }
    assert_eq!(arena.used(), empty, "reading and clearing make nothing");
    for at in 1..=100u32 {
        let slot = shape.slot(at).unwrap();
        match (at % 5, at % 7 == 0) {
            (0, false) => message.set_slot(slot, at as i32),
            (1, false) => message.set_slot(slot, at.to_string().as_str()),
            (2, false) => message.set_slot(slot, true),
            (3, false) => message.mutable(slot).map(|_| ()),
            (4, false) => message.set_slot(slot, u64::from(at)),
            (0, true) => message.push(slot, at as i32),
            (1, true) => message.push(slot, at.to_string().as_str()),
            (2, true) => message.push(slot, true),
            (3, true) => message.push_message(slot).map(|_| ()),
            _ => message.push(slot, u64::from(at)),
        }
        .unwrap();
    }
    assert_eq!(message.as_ref().get_by_name("[t.ext_number]").unwrap().as_i32(), Some(9));
    message.set_slot(slot(&shape, "[t.ext_number]"), 10).unwrap();
    message.push(slot(&shape, "[t.ext_texts]"), "x").unwrap();
    message.mutable(slot(&shape, "[t.ext_small]")).unwrap();
    message.push(slot(&shape, "[t.ext_far]"), -1i64).unwrap();
    let read = message.freeze();
    let numbers: Vec<u32> = read.set_fields().map(|(slot, _)| slot.number).collect();
    assert_eq!(numbers, (1..=100).chain([1000, 1001, 1002, 500_000_000]).collect::<Vec<_>>());
    assert_eq!(read.get_by_number(96).unwrap().as_str().unwrap(), "96");
    assert_eq!(read.get_by_number(70).unwrap().as_list().unwrap().as_i32s(), Some(&[70][..]));
    assert_eq!(read.get_by_number(500_000_000).unwrap().as_list().unwrap().as_i64s(), Some(&[-1][..]));
    assert!(read.get_by_number(101).is_none() && read.get_by_name("f101").is_none());
    assert!(read.get_by_name("ext_number").is_none() && read.get_by_name("[f1]").is_none());
}

#[test]
fn setting_a_member_of_a_oneof_clears_the_others() {
    let (shape, arena) = (shape("Cases"), Arena::new());
    let mut message = new(&shape, &arena);
    assert!(message.as_ref().which_oneof(0).is_none() && message.as_ref().which_oneof(1).is_none());
    let message_slot = slot(&shape, "f_message");
    for (kind, values, ..) in SCALARS {
        let member = slot(&shape, &format!("f_{kind}"));
        assert!(matches!(member.presence, SlotPresence::Case { .. }));
        let mut below = message.mutable(message_slot).unwrap();
        assert!(below.as_ref().is_empty(), "a new message each time");
        below.set_slot(member, values[0]).unwrap();
        assert_eq!(message.as_ref().which_oneof_named("choice").unwrap().number, 17);
        message.set_slot(member, values[0]).unwrap();
        assert_eq!(message.as_ref().which_oneof(0).unwrap().number, member.number);
        assert!(!message.as_ref().has(message_slot));
        assert!(message.as_ref().get_slot(message_slot).as_message().unwrap().is_empty());
        message.clear_slot(message_slot);
        assert!(message.as_ref().has(member), "clearing another member changes nothing");
    }
    message.clear_slot(slot(&shape, "f_sint64"));
    assert!(message.as_ref().which_oneof(0).is_none() && message.as_ref().is_empty());
}

#[test]
fn oneofs_on_cold_pages_and_synthetic_ones() {
    let arena = Arena::new();
    let wide = shape("Wide");
    let mut message = new(&wide, &arena);
    assert!(message.as_ref().which_oneof(0).is_none());
    message.set_slot(slot(&wide, "late_text"), "x").unwrap();
    message.set_slot(slot(&wide, "late_number"), 0i64).unwrap();
    assert_eq!(message.as_ref().which_oneof_named("late").unwrap().number, 200);
    let person = shape("Person");
    let mut message = new(&person, &arena);
    assert!(message.as_ref().which_oneof_named("_age").is_none());
    message.set_slot(slot(&person, "age"), 0).unwrap();
    assert_eq!(message.as_ref().which_oneof_named("_age").unwrap().number, 3);
    assert!(message.as_ref().which_oneof_named("contact").is_none() && message.as_ref().which_oneof(9).is_none());
}

#[test]
fn unknown_fields() {
    let (shape, arena) = (shape("Person"), Arena::new());
    let mut message = new(&shape, &arena);
    assert!(message.as_ref().unknown_fields().is_empty());
    message.clear_unknown();
    let groups = b"\x0b\x13\x0b\x08\x01\x0c\x14\x0c";
    let parts: [&[u8]; 5] = [b"\x08\x96\x01", b"\x15\x01\0\0\0\x19\x02\0\0\0\0\0\0\0", b"\x22\x02hi", groups, b""];
    for part in parts {
        message.add_unknown(part).unwrap();
    }
    let malformed: [&[u8]; 8] =
        [b"\x08", b"\x00\x00", b"\x0f", b"\x22\x03hi", b"\x0b\x14", b"\x0c", b"\x0b\x08\x01", b"\x0b\x13\x0c\x14"];
    for bytes in malformed {
        assert_eq!(message.add_unknown(bytes), Err(SetError::MalformedUnknown));
        assert_eq!(read_unknown(bytes, &mut 0), None);
    }
    let read = message.as_ref().unknown_fields();
    assert_eq!(read.runs().flatten().copied().collect::<Vec<u8>>(), parts.concat());
    assert_eq!(read.byte_len(), parts.concat().len());
    let fields: Vec<_> = read.iter().map(|field| (field.number, field.value)).collect();
    assert_eq!(
        fields,
        [
            (1, UnknownValue::Varint(150)),
            (2, UnknownValue::Fixed32(1)),
            (3, UnknownValue::Fixed64(2)),
            (4, UnknownValue::Len(b"hi")),
            (1, UnknownValue::Group(&groups[1..7])),
        ]
    );
    assert_eq!(read.iter().flat_map(|field| field.bytes).copied().collect::<Vec<u8>>(), parts.concat());
    message.clear_unknown();
    assert!(message.as_ref().is_empty());
}

#[test]
fn deep_groups_are_skipped_without_recursion() {
    let depth = if cfg!(miri) { 200 } else { 100_000 };
    let mut bytes = vec![0x0b; depth];
    bytes.extend(vec![0x0c; depth]);
    let mut at = 0;
    assert!(read_unknown(&bytes, &mut at).is_some());
    assert_eq!(at, bytes.len());
    assert!(read_unknown(&bytes[1..], &mut 0).is_some());
    assert!(read_unknown(&bytes[..bytes.len() - 1], &mut 0).is_none());
}

#[test]
fn required_fields() {
    let (shape, arena) = (shape("Needy"), Arena::new());
    let [must, next, all, by_name, either] =
        ["must", "next", "all", "by_name", "either"].map(|name| slot(&shape, name));
    let names = |message: MessageRef<'_>| {
        let path = message.missing_required()?;
        Some(path.fields().iter().map(|&key| &*message.schema().field(key).name).collect::<Vec<_>>().join("."))
    };
    let mut message = new(&shape, &arena);
    assert_eq!(names(message.as_ref()).as_deref(), Some("must"));
    message.set_slot(must, 0).unwrap();
    assert!(message.as_ref().is_initialized());
    message.mutable(next).unwrap().mutable(next).unwrap().set_slot(must, 0).unwrap();
    assert_eq!(names(message.as_ref()).as_deref(), Some("next.must"));
    message.mutable(next).unwrap().set_slot(must, 0).unwrap();
    assert!(message.as_ref().is_initialized());
    message.push_message(all).unwrap().set_slot(must, 0).unwrap();
    message.push_message(all).unwrap();
    assert_eq!(names(message.as_ref()).as_deref(), Some("all.must"));
    message.list(all).unwrap().message(1).unwrap().set_slot(must, 0).unwrap();
    let mut map = message.map(by_name).unwrap();
    map.message("x").unwrap().set_slot(must, 0).unwrap();
    map.message("y").unwrap().set_slot(must, 0).unwrap();
    map.message("y").unwrap().mutable(either).unwrap();
    assert_eq!(names(message.as_ref()).as_deref(), Some("by_name.value.either.must"));
    message.map(by_name).unwrap().remove("y");
    assert!(message.as_ref().is_initialized());
    assert!(MessageRef::empty(&crate::schema::shape("Small")).is_initialized());
    assert!(!MessageRef::empty(&shape).is_initialized());
}

#[test]
fn values_of_the_wrong_kind_are_refused() {
    let (shape, arena) = (shape("Person"), Arena::new());
    let mut message = new(&shape, &arena);
    let [name, id, address, emails, labels] =
        ["name", "id", "address", "emails", "labels"].map(|name| slot(&shape, name));
    for value in [Value::Bool(true), Value::I32(1), Value::F64(1.0), Value::Enum(1)] {
        assert_eq!(message.set_slot(name, value), Err(SetError::WrongKind));
    }
    for value in [Value::U32(1), Value::I64(1), Value::Enum(1), Value::Str("1")] {
        assert_eq!(message.set_slot(id, value), Err(SetError::WrongKind));
    }
    for slot in [address, emails, labels] {
        assert_eq!(message.set_slot(slot, "x"), Err(SetError::WrongKind));
    }
    assert_eq!(message.mutable(name).err(), Some(SetError::WrongKind));
    assert_eq!(message.list(name).err().or(message.list(labels).err()), Some(SetError::WrongKind));
    assert_eq!(message.map(emails).err(), Some(SetError::WrongKind));
    assert_eq!(message.push(id, 1), Err(SetError::WrongKind));
    assert!(message.as_ref().is_empty());
}

#[test]
fn borrowed_strings() {
    let (shape, arena) = (shape("Person"), Arena::new());
    let text = String::from("borrowed");
    let mut message = new(&shape, &arena);
    let name = slot(&shape, "name");
    // SAFETY: `text` outlives the message.
    unsafe {
        message.set_str_borrowed(name, text.as_bytes()).unwrap();
        assert_eq!(message.set_str_borrowed(name, b"\xff"), Err(SetError::InvalidUtf8));
        assert_eq!(message.set_str_borrowed(slot(&shape, "id"), b"x"), Err(SetError::WrongKind));
    }
    assert_eq!(message.as_ref().get_slot(name).as_str().unwrap().as_bytes().as_ptr(), text.as_ptr());
    message.set_slot(name, "copied").unwrap();
    assert_eq!(text, "borrowed");
}

#[test]
#[should_panic = "a field slot of another layout was used on a message t.Person"]
fn slots_of_other_layouts_are_refused() {
    let (person, wide) = (shape("Person"), shape("Wide"));
    MessageRef::empty(&person).has(slot(&wide, "f1"));
}

#[test]
fn the_limit_of_the_arena_is_an_error() {
    let shape = shape("Person");
    let arena = Arena::with_limit(4096);
    let mut message = new(&shape, &arena);
    let name = slot(&shape, "name");
    message.set_slot(name, "short").unwrap();
    let long = "x".repeat(5000);
    assert!(matches!(message.set_slot(name, &long), Err(SetError::ArenaFull(_))));
    assert_eq!(message.as_ref().get_slot(name).as_str().unwrap(), "short");
    let emails = slot(&shape, "emails");
    while message.push(emails, "0123456789").is_ok() {}
    assert!(
        message.as_ref().get_slot(emails).as_list().unwrap().iter().all(|email| email.as_str().unwrap().len() == 10)
    );
}

#[test]
fn debug_form() {
    let (shape, arena) = (shape("Person"), Arena::new());
    let mut message = new(&shape, &arena);
    message.set_slot(slot(&shape, "name"), "A\"b").unwrap();
    message.push(slot(&shape, "scores"), 1).unwrap();
    message.map(slot(&shape, "labels")).unwrap().insert("k", "v").unwrap();
    message.set_slot(slot(&shape, "level"), Value::Enum(1)).unwrap();
    message.mutable(slot(&shape, "office")).unwrap();
    message.add_unknown(b"\x98\x06\x01").unwrap();
    assert_eq!(
        format!("{message:?}"),
        r#"Person { name: "A\"b", scores: [1], labels: {"k": "v"}, office: Address, level: ONE, 99: Varint(1) }"#
    );
    let wide = crate::schema::shape("Wide");
    let mut message = new(&wide, &arena);
    message.set_slot(slot(&wide, "[t.ext_number]"), 10).unwrap();
    assert_eq!(format!("{:?}", message.freeze()), "Wide { [t.ext_number]: 10 }");
}

#[test]
fn names() {
    let (wide, person, optional) = (shape("Wide"), shape("Person"), shape("Optional"));
    for (shape, declared, json, number) in [
        (&wide, "late_number", "lateNumber", 200),
        (&wide, "[t.ext_far]", "[t.ext_far]", 500_000_000),
        (&person, "name", "name", 1),
        (&optional, "f_sfixed64", "fSfixed64", 13),
    ] {
        assert_eq!(shape.slot_named(declared).unwrap().number, number);
        assert_eq!(shape.slot_json_named(declared).unwrap().number, number);
        assert_eq!(shape.slot_json_named(json).unwrap().number, number);
        assert_eq!(shape.slot_named(json).is_some(), json == declared);
    }
    for name in ["", "x", "ext_far", "t.ext_far", "[ext_far]", "[late_number]", "extFar"] {
        assert!(wide.slot_named(name).is_none() && wide.slot_json_named(name).is_none());
    }
    assert!((1..=100).all(|number| wide.slot_named(&format!("f{number}")).unwrap().number == number));
}
