//! Well-known types in JSON.

use protojit::json::ReadErrorKind::*;
use protojit::json::{JsonReadOptions, JsonWriteOptions, WriteErrorKind};

use super::{again, read, read_with, refused, same, unwritable, write, write_with};

#[test]
fn timestamps_and_durations() {
    same(
        "t.All",
        r#"{"timestamp": "1970-01-01T08:00:01.5+08:00", "duration": "-1.50s"}"#,
        r#"{"timestamp":"1970-01-01T00:00:01.500Z","duration":"-1.500s"}"#,
    );
    refused("t.All", r#"{"timestamp": "0000-01-01T00:00:00Z"}"#, InvalidTimestamp);
    refused("t.All", r#"{"timestamp": 1}"#, WrongType);
    refused("t.All", r#"{"duration": "315576000001s"}"#, InvalidDuration);
    // Field 62, then 63: seconds beyond the range, nanoseconds of the wrong sign.
    unwritable("t.All", b"\xf2\x03\x07\x08\x80\x83\xd1\xff\xaf\x07", WriteErrorKind::InvalidTimestamp);
    let error = unwritable(
        "t.All",
        b"\xfa\x03\x0d\x08\x01\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        WriteErrorKind::InvalidDuration,
    );
    assert_eq!(error.to_string(), "duration out of range: 1 seconds, -1 nanoseconds (in All.duration)");
}

#[test]
fn field_masks_change_their_case() {
    let message = read("t.All", r#"{"mask": "foo,barBaz.q"}"#).unwrap();
    assert!(format!("{message:?}").contains("bar_baz.q"));
    assert_eq!(write(&message).unwrap(), r#"{"mask":"foo,barBaz.q"}"#);
    same("t.All", r#"{"mask": ""}"#, r#"{"mask":""}"#);
    refused("t.All", r#"{"mask": "foo,bar_bar"}"#, InvalidFieldMask);
    unwritable("t.All", b"\x82\x04\x08\x0a\x06fooBar", WriteErrorKind::InvalidFieldMask);
}

#[test]
fn values_are_any_json() {
    let text = r#"{"struct":{"a":null,"b":[1,"x",true,{"c":{}}]},"value":1.5,"list":[[],{}]}"#;
    assert_eq!(again("t.All", text), text);
    for value in ["null", "1", "\"NaN\"", "false", "[0,\"hello\"]", r#"{"value":1}"#] {
        let text = format!("{{\"value\":{value}}}");
        assert_eq!(again("t.All", &text), text);
        assert_eq!(again("google.protobuf.Value", value), value);
    }
    refused("t.All", r#"{"struct": {"a": 1, "a": 2}}"#, DuplicateKey);
    refused("t.All", r#"{"struct": []}"#, WrongType);
    refused("t.All", r#"{"list": {}}"#, WrongType);
    refused("t.All", r#"{"value": 1e400}"#, OutOfRange);
    // A value of no kind, and one that is not a number.
    unwritable("t.All", b"\x92\x04\x00", WriteErrorKind::InvalidValue);
    unwritable("t.All", b"\x92\x04\x09\x11\0\0\0\0\0\0\xf8\x7f", WriteErrorKind::InvalidValue);
}

#[test]
fn wrappers_are_their_value() {
    let text = r#"{"wBool":false,"wInt64":"0","wString":"","wBytes":"","wDouble":"NaN"}"#;
    assert_eq!(again("t.All", text), text);
    assert_eq!(again("t.All", r#"{"wBool": null}"#), "{}");
    refused("t.All", r#"{"wInt64": {"value": 1}}"#, WrongType);
    assert_eq!(again("google.protobuf.Int64Value", "5"), "\"5\"");
    assert_eq!(again("t.All", r#"{"empty": {}}"#), r#"{"empty":{}}"#);
    refused("t.All", r#"{"empty": {"a": 1}}"#, UnknownField);
}

#[test]
fn anys_hold_messages() {
    same(
        "t.All",
        r#"{"any": {"@type": "type.googleapis.com/t.Inner", "a": 5, "child": {}}}"#,
        r#"{"any":{"@type":"type.googleapis.com/t.Inner","a":5,"child":{}}}"#,
    );
    same("t.All", r#"{"any": {"a": 5, "@type": "x/t.Inner"}}"#, r#"{"any":{"@type":"x/t.Inner","a":5}}"#);
    for text in [
        r#"{"any":{}}"#,
        r#"{"any":{"@type":"x/google.protobuf.Duration","value":"1.500s"}}"#,
        r#"{"any":{"@type":"x/google.protobuf.Int32Value","value":12345}}"#,
        r#"{"any":{"@type":"x/google.protobuf.Value","value":null}}"#,
        r#"{"any":{"@type":"x/google.protobuf.Struct","value":{"foo":1}}}"#,
        r#"{"any":{"@type":"x/google.protobuf.Empty"}}"#,
        r#"{"any":{"@type":"x/google.protobuf.Any","value":{"@type":"x/t.Inner","a":1}}}"#,
        r#"{"rAny":[{"@type":"x/t2.Two","[t2.rank]":1},{}]}"#,
    ] {
        assert_eq!(again("t.All", text), text);
    }
    assert_eq!(
        again("t.All", r#"{"any": {"@type": "x/google.protobuf.Empty", "value": {}}}"#),
        r#"{"any":{"@type":"x/google.protobuf.Empty"}}"#
    );
    for (text, kind) in [
        (r#"{"any": {"@type": "", "value": ""}}"#, InvalidAny),
        (r#"{"any": {"@type": "not_a_url", "value": ""}}"#, InvalidAny),
        (r#"{"any": {"@type": "x/t.Nothing"}}"#, UnresolvedAny),
        (r#"{"any": {"a": 1}}"#, InvalidAny),
        (r#"{"any": {"@type": "x/google.protobuf.Duration"}}"#, InvalidAny),
        (r#"{"any": {"@type": "x/google.protobuf.Duration", "value": "1s", "value": "1s"}}"#, DuplicateField),
        (r#"{"any": {"@type": "x/google.protobuf.Duration", "value": "1s", "zzz": 1}}"#, UnknownField),
        (r#"{"any": {"@type": "x/t.Inner", "@type": "x/t.Inner"}}"#, DuplicateField),
        (r#"{"any": {"@type": 1}}"#, WrongType),
        (r#"{"any": "x"}"#, WrongType),
        (r#"{"any": {"@type": "x/t2.Strict"}}"#, InvalidAny),
    ] {
        refused("t.All", text, kind);
    }
    let options = JsonReadOptions { ignore_unknown: true, ..JsonReadOptions::default() };
    let text = r#"{"any": {"zzz": [1], "@type": "x/google.protobuf.Duration", "value": "1s", "yyy": {}}}"#;
    assert_eq!(
        write(&read_with("t.All", text, &options).unwrap()).unwrap(),
        r#"{"any":{"@type":"x/google.protobuf.Duration","value":"1s"}}"#
    );
    let error = refused("t.All", r#"{"any": {"@type": "x/t.Inner", "child": {"a": true}}}"#, WrongType);
    assert_eq!(error.path().to_string(), "All.any.(t.Inner).child.a");
    // A type without a slash; bytes that are no such message.
    unwritable("t.All", b"\xea\x03\x03\x0a\x01x", WriteErrorKind::InvalidAny);
    unwritable("t.All", b"\xea\x03\x0e\x0a\x09x/t.Inner\x12\x01\x08", WriteErrorKind::InvalidAny);
}

#[test]
fn anys_of_unknown_types_can_stay_bytes() {
    let text = r#"{"any":{"@type":"x/t.Nothing","value":"CAE="}}"#;
    let options = JsonReadOptions { unresolved_any_as_bytes: true, ..JsonReadOptions::default() };
    let message = read_with("t.All", text, &options).unwrap();
    assert_eq!(write(&message).unwrap_err().kind(), WriteErrorKind::UnresolvedAny);
    let as_bytes = JsonWriteOptions { unresolved_any_as_bytes: true, ..JsonWriteOptions::default() };
    assert_eq!(write_with(&message, &as_bytes).unwrap(), text);
    for other in [
        r#"{"any": {"@type": "x/t.Nothing", "a": 1}}"#,
        r#"{"any": {"@type": "x/t.Nothing", "value": {}}}"#,
        r#"{"any": {"@type": "x/t.Nothing", "value": "*"}}"#,
        r#"{"any": {"@type": "x/t.Nothing"}}"#,
    ] {
        assert!(read_with("t.All", other, &options).is_err(), "{other}");
    }
}
