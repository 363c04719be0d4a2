//! Typed handles.

use protojit_core::memory::Arena;
use protojit_core::message::{Bytes, Enum, Field, FieldType, HandleError, List, Map, MessageRef, Msg, SetError, Str};
use protojit_core::program::Layout;

use crate::schema::{new, shape, slot};

const fn copy_send_sync<T: Copy + Send + Sync + 'static>() {}

const _: () = {
    copy_send_sync::<Field<Str>>();
    copy_send_sync::<Field<Map<Str, List<Msg>>>>();
};

#[test]
fn every_scalar_type() {
    let arena = Arena::new();
    macro_rules! check {
        ($($field:literal, $helper:ident, $opt:ident, $list:ident: $ty:ty, $value:expr, $default:expr;)*) => {$(
            for name in ["Optional", "Implicit", "Cases", "Defaults"] {
                let shape = crate::schema::shape(name);
                let (plain, opt) = (shape.$helper($field).unwrap(), shape.$opt($field).unwrap());
                let mut message = new(&shape, &arena);
                let unset = MessageRef::empty(&shape).get(plain);
                match name {
                    "Defaults" => assert_eq!(unset, $default),
                    _ => assert_eq!(Some(unset.into()), message.as_ref().get_by_name($field).unwrap().to_value()),
                }
                assert!(message.as_ref().get(opt).is_none() && !message.as_ref().is_set(plain));
                message.set(plain, $value).unwrap();
                assert_eq!(message.as_ref().get(plain), $value);
                assert_eq!(message.as_ref().get(opt).unwrap(), $value);
                assert!(message.as_ref().is_set(opt));
                message.unset(opt).unwrap();
                assert!(message.as_ref().get(plain) == unset && message.as_ref().get(opt).is_none());
                message.set(opt, $value).unwrap();
                assert_eq!(message.as_ref().get(opt).unwrap(), $value);
            }
            let shape = crate::schema::shape("Repeated");
            let list = shape.$list($field).unwrap();
            let mut message = new(&shape, &arena);
            assert!(message.as_ref().get(list).is_empty());
            message.list_of(list).unwrap().extend([$value, $value]).unwrap();
            assert_eq!(message.as_ref().get(list).len(), 2);
            assert_eq!(message.as_ref().get(list).iter().last().unwrap().to_owned(), $value);
            assert!(message.as_ref().is_set(list));
            assert!(shape.field::<$ty>($field).is_err());
        )*};
    }
    check! {
        "f_int32", i32, opt_i32, list_i32: i32, 5, -7;
        "f_sint32", i32, opt_i32, list_i32: i32, -5, -3;
        "f_sfixed32", i32, opt_i32, list_i32: i32, -5, -32;
        "f_uint32", u32, opt_u32, list_u32: u32, 5u32, u32::MAX;
        "f_fixed32", u32, opt_u32, list_u32: u32, 5u32, 32;
        "f_int64", i64, opt_i64, list_i64: i64, -5i64, -9_000_000_000;
        "f_sint64", i64, opt_i64, list_i64: i64, 5i64, -4;
        "f_sfixed64", i64, opt_i64, list_i64: i64, -5i64, -64;
        "f_uint64", u64, opt_u64, list_u64: u64, 5u64, u64::MAX;
        "f_fixed64", u64, opt_u64, list_u64: u64, 5u64, 64;
        "f_float", f32, opt_f32, list_f32: f32, 0.5f32, f32::INFINITY;
        "f_double", f64, opt_f64, list_f64: f64, 0.5, -2.25;
        "f_bool", bool, opt_bool, list_bool: bool, true, true;
        "f_string", str, opt_str, list_str: Str, "text", "déjà";
        "f_bytes", bytes, opt_bytes, list_bytes: Bytes, b"\xfe".as_slice(), b"\x01\xff";
    }
}

