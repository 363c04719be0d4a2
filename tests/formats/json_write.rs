//! How messages are written as JSON.

use protojit::json::{self, JsonWriteOptions, NoTypes, WriteErrorKind};
use protojit::{Message, MessageMut};

use super::{message_type, read, unwritable, write, write_with};

#[test]
fn options_change_names_enums_and_integers() {
    let message = read("t.All", r#"{"fInt64": 1, "fColor": 1, "rColor": [2, 9], "mInt64String": {"1": "a"}}"#).unwrap();
    let options = JsonWriteOptions::default();
    let proto = JsonWriteOptions { proto_field_names: true, ..options };
    assert_eq!(
        write_with(&message, &proto).unwrap(),
        r#"{"f_int64":"1","f_color":"GREEN","r_color":["BLUE",9],"m_int64_string":{"1":"a"}}"#
    );
    let numbers = JsonWriteOptions { enums_as_integers: true, int64_as_numbers: true, ..options };
    assert_eq!(
        write_with(&message, &numbers).unwrap(),
        r#"{"fInt64":1,"fColor":1,"rColor":[2,9],"mInt64String":{"1":"a"}}"#
    );
}

#[test]
fn defaults_are_written_on_request() {
    let options = JsonWriteOptions { emit_defaults: true, ..JsonWriteOptions::default() };
    let inner = read("t.Inner", "{}").unwrap();
    assert_eq!(write_with(&inner, &options).unwrap(), r#"{"a":0}"#);
    let all = write_with(&read("t.All", "{}").unwrap(), &options).unwrap();
    for part in [
        r#""fString":"""#,
        r#""rInt32":[]"#,
        r#""mStringInt32":{}"#,
        r#""fColor":"RED""#,
        r#""fInt64":"0""#,
        r#""null":null"#,
    ] {
        assert!(all.contains(part), "{part} in {all}");
    }
    for part in ["oInt32", "cInt32", "any", "fInner", "value"] {
        assert!(!all.contains(&format!("\"{part}\":")), "{part} in {all}");
    }
    // Everything in proto2 tracks presence, but for lists, and of those extensions are left out.
    assert_eq!(
        write_with(&read("t2.Two", "{}").unwrap(), &options).unwrap(),
        r#"{"levels":[],"item":[],"byName":{},"packed":[]}"#
    );
}

#[test]
fn pretty_is_indented_by_two() {
    let message = read(
        "t.All",
        r#"{"fInt32": 1, "rInner": [{}, {"a": 1}], "mStringInt32": {"a": 1}, "any": {"@type": "x/t.Inner", "a": 1}, "list": []}"#,
    );
    let options = JsonWriteOptions { pretty: true, ..JsonWriteOptions::default() };
    let expected = r#"{
  "fInt32": 1,
  "rInner": [
    {},
    {
      "a": 1
    }
  ],
  "mStringInt32": {
    "a": 1
  },
  "any": {
    "@type": "x/t.Inner",
    "a": 1
  },
  "list": []
}"#;
    assert_eq!(write_with(&message.unwrap(), &options).unwrap(), expected);
}

#[test]
fn strings_that_are_not_utf8_are_refused() {
    // Field 9 of `Two` is a proto2 string.
    let error = unwritable("t2.Two", b"\x52\x04\x4a\x02a\xff", WriteErrorKind::InvalidUtf8);
    assert_eq!(error.path().to_string(), "Two.self.raw");
}

fn nest(mut message: MessageMut<'_>, levels: usize) {
    if levels > 0 {
        let child = message.layout().slot(2).unwrap();
        nest(message.mutable(child).unwrap(), levels - 1);
    }
}

#[test]
fn depth_is_bounded() {
    let mut message = message_type("t.Inner").new_message();
    nest(message.as_mut(), 100);
    write(&message).unwrap();
    let options = JsonWriteOptions { max_depth: 99, ..JsonWriteOptions::default() };
    assert_eq!(write_with(&message, &options).unwrap_err().kind(), WriteErrorKind::DepthLimit);
}

#[test]
fn unknown_fields_have_no_json_form() {
    let message = message_type("t.Inner").decode_owned(b"\x08\x01\xf8\x07\x05").unwrap();
    assert_eq!(write(&message).unwrap(), r#"{"a":1}"#);
}

#[test]
fn without_types_only_empty_anys_are_written() {
    let text = |message: &Message| {
        let mut out = Vec::new();
        json::write(message.as_ref(), &JsonWriteOptions::default(), &NoTypes, &mut out)
            .map(|()| String::from_utf8(out).unwrap())
    };
    assert_eq!(text(&read("t.All", r#"{"any": {}}"#).unwrap()).unwrap(), r#"{"any":{}}"#);
    let error = text(&read("t.All", r#"{"any": {"@type": "x/t.Inner"}}"#).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "unknown type of an Any: x/t.Inner (in All.any)");
}
