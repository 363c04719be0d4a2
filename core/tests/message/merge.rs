//! Merging, copying and comparing.

use protojit_core::memory::Arena;
use protojit_core::message::{Message, MessageMut, SetError, Value};

use crate::schema::{SCALARS, new, shape, slot};

/// Sets every field, lists and maps included.
fn fill(message: &mut MessageMut<'_>, which: usize, levels: u32) {
    use protojit_core::memory::slots::Storage;
    use protojit_core::message::ValueRef;
    let layout = message.layout();
    for slot in &layout.fields {
        let value = SCALARS.iter().map(|(_, values, ..)| values[which]).chain([Value::Enum(0), Value::Enum(1)]);
        match slot.storage {
            Storage::Message if levels > 0 => fill(&mut message.mutable(slot).unwrap(), which, levels - 1),
            Storage::List if slot.element == Storage::Message && levels > 0 => {
                fill(&mut message.push_message(slot).unwrap(), which, levels - 1);
            }
            Storage::List => {
                for value in value {
                    let _ = message.push(slot, value);
                }
            }
            Storage::Map => {
                let mut map = message.map(slot).unwrap();
                for at in 0..if cfg!(miri) { 2 } else { 20 } {
                    let key = at.to_string();
                    for value in value.clone() {
                        for key in [
                            ValueRef::Bool(true),
                            ValueRef::I32(at - 10),
                            ValueRef::I64(at.into()),
                            ValueRef::U32(at as u32),
                            ValueRef::U64(at as u64),
                        ] {
                            let _ = match key {
                                ValueRef::Bool(key) => map.insert(key, value),
                                ValueRef::I32(key) => map.insert(key, value),
                                ValueRef::I64(key) => map.insert(key, value),
                                ValueRef::U32(key) => map.insert(key, value),
                                ValueRef::U64(key) => map.insert(key, value),
                                _ => unreachable!(),
                            };
                        }
                        let _ = map.insert(&key, value);
                    }
                    if levels > 0
                        && let Ok(mut value) = map.insert_message(&key)
                    {
                        fill(&mut value, which, 0);
                    }
                }
            }
            _ => {
                for value in value {
                    let _ = message.set_slot(slot, value);
                }
            }
        }
    }
    message.add_unknown(b"\xf8\xff\xff\xff\x0f\x01").unwrap();
}

#[test]
fn copies_are_equal_and_apart() {
    for name in ["Optional", "Implicit", "Defaults", "Repeated", "Cases", "Maps", "Wide", "Person", "Needy"] {
        let shape = shape(name);
        let copy = {
            let arena = Arena::new();
            let mut message = new(&shape, &arena);
            fill(&mut message, 0, if cfg!(miri) { 0 } else { 1 });
            let mut other = new(&shape, &arena);
            assert_ne!(message.as_ref(), other.as_ref());
            other.merge_from(message.as_ref()).unwrap();
            assert!(message.as_ref().same_as(other.as_ref()), "{name}");
            assert_eq!(message.as_ref(), other.as_ref());
            for slot in &shape.fields {
                let mut other = new(&shape, &arena);
                other.merge_from(message.as_ref()).unwrap();
                if message.as_ref().has(slot) {
                    other.clear_slot(slot);
                    assert_ne!(message.as_ref(), other.as_ref(), "{name} {}", slot.number);
                    assert_ne!(other.as_ref(), message.as_ref(), "{name} {}", slot.number);
                }
                if cfg!(miri) {
                    break;
                }
            }
            other.clear_unknown();
            assert_ne!(message.as_ref(), other.as_ref());
            Message::copy_of(&shape, message.freeze()).unwrap()
        };
        let arena = Arena::new();
        let mut again = new(&shape, &arena);
        fill(&mut again, 0, if cfg!(miri) { 0 } else { 1 });
        assert!(again.as_ref().same_as(copy.as_ref()), "{name}: a copy outlives the arena of its source");
    }
}

