//! What JSON is accepted, and how it is refused.

use protojit::json::ReadErrorKind::*;
use protojit::json::{JsonReadOptions, NoTypes, PathStep};
use protojit::{Arena, Message, json};

use super::{again, message_type, read, read_with, refused, same};

#[test]
fn integers_come_as_numbers_or_strings_and_must_fit() {
    same(
        "t.All",
        r#"{"fInt32": 2147483647, "fInt64": "9223372036854775807", "fUint64": 18446744073709551615}"#,
        r#"{"fInt64":"9223372036854775807","fUint64":"18446744073709551615","fInt32":2147483647}"#,
    );
    same(
        "t.All",
        r#"{"fInt32": "1e5", "fUint32": 100000.000, "fSint32": -1.5e1}"#,
        r#"{"fInt32":100000,"fUint32":100000,"fSint32":-15}"#,
    );
    for (field, bad) in [
        ("fInt32", "2147483648"),
        ("fInt32", "-2147483649"),
        ("fUint32", "4294967296"),
        ("fUint32", "-1"),
        ("fInt64", "\"9223372036854775808\""),
        ("fUint64", "\"18446744073709551616\""),
        ("fFixed32", "1e10"),
    ] {
        refused("t.All", &format!("{{\"{field}\": {bad}}}"), OutOfRange);
    }
    for bad in ["0.5", "\"0.5\"", "1e-1"] {
        refused("t.All", &format!("{{\"fInt32\": {bad}}}"), NotInteger);
    }
    for bad in ["\"\"", "\" 1\"", "\"1 \"", "\"12abc\"", "\"+1\"", "\"01\"", "true", "[1]", "{}", "\"0x1\""] {
        refused("t.All", &format!("{{\"fInt32\": {bad}}}"), WrongType);
    }
    for bad in ["+1", "01", "1.", "0x1"] {
        refused("t.All", &format!("{{\"fInt32\": {bad}}}"), Syntax);
    }
}

