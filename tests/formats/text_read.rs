//! What the text format accepts, and how it refuses.

use protojit::text::ReadErrorKind::{self, *};
use protojit::text::{self, NoTypes, ReadError, TextReadOptions, TextWriteOptions};
use protojit::{Arena, Message};

use super::{message_type, schema};

fn read_with(name: &str, source: &str, options: &TextReadOptions) -> Result<Message, ReadError> {
    let mut message = message_type(name).new_message();
    text::read(source.as_bytes(), &mut message.as_mut(), options, schema())?;
    Ok(message)
}

fn read(name: &str, source: &str) -> Result<Message, ReadError> {
    read_with(name, source, &TextReadOptions::default())
}

fn line(message: &Message) -> String {
    let options = TextWriteOptions { single_line: true, ..TextWriteOptions::default() };
    let mut out = Vec::new();
    text::write(message.as_ref(), &options, schema(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The text means the message that is written as `canonical`.
#[track_caller]
fn same(name: &str, source: &str, canonical: &str) {
    let message = read(name, source).unwrap_or_else(|error| panic!("{source}: {error}"));
    assert_eq!(line(&message), canonical, "{source}");
    assert_eq!(line(&read(name, canonical).unwrap()), canonical);
}

#[track_caller]
fn refused(name: &str, source: &str, kind: ReadErrorKind) -> ReadError {
    match read(name, source) {
        Ok(message) => panic!("{source} is accepted as {message:?}"),
        Err(error) => {
            assert_eq!(error.kind(), kind, "{source}: {error}");
            error
        }
    }
}

#[test]
fn integers_in_three_radixes() {
    same(
        "t.All",
        "f_int32: 0x7fffffff f_int64: -0X8000000000000000 f_uint32: 037777777777",
        "f_int64: -9223372036854775808 f_int32: 2147483647 f_uint32: 4294967295",
    );
    same("t.All", "f_int32: - # sign\n 5", "f_int32: -5");
    for bad in ["2147483648", "-0x80000001", "040000000000", "99999999999999999999"] {
        refused("t.All", &format!("f_int32: {bad}"), OutOfRange);
    }
    refused("t.All", "f_uint32: -1", OutOfRange);
    refused("t.All", "f_int32: 1.0", NotInteger);
    refused("t.All", "f_int32: 1e5", NotInteger);
    for bad in ["08", "1x", "0x", "- ", "+1", ""] {
        refused("t.All", &format!("f_int32: {bad}"), Syntax);
    }
    for bad in ["'1'", "abc", "{}", "[1]"] {
        refused("t.All", &format!("f_int32: {bad}"), WrongType);
    }
}

#[test]
fn floats_in_all_their_forms() {
    same(
        "t.All",
        "r_double: [1, -.5, 5., 1e3f, 10F, 18446744073709551616, -0, 1e9999, -1E+9999, 1e-9999]",
        "r_double: 1 r_double: -0.5 r_double: 5 r_double: 1000 r_double: 10 r_double: 1.8446744073709552e+19 r_double: -0 \
         r_double: inf r_double: -inf r_double: 0",
    );
    same(
        "t.All",
        "r_double: [inf, -Infinity, NaN, -nan, INF]",
        "r_double: inf r_double: -inf r_double: nan r_double: nan r_double: inf",
    );
    same("t.All", "f_float: 0.1", "f_float: 0.1");
    same("t.All", "f_float: 1e50", "f_float: inf");
    for bad in ["0x1", "-012", "infinite", "'1'", "-'1'"] {
        refused("t.All", &format!("f_double: {bad}"), WrongType);
    }
    for bad in ["1.2.3", "1ef", "01.5", "1.5ff"] {
        refused("t.All", &format!("f_double: {bad}"), Syntax);
    }
}

#[test]
fn bools_and_enums() {
    for yes in ["true", "True", "t", "1", "01", "0x1"] {
        same("t.All", &format!("f_bool: {yes}"), "f_bool: true");
    }
    for no in ["false", "False", "f", "0"] {
        same("t.All", &format!("c_int32: 1 f_bool: {no}"), "c_int32: 1");
    }
    refused("t.All", "f_bool: TRUE", WrongType);
    refused("t.All", "f_bool: 2", OutOfRange);
    same("t.All", "f_color: GREEN r_color: [RED, 2, -7]", "f_color: GREEN r_color: RED r_color: BLUE r_color: -7");
    refused("t.All", "f_color: green", UnknownEnumValue);
    refused("t2.Two", "level: 42", UnknownEnumValue);
    same("t2.Two", "level: -3", "level: TOP");
}

#[test]
fn strings() {
    same("t.All", "f_string: 'a' \"b'\" # and\n'\\x41\\101\\u00e9\\U0001f601'", "f_string: \"ab'AA\u{e9}\u{1f601}\"");
    same("t.All", r"f_bytes: '\300\xff\0'", r#"f_bytes: "\300\377\000""#);
    refused("t.All", r"f_string: '\300'", InvalidUtf8);
    // proto2 does not check.
    same("t2.Two", r"raw: '\300'", r#"raw: "\300""#);
    refused("t.All", "f_string: 'a\nb'", Syntax);
    refused("t.All", r"f_string: '\ud83d\ude01'", InvalidEscape);
    refused("t.All", "f_string: abc", WrongType);
    refused("t.All", "f_string 'abc'", Syntax);
    same("t.All", "r_string: ['a' 'b', 'c']", "r_string: \"ab\" r_string: \"c\"");
}

#[test]
fn separators_lists_and_brackets() {
    same(
        "t.All",
        "f_int32: 1, f_bool: true; f_inner < a: 1 child: {} >; r_inner [{a: 1}, <>] r_inner: {}",
        "f_int32: 1 f_bool: true f_inner { a: 1 child {} } r_inner { a: 1 } r_inner {} r_inner {}",
    );
    same("t.All", "r_int32: [] r_int32: 1 r_int32: [2, 3]", "r_int32: 1 r_int32: 2 r_int32: 3");
    for bad in [
        "f_int32: 1,,",
        ",",
        "f_inner { a: 1 >",
        "f_inner < }",
        "f_inner {",
        "}",
        "r_int32: [1,]",
        "r_int32: [1 2]",
        "r_int32: [,1]",
        "r_int32: [1; 2]",
        "r_int32 [1]",
        "f_int32 1",
        "1: 2",
        "f_inner: {} }",
    ] {
        refused("t.All", bad, Syntax);
    }
}

#[test]
fn maps_are_lists_of_entries() {
    same(
        "t.All",
        "m_string_int32 { key: 'a' value: 1 } m_string_int32: [{ value: 2, key: 'b' }, < key: 'c' >, {value: 4}]",
        "m_string_int32 { key: \"a\" value: 1 } m_string_int32 { key: \"b\" value: 2 } m_string_int32 { key: \"c\" value: 0 } \
         m_string_int32 { key: \"\" value: 4 }",
    );
    same(
        "t.All",
        "m_bool_inner { value { a: 1 } key: true } m_bool_inner {} m_bool_inner { key: 1 value: { a: 2 } }",
        "m_bool_inner { key: true value { a: 2 } } m_bool_inner { key: false value {} }",
    );
    refused("t.All", "m_string_int32 { key: 'a' key: 'b' }", DuplicateField);
    refused("t.All", "m_string_int32 { value: 1 value: 2 }", DuplicateField);
    refused("t.All", "m_string_int32 { keys: 1 }", UnknownField);
    refused("t.All", "m_string_int32 { key: 1 }", WrongType);
    let error = refused("t.All", "m_bool_inner [{}, { value { zzz: 1 } key: true }]", UnknownField);
    assert_eq!(error.path().to_string(), "All.m_bool_inner[1][\"true\"]");
    assert_eq!(error.offset(), 28);
}

#[test]
fn groups_and_extensions() {
    same(
        "t2.Two",
        "Data { x: 1 Deep { y: 'z' } } Item { id: 1 } Item: {}",
        "Data { x: 1 Deep { y: \"z\" } } Item { id: 1 } Item {}",
    );
    same("t2.Two", "data { deep {} } item [{ id: 1 }]", "Data { Deep {} } Item { id: 1 }");
    refused("t2.Two", "DATA {}", UnknownField);
    refused("t2.Two", "Number: 1", UnknownField);
    same(
        "t2.Two",
        "[t2.rank]: 1 [ t2 . # where\n Scope.note ]: 'n' [t2.scopes] [{}, {}] [t2.extra] { z: 1 }",
        "[t2.rank]: 1 [t2.Scope.note]: \"n\" [t2.scopes] {} [t2.scopes] {} [t2.extra] { z: 1 }",
    );
    refused("t2.Two", "[t2.Extra] {}", UnknownField);
    refused("t2.Two", "[t2.none]: 1", UnknownField);
    refused("t2.Two", "[t2.rank]: 1 [t2.rank]: 1", DuplicateField);
}

#[test]
fn reserved_and_unknown_names() {
    same("t2.Two", "gone: 1 old_name { a: [1, 'x'] } number: 1 gone: -inf old_name [<>]", "number: 1");
    refused("t2.Two", "gone: [1,]", Syntax);
    refused("t2.Two", "zzz: 1", UnknownField);
    let options = TextReadOptions { ignore_unknown: true, ..TextReadOptions::default() };
    let source = "zzz: 1 [x.y] { q: [A, B] } number: 1 by_name { zzz: 1 key: 'a' }";
    assert_eq!(line(&read_with("t2.Two", source, &options).unwrap()), "number: 1 by_name { key: \"a\" value: NO }");
    let options = TextReadOptions { field_numbers: true, ..TextReadOptions::default() };
    assert_eq!(
        line(&read_with("t2.Two", "1: 5 4 { 1: 6 } 100: 7", &options).unwrap()),
        "number: 5 Data { x: 6 } [t2.rank]: 7"
    );
    assert_eq!(read_with("t2.Two", "99: 5", &options).unwrap_err().kind(), UnknownField);
}

#[test]
fn what_is_given_once() {
    for twice in ["f_int32: 1 f_int32: 1", "f_inner {} f_inner {}", "o_int32: 1 o_int32: 1"] {
        refused("t.All", twice, DuplicateField);
    }
    refused("t.All", "c_int32: 1 c_string: ''", OneofConflict);
    refused("t2.Two", "p_int: 1 p_str: ''", OneofConflict);
    refused("t2.Strict", "below { id: 1 }", MissingRequired);
    let options = TextReadOptions { allow_partial: true, ..TextReadOptions::default() };
    read_with("t2.Strict", "", &options).unwrap();
}

#[test]
fn anys_in_place() {
    same("t.All", "any { [type.googleapis.com/t.Inner] { a: 1 } }", "any { [type.googleapis.com/t.Inner] { a: 1 } }");
    same("t.All", "any: { [ x / t.Inner ] : < a: 1 > }", "any { [x/t.Inner] { a: 1 } }");
    same("t.All", r"any { type_url: 'x/t.Inner' value: '\x08\x01' }", "any { [x/t.Inner] { a: 1 } }");
    same(
        "t.All",
        "any { [x/google.protobuf.Any] { [x/t2.Two] { [t2.rank]: 1 } } }",
        "any { [x/google.protobuf.Any] { [x/t2.Two] { [t2.rank]: 1 } } }",
    );
    refused("t.All", "any { [x/t.None] {} }", UnresolvedAny);
    refused("t.All", "any { [x/t.Inner] {} [x/t.Inner] {} }", DuplicateField);
    refused("t.All", "any { [x/t.Inner] {} type_url: '' }", DuplicateField);
    refused("t.All", "any { value: '' [x/t.Inner] {} }", DuplicateField);
    refused("t.All", "any { [x/t2.Strict] {} }", InvalidAny);
    refused("t.All", "any { [/] {} }", Syntax);
    refused("t.All", "f_inner { [x/t.Inner] {} }", UnknownField);
    let error = refused("t.All", "any { [x/t.Inner] { child { a: true } } }", WrongType);
    assert_eq!(error.path().to_string(), "All.any.(t.Inner).child.a");
}

#[test]
fn errors_tell_where() {
    let error = refused("t.All", "f_int32: 1\nr_inner { a: 1 } r_inner {\n  child { a: 'é' b: 1 } }", WrongType);
    assert_eq!((error.line(), error.column()), (3, 14));
    assert_eq!(
        error.to_string(),
        "value of the wrong type: expected an integer, found '\\'' (line 3, column 14, in All.r_inner.child.a)"
    );
    assert_eq!(refused("t.All", "f_string: 'é' zzz: 1", UnknownField).column(), 15);
    let mut message = message_type("t.All").new_message();
    let error =
        text::read(b"f_string: '\xff'", &mut message.as_mut(), &TextReadOptions::default(), &NoTypes).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (InvalidUtf8, 11));
}

#[test]
fn depth_and_memory_are_bounded() {
    let nested = |levels: usize| format!("{}{}", "child {".repeat(levels), "}".repeat(levels));
    read("t.Inner", &nested(100)).unwrap();
    refused("t.Inner", &nested(101), DepthLimit);
    refused("t.Inner", &nested(100_000), DepthLimit);
    refused("t2.Two", &format!("gone {}", "{ a ".repeat(100_000)), DepthLimit);
    refused("t.All", &format!("m_bool_inner {{ value {{ {} }} }}", nested(100)), DepthLimit);
    let ty = message_type("t.All");
    let mut message = Message::with_arena(ty.shape(), Arena::with_limit(1 << 16)).unwrap();
    let source = format!("r_int32: [{}1]", "1,".repeat(100_000));
    let error =
        text::read(source.as_bytes(), &mut message.as_mut(), &TextReadOptions::default(), &NoTypes).unwrap_err();
    assert_eq!(error.kind(), MemoryLimit);
}

/// Whatever is cut off or changed in a text, reading ends without a panic.
#[test]
fn mutilated_texts_end_in_errors_or_messages() {
    let source = concat!(
        "f_double: -1.5e3f, f_string: 'a\\u00e9' \"\\x41\"; r_inner [{ a: 0x1 }, <>] m_bool_inner { value { a: 1 } key: t }\n",
        "# comment é\nany { [x/t.Inner] { a: 07 } } f_color: GREEN r_double: [inf, -nan, .5]"
    );
    read("t.All", source).unwrap();
    let options = TextReadOptions { ignore_unknown: true, field_numbers: true, ..TextReadOptions::default() };
    for at in 0..source.len() {
        let mut changed = source.as_bytes()[..at].to_vec();
        let mut message = message_type("t.All").new_message();
        _ = text::read(&changed, &mut message.as_mut(), &options, schema());
        changed = source.as_bytes().to_vec();
        for byte in *b"\"'\\{}[]<>,;:#0-9.efxu_\n\x00\x80 \xc3/" {
            changed[at] = byte;
            _ = text::read(&changed, &mut message.as_mut(), &options, schema());
        }
    }
}