#[test]
fn enums_and_messages() {
    let arena = Arena::new();
    let shape = shape("Person");
    let (level, opt_level) = (shape.enum_("level").unwrap(), shape.opt_enum("level").unwrap());
    let (address, office) = (shape.message("address").unwrap(), shape.message("office").unwrap());
    let mut message = new(&shape, &arena);
    assert_eq!((message.as_ref().get(level), message.as_ref().get(opt_level)), (0, None));
    message.set(level, 7).unwrap();
    assert_eq!((message.as_ref().get(level), message.as_ref().get(opt_level)), (7, Some(7)));
    assert!(message.as_ref().get(address).is_none() && message.as_ref().get(office).is_none());
    message.message(office).unwrap();
    assert!(message.as_ref().get(address).is_none() && message.as_ref().get(office).unwrap().is_empty());
    let optional = crate::schema::shape("Optional");
    let mut message = new(&optional, &arena);
    let closed = optional.enum_("f_enum").unwrap();
    assert_eq!(message.as_ref().get(closed), 2, "the first that is declared");
    assert_eq!(message.set(closed, 9), Err(SetError::EnumNumber(9)));
    let repeated = crate::schema::shape("Repeated");
    let mut message = new(&repeated, &arena);
    let (messages, enums) = (repeated.list_message("f_message").unwrap(), repeated.list_enum("f_enum").unwrap());
    message.list_of(messages).unwrap().push_message().unwrap();
    message.list_of(enums).unwrap().push(protojit_core::message::Value::Enum(-1)).unwrap();
    assert_eq!(message.as_ref().get(enums), [-1]);
    assert!(message.as_ref().get(messages).iter().all(MessageRef::is_empty));
}

#[test]
fn maps() {
    let arena = Arena::new();
    let shape = shape("Maps");
    let by_name = shape.map::<Str, i32>("by_string").unwrap();
    let to_message = shape.map::<Str, Msg>("to_message").unwrap();
    let to_bytes = shape.map::<i32, Bytes>("to_bytes").unwrap();
    let mut message = new(&shape, &arena);
    assert!(message.as_ref().get(by_name).is_empty());
    message.map_of(by_name).unwrap().insert("a", 1).unwrap();
    message.map_of(by_name).unwrap().insert("b", 2).unwrap();
    message.map_of(to_message).unwrap().insert_message("m").unwrap();
    message.map_of(to_bytes).unwrap().insert(5, b"x").unwrap();
    let read = message.as_ref();
    assert_eq!(
        (read.get(by_name).get("b"), read.get(by_name).get("c"), read.get(by_name).get(1)),
        (Some(2), None, None)
    );
    assert_eq!(
        read.get(by_name).iter().map(|(key, n)| (key.to_str().unwrap(), n)).collect::<Vec<_>>(),
        [("a", 1), ("b", 2)]
    );
    assert!(read.get(to_message).get("m").unwrap().is_empty());
    assert_eq!(read.get(to_bytes).into_iter().collect::<Vec<_>>(), [(5, &b"x"[..])]);
    assert!(shape.map::<Str, u32>("by_string").is_err() && shape.map::<i32, i32>("by_string").is_err());
}

#[test]
fn paths() {
    let arena = Arena::new();
    let shape = shape("Person");
    let (street, zip) = (shape.str("address.street").unwrap(), shape.opt_i32("address.zip").unwrap());
    let lat = shape.f64("address.geo.lat").unwrap();
    let tags = shape.list_message("address.geo.tags").unwrap();
    let office = shape.opt_str("office.street").unwrap();
    let phone = shape.opt_str("phone").unwrap();
    let mut message = new(&shape, &arena);
    let read = message.as_ref();
    assert_eq!((read.get(street), read.get(zip), read.get(lat)), ("".into(), None, 0.0));
    assert!(read.get(tags).is_empty() && !read.is_set(tags) && read.get(office).is_none());
    message.unset(zip).unwrap();
    assert!(message.as_ref().is_empty());
    message.set(zip, 0).unwrap();
    message.set(lat, 48.1).unwrap();
    message.set(street, "Main").unwrap();
    message.list_of(tags).unwrap().push_message().unwrap();
    message.set(office, "Side").unwrap();
    let read = message.as_ref();
    assert_eq!((read.get(street), read.get(zip), read.get(lat)), ("Main".into(), Some(0), 48.1));
    assert_eq!((read.get(tags).len(), read.get(office).unwrap()), (1, "Side".into()));
    message.set(phone, "1").unwrap();
    assert!(message.as_ref().get(office).is_none(), "the oneof has another member");
    message.unset(street).unwrap();
    assert_eq!(message.as_ref().get(street), "");
    assert!(message.as_ref().get(zip).is_some());

    let wide = crate::schema::shape("Wide");
    let (x, number) = (wide.i32("[t.ext_small].x").unwrap(), wide.opt_i32("[t.ext_number]").unwrap());
    let default = wide.i32("[t.ext_number]").unwrap();
    let cold = wide.field_by_number::<Option<u64>>(99).unwrap();
    let mut message = new(&wide, &arena);
    assert_eq!((message.as_ref().get(x), message.as_ref().get(number), message.as_ref().get(default)), (0, None, 9));
    message.set(x, 1).unwrap();
    message.set(cold, 7).unwrap();
    assert_eq!((message.as_ref().get(x), message.as_ref().get(cold)), (1, Some(7)));
}