#[test]
fn merging_replaces_appends_and_descends() {
    let (shape, arena) = (shape("Person"), Arena::new());
    let [name, id, age, address, emails, scores, labels, phone, office] =
        ["name", "id", "age", "address", "emails", "scores", "labels", "phone", "office"]
            .map(|name| slot(&shape, name));
    let zip = slot(address.child.get().unwrap(), "zip");
    let street = slot(address.child.get().unwrap(), "street");
    let (mut a, mut b) = (new(&shape, &arena), new(&shape, &arena));
    a.set_slot(name, "a longer name").unwrap();
    a.set_slot(id, 1).unwrap();
    a.set_slot(age, 5).unwrap();
    a.mutable(address).unwrap().set_slot(zip, 1).unwrap();
    a.push(emails, "a").unwrap();
    a.push(scores, 1).unwrap();
    a.map(labels).unwrap().insert("k", "a").unwrap();
    a.map(labels).unwrap().insert("a", "a").unwrap();
    a.mutable(office).unwrap().set_slot(zip, 9).unwrap();
    a.add_unknown(b"\x98\x06\x01").unwrap();
    b.set_slot(name, "b").unwrap();
    b.set_slot(age, 0).unwrap();
    b.mutable(address).unwrap().set_slot(street, "s").unwrap();
    b.push(emails, "b").unwrap();
    b.push(scores, 2).unwrap();
    b.map(labels).unwrap().insert("b", "b").unwrap();
    b.map(labels).unwrap().insert("k", "b").unwrap();
    b.add_unknown(b"\x98\x06\x02").unwrap();
    a.merge_from(b.as_ref()).unwrap();
    assert_eq!(
        format!("{a:?}"),
        "Person { name: \"b\", id: 1, age: 0, address: Address { street: \"s\", zip: 1 }, emails: [\"a\", \"b\"], \
         scores: [1, 2], labels: {\"k\": \"b\", \"a\": \"a\", \"b\": \"b\"}, office: Address { zip: 9 }, \
         99: Varint(1), 99: Varint(2) }"
    );
    b.set_slot(phone, "p").unwrap();
    a.merge_from(b.as_ref()).unwrap();
    assert!(!a.as_ref().has(office));
    b.mutable(office).unwrap();
    a.merge_from(b.as_ref()).unwrap();
    assert!(a.as_ref().get_slot(office).as_message().unwrap().is_empty() && !a.as_ref().has(phone));
    let other = crate::schema::shape("Wide");
    assert_eq!(a.merge_from(new(&other, &arena).as_ref()), Err(SetError::OtherLayout));
}

#[test]
fn equality() {
    let arena = Arena::new();
    let (maps, floats) = (shape("Maps"), shape("Optional"));
    let (mut a, mut b) = (new(&maps, &arena), new(&maps, &arena));
    let slot_of = |name| slot(&maps, name);
    for key in 0..20 {
        a.map(slot_of("by_int32")).unwrap().insert(key, key).unwrap();
        b.map(slot_of("by_int32")).unwrap().insert(19 - key, 19 - key).unwrap();
    }
    assert_eq!(a.as_ref(), b.as_ref(), "maps are equal in any order");
    b.map(slot_of("by_int32")).unwrap().insert(0, 1).unwrap();
    assert_ne!(a.as_ref(), b.as_ref());
    assert_ne!(a.as_ref().get_by_name("by_int32"), b.as_ref().get_by_name("by_int32"));

    let (mut a, mut b) = (new(&floats, &arena), new(&floats, &arena));
    a.set_slot(slot(&floats, "f_double"), f64::NAN).unwrap();
    b.set_slot(slot(&floats, "f_double"), f64::NAN).unwrap();
    assert!(a.as_ref() != b.as_ref() && a.as_ref().same_as(b.as_ref()));
    a.set_slot(slot(&floats, "f_double"), 0.0).unwrap();
    b.set_slot(slot(&floats, "f_double"), -0.0).unwrap();
    assert!(a.as_ref() == b.as_ref() && !a.as_ref().same_as(b.as_ref()));
    b.clear_slot(slot(&floats, "f_double"));
    assert_ne!(a.as_ref(), b.as_ref(), "set to zero is not unset");

    let (mut a, mut b) = (new(&floats, &arena), new(&floats, &arena));
    a.add_unknown(b"\x98\x06\x01\x98\x06\x02").unwrap();
    b.add_unknown(b"\x98\x06\x01").unwrap();
    assert_ne!(a.as_ref(), b.as_ref());
    b.add_unknown(b"\x98\x06\x02").unwrap();
    assert_eq!(a.as_ref(), b.as_ref(), "however they came");
}

#[test]
fn depth_costs_no_stack() {
    let (shape, arena) = (shape("Needy"), Arena::new());
    let (must, next) = (slot(&shape, "must"), slot(&shape, "next"));
    let mut root = new(&shape, &arena);
    let depth = if cfg!(miri) { 100 } else { 200_000 };
    let mut at = root.reborrow();
    for _ in 0..depth {
        at.set_slot(must, 1).unwrap();
        // Two steps, as the borrow checker does not follow a chain of borrows in a loop.
        let below = at.mutable(next).unwrap().as_ptr();
        // SAFETY: the message just made, which `at` is not used to reach any more.
        at = unsafe { MessageMut::from_raw(below, &shape, &arena) };
    }
    let copy = Message::copy_of(&shape, root.as_ref()).unwrap();
    assert!(copy.as_ref() == root.as_ref());
    assert_eq!(copy.as_ref().missing_required().unwrap().fields().len(), depth + 1);
    assert!(format!("{copy:?}").ends_with(&format!("next: Needy {{ .. }}{}", " }".repeat(32))));
}
