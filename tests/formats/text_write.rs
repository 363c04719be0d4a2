//! How messages are written in the text format.

use protojit::text::{self, NoTypes, TextReadOptions, TextWriteOptions, WriteErrorKind};
use protojit::{Message, MessageMut};

use super::{message_type, schema};

fn write_with(message: &Message, options: &TextWriteOptions) -> String {
    let mut out = b"before".to_vec();
    text::write(message.as_ref(), options, schema(), &mut out).unwrap();
    String::from_utf8(out).unwrap().strip_prefix("before").unwrap().to_owned()
}

fn read(name: &str, source: &str) -> Message {
    let mut message = message_type(name).new_message();
    text::read(source.as_bytes(), &mut message.as_mut(), &TextReadOptions::default(), schema()).unwrap();
    message
}

#[test]
fn a_field_a_line_or_all_on_one() {
    let message = read(
        "t.All",
        "f_int64: 1 f_inner { child {} } r_color: [1, 9] m_int64_string { key: 1 value: 'a' } any { [x/t.Inner] { a: 1 } }",
    );
    let expected = r#"f_int64: 1
f_inner {
  child {}
}
r_color: GREEN
r_color: 9
m_int64_string {
  key: 1
  value: "a"
}
any {
  [x/t.Inner] {
    a: 1
  }
}
"#;
    let options = TextWriteOptions::default();
    assert_eq!(write_with(&message, &options), expected);
    let line = TextWriteOptions { single_line: true, ..options };
    assert_eq!(write_with(&message, &line), expected.split_whitespace().collect::<Vec<_>>().join(" "));
    let raw = TextWriteOptions { expand_any: false, ..line };
    assert!(write_with(&message, &raw).ends_with(r#"any { type_url: "x/t.Inner" value: "\010\001" }"#));
    assert_eq!(write_with(&message_type("t.All").new_message(), &options), "");
}

#[test]
fn anys_that_cannot_be_shown_stay_bytes() {
    // An unknown type, bytes that are no such message, no slash, and a URL that has no place in brackets.
    for (url, value) in [("x/t.None", ""), ("x/t.Inner", "\\010"), ("t.Inner", ""), ("x y/t.Inner", "")] {
        let source = format!("any {{ type_url: \"{url}\" value: \"{value}\" }}");
        let expected = source.replace(" value: \"\"", "");
        let options = TextWriteOptions { single_line: true, ..TextWriteOptions::default() };
        assert_eq!(write_with(&read("t.All", &source), &options), expected);
    }
    let mut out = Vec::new();
    let message = read("t.All", "any { [x/t.Inner] { a: 1 } }");
    let options = TextWriteOptions { single_line: true, ..TextWriteOptions::default() };
    text::write(message.as_ref(), &options, &NoTypes, &mut out).unwrap();
    assert_eq!(out, br#"any { type_url: "x/t.Inner" value: "\010\001" }"#);
}

#[test]
fn strings_stay_readable_unless_they_must_be_ascii() {
    let message = read("t.All", r"f_string: 'é\n\001' f_bytes: 'é'");
    let options = TextWriteOptions { single_line: true, ..TextWriteOptions::default() };
    assert_eq!(write_with(&message, &options), r#"f_string: "é\n\001" f_bytes: "\303\251""#);
    let ascii = TextWriteOptions { ascii: true, ..options };
    assert_eq!(write_with(&message, &ascii), r#"f_string: "\303\251\n\001" f_bytes: "\303\251""#);
}

#[test]
fn unknown_fields_are_written_on_request() {
    // Varint, string, message, group with a nested one, fixed32, fixed64, empty.
    let bytes = b"\x08\x05\xc8\x3e\x7b\xd2\x3e\x05hello\xda\x3e\x02\x08\x6f\xe3\x3e\x0b\x10\x01\x0c\xe4\x3e\xed\x3e\x01\0\0\0\xf1\x3e\x02\0\0\0\0\0\0\0\xfa\x3e\0";
    let message = message_type("t.Inner").decode_owned(bytes).unwrap();
    let options = TextWriteOptions { single_line: true, ..TextWriteOptions::default() };
    assert_eq!(write_with(&message, &options), "a: 5");
    let options = TextWriteOptions { unknown_fields: true, ..options };
    assert_eq!(
        write_with(&message, &options),
        "a: 5 1001: 123 1002: \"hello\" 1003 { 1: 111 } 1004 { 1 { 2: 1 } } 1005: 0x00000001 1006: 0x0000000000000002 1007: \"\""
    );
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
    write_with(&message, &TextWriteOptions::default());
    let options = TextWriteOptions { max_depth: 99, ..TextWriteOptions::default() };
    let mut out = b"before".to_vec();
    let error = text::write(message.as_ref(), &options, &NoTypes, &mut out).unwrap_err();
    assert_eq!(error.kind(), WriteErrorKind::DepthLimit);
    assert_eq!(out, b"before");
}