#[test]
fn what_does_not_fit_is_an_error() {
    let (person, needy) = (shape("Person"), shape("Needy"));
    fn error<T: FieldType>(layout: &Layout, path: &str) -> String {
        layout.field::<T>(path).unwrap_err().to_string()
    }
    for (error, expected) in [
        (error::<i32>(&person, "nome"), "t.Person has no field nome"),
        (error::<i32>(&person, ""), "t.Person has no field "),
        (error::<i32>(&person, "address.x"), "t.Person.Address has no field x"),
        (error::<i32>(&person, "address."), "t.Person.Address has no field "),
        (error::<i32>(&person, "[x.y].z"), "t.Person has no field [x.y]"),
        (error::<i32>(&person, "name"), "t.Person.name is string, not int32, sint32 or sfixed32"),
        (error::<i64>(&person, "address.zip"), "t.Person.Address.zip is int32, not int64, sint64 or sfixed64"),
        (error::<Str>(&person, "emails"), "t.Person.emails is repeated string, not string"),
        (error::<List<Str>>(&person, "name"), "t.Person.name is string, not repeated string"),
        (error::<Msg>(&person, "level"), "t.Person.level is t.Open, not a message"),
        (error::<Enum>(&person, "address"), "t.Person.address is t.Person.Address, not an enum"),
        (error::<List<Msg>>(&person, "labels"), "t.Person.labels is map<string, string>, not repeated a message"),
        (error::<i32>(&person, "name.x"), "t.Person.name is string: a path cannot go through it"),
        (error::<i32>(&person, "labels.x"), "t.Person.labels is map<string, string>: a path cannot go through it"),
        (error::<i32>(&needy, "all.must"), "t.Needy.all is repeated t.Needy: a path cannot go through it"),
        (
            error::<i32>(&needy, &format!("{}must", "next.".repeat(17))),
            &format!("the path {}must leads through more than 16 messages", "next.".repeat(17)),
        ),
    ] {
        assert_eq!(error, expected);
    }
    assert!(needy.i32("next.next.next.next.must").is_ok());
    assert!(matches!(person.field_by_number::<i32>(77), Err(HandleError::NoField { .. })));
    assert!(matches!(person.field_by_number::<u32>(2), Err(HandleError::WrongType { .. })));
}

#[test]
fn handles_of_other_layouts() {
    let (arena, person, wide) = (Arena::new(), shape("Person"), shape("Wide"));
    let name = person.str("name").unwrap();
    let mut message = new(&wide, &arena);
    assert_eq!(message.as_ref().try_get(name), None);
    assert_eq!(message.set(name, "x"), Err(SetError::OtherLayout));
    assert_eq!(message.unset(name), Err(SetError::OtherLayout));
    assert!(message.list_of(person.list_str("emails").unwrap()).is_err());
    assert!(message.as_ref().is_empty());
    // Handles outlive what they were made of.
    drop(person);
    assert_eq!(message.as_ref().try_get(name), None);
    assert!(!message.as_ref().has(slot(&wide, "f1")));
}

#[test]
#[should_panic = "a field handle of another layout was used on a message t.Wide"]
fn getting_with_another_layouts_handle_panics() {
    let (person, wide) = (shape("Person"), shape("Wide"));
    MessageRef::empty(&wide).get(person.str("name").unwrap());
}