#[test]
fn floats_keep_their_width() {
    same("t.All", r#"{"fDouble": 1.0, "fFloat": 0.1}"#, r#"{"fDouble":1,"fFloat":0.1}"#);
    same("t.All", r#"{"fDouble": "1.5e-3", "fFloat": "NaN"}"#, r#"{"fDouble":0.0015,"fFloat":"NaN"}"#);
    same(
        "t.All",
        r#"{"rDouble": ["Infinity", "-Infinity", -0, 1e300]}"#,
        r#"{"rDouble":["Infinity","-Infinity",-0,1e+300]}"#,
    );
    assert_eq!(again("t.All", r#"{"fFloat": 3.4028235e38}"#), r#"{"fFloat":3.4028235e+38}"#);
    for (field, bad) in [("fFloat", "3.502823e+38"), ("fFloat", "\"-3.502823e+38\""), ("fDouble", "1.89769e+308")] {
        refused("t.All", &format!("{{\"{field}\": {bad}}}"), OutOfRange);
    }
    for bad in ["\"inf\"", "\"nan\"", "\"\"", "\"infinity\"", "\"1 \"", "true"] {
        refused("t.All", &format!("{{\"fDouble\": {bad}}}"), WrongType);
    }
}

#[test]
fn bools_strings_and_bytes_are_strict() {
    for bad in ["1", "0", "\"true\""] {
        refused("t.All", &format!("{{\"fBool\": {bad}}}"), WrongType);
    }
    refused("t.All", r#"{"fBool": True}"#, Syntax);
    refused("t.All", r#"{"fString": 12345}"#, WrongType);
    refused("t.All", r#"{"fString": "\uD800"}"#, InvalidEscape);
    same("t.All", r#"{"fString": "\u8C37\ud83d\ude01\u0000"}"#, "{\"fString\":\"\u{8c37}\u{1f601}\\u0000\"}");
    same("t.All", r#"{"fBytes": "-_"}"#, r#"{"fBytes":"+w=="}"#);
    refused("t.All", r#"{"fBytes": "a*=="}"#, InvalidBase64);
    let mut message = message_type("t.All").new_message();
    let error = json::read(b"{\"fString\": \"a\xff\"}", &mut message.as_mut(), &JsonReadOptions::default(), &NoTypes);
    let error = error.unwrap_err();
    assert_eq!((error.kind(), error.offset()), (InvalidUtf8, 14));
}

#[test]
fn enums_come_by_name_or_number() {
    same(
        "t.All",
        r#"{"fColor": "GREEN", "rColor": [0, 1, "BLUE", 99]}"#,
        r#"{"fColor":"GREEN","rColor":["RED","GREEN","BLUE",99]}"#,
    );
    refused("t.All", r#"{"fColor": "green"}"#, UnknownEnumValue);
    refused("t.All", r#"{"fColor": "1"}"#, UnknownEnumValue);
    refused("t.All", r#"{"fColor": true}"#, WrongType);
    // A closed enum has no other numbers.
    refused("t2.Two", r#"{"level": 99}"#, UnknownEnumValue);
    same("t2.Two", r#"{"level": -3}"#, r#"{"level":"TOP"}"#);
}

#[test]
fn unknown_things_are_errors_or_skipped() {
    let options = JsonReadOptions { ignore_unknown: true, ..JsonReadOptions::default() };
    for (text, kind, left) in [
        (r#"{"zzz": {"a": [1, {"b": null}]}, "fInt32": 1}"#, UnknownField, r#"{"fInt32":1}"#),
        (r#"{"fColor": "PINK"}"#, UnknownEnumValue, "{}"),
        (r#"{"rColor": ["GREEN", "PINK", "BLUE"]}"#, UnknownEnumValue, r#"{"rColor":["GREEN","BLUE"]}"#),
        (r#"{"mUint32Color": {"1": "PINK", "2": "BLUE"}}"#, UnknownEnumValue, r#"{"mUint32Color":{"2":"BLUE"}}"#),
        (r#"{"[t.none]": 1}"#, UnknownField, "{}"),
    ] {
        refused("t.All", text, kind);
        assert_eq!(super::write(&read_with("t.All", text, &options).unwrap()).unwrap(), left);
    }
    let closed = read_with("t2.Two", r#"{"level": 99, "levels": [1, 98, 2]}"#, &options).unwrap();
    assert_eq!(super::write(&closed).unwrap(), r#"{"levels":["LOW","HIGH"]}"#);
    // What is skipped must still be JSON.
    assert_eq!(read_with("t.All", r#"{"zzz": [1,]}"#, &options).unwrap_err().kind(), Syntax);
}

#[test]
fn names_are_those_of_json_or_of_the_schema() {
    let text = r#"{"fInt32":1,"other \"name\"":"x"}"#;
    same("t.All", r#"{"f_int32": 1, "renamed": "x"}"#, text);
    same("t.All", r#"{"f\u0049nt32": 1, "other \"name\"": "x"}"#, text);
    refused("t.All", r#"{"FInt32": 1}"#, UnknownField);
    for twice in [r#"{"fInt32": 1, "fInt32": 1}"#, r#"{"fInt32": 1, "f_int32": 1}"#, r#"{"fInner": {}, "f_inner": {}}"#]
    {
        refused("t.All", twice, DuplicateField);
    }
}

#[test]
fn null_is_absence() {
    assert_eq!(
        again(
            "t.All",
            r#"{"fInt32": null, "rInt32": null, "mStringInt32": null, "fInner": null, "oInt32": null, "any": null}"#
        ),
        "{}"
    );
    for bad in [
        r#"{"rInt32": [1, null]}"#,
        r#"{"rInner": [null]}"#,
        r#"{"mStringInt32": {"a": null}}"#,
        "null",
        r#"{"rTimestamp": [null]}"#,
    ] {
        assert!(matches!(read("t.All", bad).unwrap_err().kind(), NullNotAllowed | WrongType), "{bad}");
    }
    refused("t.All", r#"{"mStringInt32": {null: 1}}"#, Syntax);
    same("t.All", r#"{"cInt32": null, "cString": "x"}"#, r#"{"cString":"x"}"#);
    same("t.All", r#"{"cNull": null, "null": null}"#, r#"{"cNull":null}"#);
    same("t.All", r#"{"cNull": "NULL_VALUE"}"#, r#"{"cNull":null}"#);
    same(
        "t.All",
        r#"{"value": null, "rValue": [null], "mValue": {"a": null}}"#,
        r#"{"value":null,"rValue":[null],"mValue":{"a":null}}"#,
    );
}

#[test]
fn one_member_of_a_oneof() {
    same("t.All", r#"{"cInt32": 0}"#, r#"{"cInt32":0}"#);
    same("t.All", r#"{"cInner": {}}"#, r#"{"cInner":{}}"#);
    refused("t.All", r#"{"cInt32": 0, "cString": ""}"#, OneofConflict);
    refused("t.All", r#"{"cInner": {}, "cNull": null}"#, OneofConflict);
    same("t.All", r#"{"oInt32": 0}"#, r#"{"oInt32":0}"#);
}

#[test]
fn lists_and_maps_know_their_types() {
    same(
        "t.All",
        r#"{"mInt64String": {"-1": "a", "1e2": "b"}, "mBoolInner": {"true": {"a": 1}, "false": {}}}"#,
        r#"{"mInt64String":{"-1":"a","100":"b"},"mBoolInner":{"true":{"a":1},"false":{}}}"#,
    );
    refused("t.All", r#"{"mStringInt32": {"a": 1, "a": 1}}"#, DuplicateKey);
    refused("t.All", r#"{"mInt64String": {"1": "a", "\u0031": "b"}}"#, DuplicateKey);
    refused("t.All", r#"{"mInt64String": {"x": "a"}}"#, WrongType);
    refused("t.All", r#"{"mUint32Color": {"-1": 0}}"#, OutOfRange);
    refused("t.All", r#"{"mBoolInner": {"True": {}}}"#, WrongType);
    refused("t.All", r#"{"mBoolInner": []}"#, WrongType);
    refused("t.All", r#"{"rInt32": 1}"#, WrongType);
    refused("t.All", r#"{"rInner": {"a": 1}}"#, WrongType);
    refused("t.All", r#"{"rInt32": [1, false]}"#, WrongType);
}

#[test]
fn groups_and_extensions() {
    same(
        "t2.Two",
        r#"{"data": {"x": 1, "deep": {"y": "z"}}, "item": [{"id": 1}, {}]}"#,
        r#"{"data":{"x":1,"deep":{"y":"z"}},"item":[{"id":1},{}]}"#,
    );
    same(
        "t2.Two",
        r#"{"[t2.rank]": 1, "[t2.Scope.note]": "n", "[t2.scopes]": [{}], "[t2.extra]": {"z": 2}}"#,
        r#"{"[t2.rank]":1,"[t2.Scope.note]":"n","[t2.scopes]":[{}],"[t2.extra]":{"z":2}}"#,
    );
    refused("t2.Strict", r#"{"id": 1, "[t2.rank]": 1}"#, UnknownField);
    refused("t2.Two", r#"{"[t2.rank]": 1, "[t2.rank]": 1}"#, DuplicateField);
    refused("t2.Two", r#"{"rank": 1}"#, UnknownField);
}

#[test]
fn required_fields_are_looked_for() {
    let error = refused("t2.Strict", r#"{"id": 1, "below": {"below": {"id": 3}}}"#, MissingRequired);
    assert_eq!(error.path().to_string(), "Strict.below.id");
    let options = JsonReadOptions { allow_partial: true, ..JsonReadOptions::default() };
    read_with("t2.Strict", "{}", &options).unwrap();
}

#[test]
fn errors_tell_where() {
    let error = refused("t.All", "{\n  \"rInner\": [{},\n    {\"child\": {\"a\": \"é\", \"zzz\": 1}}]}", WrongType);
    assert_eq!((error.line(), error.column(), error.offset()), (3, 21, 39));
    assert_eq!(error.path().to_string(), "All.rInner[1].child.a".replace("rInner", "r_inner"));
    assert_eq!(error.path().root(), "t.All");
    assert_eq!(
        error.to_string(),
        "value of the wrong type: \"é\" is no number (line 3, column 21, in All.r_inner[1].child.a)"
    );
    let error = refused("t.All", r#"{"mBoolInner": {"true": {"child": {"zzz": 1}}}}"#, UnknownField);
    assert_eq!(error.path().to_string(), "All.m_bool_inner[\"true\"].child");
    assert_eq!(error.path().steps()[1], PathStep::Key("true".into()));
    assert_eq!(error.detail(), "zzz");
    let error = refused("t2.Two", r#"{"[t2.extra]": {"z": []}}"#, WrongType);
    assert_eq!(error.path().to_string(), "Two.[t2.extra].z");
    assert_eq!(refused("t.All", "{} x", Syntax).offset(), 3);
}

#[test]
fn depth_and_memory_are_bounded() {
    let nested = |levels: usize| format!("{}{{}}{}", "{\"child\":".repeat(levels), "}".repeat(levels));
    read("t.Inner", &nested(100)).unwrap();
    refused("t.Inner", &nested(101), DepthLimit);
    let lists = |levels: usize| format!("{{\"value\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    read("t.All", &lists(99)).unwrap();
    refused("t.All", &lists(101), DepthLimit);
    refused("t.All", &lists(100_000), DepthLimit);
    let options = JsonReadOptions { ignore_unknown: true, ..JsonReadOptions::default() };
    let unknown = format!("{{\"zzz\":{}}}", "[".repeat(100_000));
    assert_eq!(read_with("t.All", &unknown, &options).unwrap_err().kind(), DepthLimit);

    let ty = message_type("t.All");
    let mut message = Message::with_arena(ty.shape(), Arena::with_limit(1 << 16)).unwrap();
    let text = format!("{{\"rInt32\":[{}1]}}", "1,".repeat(100_000));
    let error = json::read(text.as_bytes(), &mut message.as_mut(), &JsonReadOptions::default(), &NoTypes).unwrap_err();
    assert_eq!(error.kind(), MemoryLimit);
}

#[test]
fn what_was_there_before_is_dropped() {
    let mut message = read("t.All", r#"{"fInt32": 1, "rInt32": [1]}"#).unwrap();
    json::read(br#"{"rInt32": [2]}"#, &mut message.as_mut(), &JsonReadOptions::default(), &NoTypes).unwrap();
    assert_eq!(super::write(&message).unwrap(), r#"{"rInt32":[2]}"#);
}

/// Whatever is cut off or changed in a text, reading ends without a panic.
#[test]
fn mutilated_texts_end_in_errors_or_messages() {
    let text = concat!(
        r#"{"fDouble":-1.5e3,"fString":"a\u00e9\ud83d\ude01","rInner":[{"a":1},{}],"mInt64String":{"-1":"x"},"#,
        r#""any":{"@type":"x/t.Inner","a":1},"timestamp":"2020-02-29T12:00:00.5Z","mask":"a.bC","value":[null,{"q":true}]}"#
    );
    again("t.All", text);
    let options = JsonReadOptions { ignore_unknown: true, ..JsonReadOptions::default() };
    for at in 0..text.len() {
        _ = read_with("t.All", &text[..at], &options);
        for byte in *b"\"\\{}[],:0-9.eEtfnu\x00\x80 \xc3/@" {
            let mut changed = text.as_bytes().to_vec();
            changed[at] = byte;
            let mut message = message_type("t.All").new_message();
            _ = json::read(&changed, &mut message.as_mut(), &options, super::schema());
        }
    }
}
