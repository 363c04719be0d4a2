//! Every way to be refused, and what the error says.

use protojit_core::schema::{Schema, SchemaError, SchemaErrorKind as Kind};

use super::build::*;

/// A proto2 file with these messages.
fn with(messages: &[Raw]) -> Raw {
    messages.iter().fold(file("a.proto"), |file, message| file.bytes(4, message))
}

fn fields(fields: &[Raw]) -> Raw {
    fields.iter().fold(message("M"), |message, field| message.bytes(2, field))
}

macro_rules! refused {
    ($files:expr, $pattern:pat, $text:expr) => {{
        let (text, kind) = refuse(&$files);
        assert!(matches!(kind, $pattern), "{kind:?}");
        assert_eq!(text, $text);
    }};
}

#[test]
fn errors_travel() {
    fn travels<T: std::error::Error + Send + Sync + 'static>() {}
    travels::<SchemaError>();
    assert_eq!(size_of::<SchemaError>(), size_of::<usize>());
    let error = link(&[with(&[fields(&[field("f", 0, INT32)])])]).unwrap_err();
    assert_eq!(error.file(), Some("a.proto"));
    assert_eq!(error.element(), Some("p.M.f"));
}

#[test]
fn malformed() {
    for (bytes, offset) in [
        (&[0x0a][..], 1),
        (&[0x0a, 0x80], 1),
        (&[0x0a, 0x05, 0x0a], 2),
        (&[0x00, 0x00], 0),
        (&[0x0f], 1),
        (&[0x0c], 1),
        (&[0x13, 0x1c], 2),
        (&[0x13], 1),
        (&[0x11, 0, 0], 1),
        (&[0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02], 1),
        (&[0x0a, 0x03, 0x0a, 0x02, b'x'], 4),
    ] {
        let error = Schema::from_descriptor_set(bytes).unwrap_err();
        match error.kind() {
            Kind::Malformed { offset: at, .. } => assert_eq!(*at, offset, "{bytes:x?}: {error}"),
            kind => panic!("{bytes:x?}: {kind:?}"),
        }
    }
    let groups = [vec![0x13; 101], vec![0x14; 101]].concat();
    let error = Schema::from_descriptor_set(groups).unwrap_err();
    assert!(error.to_string().contains("too deep"), "{error}");
    let nested = [vec![0x13; 100], vec![0x14; 100]].concat();
    assert!(Schema::from_descriptor_set(nested).is_ok());
    refused!(
        [raw().bytes(1, b"\xff")],
        Kind::NotUtf8 { offset: 4 },
        "malformed descriptor at byte 4: a string that is not UTF-8"
    );
    refused!(
        [with(&[message("M").bytes(2, b"\x0a")])],
        Kind::Malformed { offset: 22, .. },
        "a.proto: p.M: malformed descriptor at byte 22: truncated varint"
    );
}

#[test]
fn files() {
    refused!(
        [file("a.proto"), file("a.proto").bytes(4, message("M"))],
        Kind::DuplicateFile,
        "a.proto: the set holds two different files of this name"
    );
    refused!(
        [file("a.proto").bytes(3, "b.proto")],
        Kind::MissingImport { .. },
        "a.proto: import \"b.proto\" is not part of the descriptor set"
    );
    refused!(
        [file("a.proto").bytes(3, "b.proto"), file("b.proto").bytes(3, "c.proto"), file("c.proto").bytes(3, "b.proto")],
        Kind::ImportCycle { .. },
        "c.proto: the file imports itself, by way of \"b.proto\""
    );
    refused!(
        [file("a.proto").bytes(3, "a.proto")],
        Kind::ImportCycle { .. },
        "a.proto: the file imports itself, by way of \"a.proto\""
    );
    refused!(
        [file("b.proto"), file("a.proto").bytes(3, "b.proto").int(10, 1)],
        Kind::InvalidImportIndex { index: 1 },
        "a.proto: no import has the index 1"
    );
    refused!(
        [file("a.proto").int(11, -1)],
        Kind::InvalidImportIndex { index: -1 },
        "a.proto: no import has the index -1"
    );
    refused!(
        [raw().bytes(1, "a.proto").bytes(2, "p..q")],
        Kind::InvalidName { .. },
        "a.proto: p..q: \"\" is not a valid identifier"
    );
}

#[test]
fn names() {
    refused!([with(&[message("M"), message("M")])], Kind::DuplicateName, "a.proto: p.M: the name is declared twice");
    refused!([with(&[message("")])], Kind::InvalidName { .. }, "a.proto: p.: \"\" is not a valid identifier");
    refused!([with(&[message("1x")])], Kind::InvalidName { .. }, "a.proto: p.1x: \"1x\" is not a valid identifier");
    refused!([with(&[message("a.b")])], Kind::InvalidName { .. }, "a.proto: p.a.b: \"a.b\" is not a valid identifier");
    refused!(
        [with(&[fields(&[field("f", 1, INT32), field("f", 2, INT32)])])],
        Kind::DuplicateName,
        "a.proto: p.M.f: the name is declared twice"
    );
    for other in [
        fields(&[field("f", 1, INT32)]).bytes(3, message("f")),
        fields(&[field("f", 1, INT32)]).bytes(4, enum_("f", &[("A", 0)])),
        fields(&[field("f", 1, INT32)]).bytes(4, enum_("E", &[("f", 0)])),
        fields(&[field("f", 1, INT32)]).bytes(6, field("f", 100, INT32).bytes(2, ".p.M")).bytes(5, range(100, 101)),
        fields(&[field("f", 1, INT32), field("g", 2, INT32).int(9, 0)]).bytes(8, raw().bytes(1, "f")),
    ] {
        refused!([with(&[other])], Kind::DuplicateName, "a.proto: p.M.f: the name is declared twice");
    }
    for name in ["", "1f", "a.b", "a b", "\u{e9}"] {
        let (_, kind) = refuse(&[with(&[fields(&[field(name, 1, INT32)])])]);
        assert_eq!(kind, Kind::InvalidName { name: name.into() });
    }
    // Enum values live beside their enum.
    refused!(
        [file("a.proto").bytes(5, enum_("E", &[("A", 0)])).bytes(5, enum_("F", &[("A", 0)]))],
        Kind::DuplicateName,
        "a.proto: p.A: the name is declared twice"
    );
    refused!(
        [raw().bytes(1, "a").bytes(4, message("p")), file("b")],
        Kind::DuplicateName,
        "b: p: the name is declared twice"
    );
    refused!(
        [file("b"), raw().bytes(1, "a").bytes(4, message("p"))],
        Kind::DuplicateName,
        "a: p: the name is declared twice"
    );
}

#[test]
fn numbers() {
    for number in [0, -1, 536_870_912, i64::from(i32::MAX)] {
        let (_, kind) = refuse(&[with(&[fields(&[field("f", number, INT32)])])]);
        assert_eq!(kind, Kind::InvalidNumber { number: number as i32 });
    }
    assert!(link(&[with(&[fields(&[field("f", 536_870_911, INT32), field("g", 19_000, INT32)])])]).is_ok());
    refused!(
        [with(&[fields(&[field("f", 7, INT32), field("g", 7, INT32)])])],
        Kind::DuplicateNumber { number: 7, .. },
        "a.proto: p.M.g: the number 7 is also used by f"
    );
    refused!(
        [with(&[fields(&[field("f", 7, INT32)]).bytes(9, range(5, 8))])],
        Kind::ReservedNumber { number: 7 },
        "a.proto: p.M.f: the number 7 is reserved"
    );
    assert!(link(&[with(&[fields(&[field("f", 7, INT32)]).bytes(9, range(5, 7)).bytes(9, range(8, 9))])]).is_ok());
    refused!(
        [with(&[fields(&[field("f", 7, INT32)]).bytes(10, "f")])],
        Kind::ReservedName,
        "a.proto: p.M.f: the name is reserved"
    );
    refused!(
        [with(&[fields(&[field("f", 7, INT32)]).bytes(5, range(7, 8))])],
        Kind::NumberInExtensionRange { number: 7 },
        "a.proto: p.M.f: the number 7 lies in an extension range"
    );
    for (start, end) in [(0, 5), (5, 5), (5, 4), (-1, 5), (5, 536_870_913)] {
        let (_, kind) = refuse(&[with(&[message("M").bytes(5, range(start, end))])]);
        assert_eq!(kind, Kind::InvalidRange { start: start as i32, end: end as i32 });
    }
    refused!(
        [with(&[message("M").bytes(5, range(10, 20)).bytes(9, range(19, 30))])],
        Kind::OverlappingRanges { number: 19 },
        "a.proto: p.M: the reserved or extension ranges overlap at 19"
    );
}

#[test]
fn types() {
    let typed = |kind, name: &str| fields(&[field("f", 1, kind).bytes(6, name)]);
    refused!(
        [with(&[typed(MESSAGE, ".p.Nope")])],
        Kind::Unresolved { .. },
        "a.proto: p.M.f: \".p.Nope\" is not defined"
    );
    refused!([with(&[typed(MESSAGE, "Nope")])], Kind::Unresolved { .. }, "a.proto: p.M.f: \"Nope\" is not defined");
    refused!([with(&[typed(ENUM, ".p.M")])], Kind::WrongType { .. }, "a.proto: p.M.f: \".p.M\" is not an enum");
    refused!(
        [with(&[typed(MESSAGE, ".p.E")]).bytes(5, enum_("E", &[("A", 0)]))],
        Kind::WrongType { .. },
        "a.proto: p.M.f: \".p.E\" is not a message"
    );
    refused!(
        [with(&[typed(MESSAGE, ".p.A")]).bytes(5, enum_("E", &[("A", 0)]))],
        Kind::WrongType { .. },
        "a.proto: p.M.f: \".p.A\" is not a type"
    );
    refused!([with(&[typed(MESSAGE, ".p.M.f")])], Kind::Unresolved { .. }, "a.proto: p.M.f: \".p.M.f\" is not defined");
    refused!(
        [with(&[typed(INT32, ".p.M")])],
        Kind::InvalidField { .. },
        "a.proto: p.M.f: invalid field: a scalar with a type name"
    );
    for kind in [0, 19, -1] {
        let (text, _) = refuse(&[with(&[fields(&[field("f", 1, kind)])])]);
        assert_eq!(text, "a.proto: p.M.f: invalid field: unknown type");
    }
    let untyped = raw().bytes(1, "f").int(3, 1);
    refused!([with(&[fields(&[untyped])])], Kind::InvalidField { .. }, "a.proto: p.M.f: invalid field: no type");
    refused!(
        [with(&[fields(&[field("f", 1, INT32).int(4, 4)])])],
        Kind::InvalidField { .. },
        "a.proto: p.M.f: invalid field: unknown label"
    );
    let closed = raw().bytes(1, "e.proto").bytes(5, enum_("E", &[("ONE", 1)]));
    refused!(
        [closed, proto3("a.proto").bytes(4, typed(ENUM, ".E"))],
        Kind::InvalidField { .. },
        "a.proto: p.M.f: invalid field: implicit presence needs an enum that begins with zero"
    );
}

#[test]
fn maps() {
    let key = || field("key", 1, STRING);
    let value = || field("value", 2, INT32);
    let with_entry = |entry: Raw| {
        let entry = entry.bytes(7, raw().int(7, 1));
        with(&[fields(&[repeated("f", 1, MESSAGE).bytes(6, ".p.M.E")]).bytes(3, entry)])
    };
    let entry = |fields: &[Raw]| fields.iter().fold(message("E"), |entry, field| entry.bytes(2, field));
    assert!(link(&[with_entry(entry(&[key(), value()]))]).is_ok());
    for (bad, why) in [
        (entry(&[]), "an entry type has two fields"),
        (entry(&[key()]), "an entry type has two fields"),
        (entry(&[value(), key()]), "the key has number 1, then comes the value with number 2"),
        (
            entry(&[field("key", 1, INT32), field("value", 3, INT32)]),
            "the key has number 1, then comes the value with number 2",
        ),
        (entry(&[field("key", 1, 1), value()]), "a key is an integer, a bool or a string"),
        (entry(&[field("key", 1, 12), value()]), "a key is an integer, a bool or a string"),
        (entry(&[field("key", 1, MESSAGE).bytes(6, ".p.M"), value()]), "a key is an integer, a bool or a string"),
        (entry(&[repeated("key", 1, STRING), value()]), "key and value are singular"),
        (entry(&[key(), repeated("value", 2, STRING)]), "key and value are singular"),
        (entry(&[key(), value()]).bytes(3, message("X")), "an entry type holds nothing but its two fields"),
    ] {
        let (text, kind) = refuse(&[with_entry(bad)]);
        assert!(matches!(kind, Kind::InvalidMap { what } if what == why), "{text}");
    }
    let (text, _) = refuse(&[with_entry(entry(&[key(), field("value", 2, GROUP).bytes(6, ".p.M")]))]);
    assert_eq!(text, "a.proto: p.M.E.value: invalid map: the value cannot be a group");
    let good = || entry(&[key(), value()]).bytes(7, raw().int(7, 1));
    let singular = fields(&[field("f", 1, MESSAGE).bytes(6, ".p.M.E")]).bytes(3, good());
    let (text, _) = refuse(&[with(&[singular])]);
    assert_eq!(text, "a.proto: p.M.f: invalid map: an entry type can only be used by a repeated field");
    let elsewhere = message("N").bytes(2, repeated("g", 1, MESSAGE).bytes(6, ".p.M.E"));
    let (text, _) = refuse(&[with(&[message("M").bytes(3, good()), elsewhere])]);
    assert_eq!(text, "a.proto: p.N.g: invalid map: the entry type must be nested in the message that uses it");
    let (text, _) = refuse(&[with(&[good()])]);
    assert_eq!(text, "a.proto: p.E: invalid map: an entry type must be nested in a message");
}

#[test]
fn oneofs() {
    let in_oneof = |name: &str, number, index| field(name, number, INT32).int(9, index);
    let oneof = |name: &str| raw().bytes(1, name);
    let m = |list: &[Raw]| fields(list).bytes(8, oneof("o"));
    for (bad, why) in [
        (m(&[]), "it has no members"),
        (m(&[in_oneof("f", 1, 1)]), "no oneof has this index"),
        (m(&[in_oneof("f", 1, -1)]), "no oneof has this index"),
        (m(&[repeated("f", 1, INT32).int(9, 0)]), "a member can be neither required nor repeated"),
        (m(&[in_oneof("f", 1, 0).int(4, 2)]), "a member can be neither required nor repeated"),
        (
            m(&[in_oneof("f", 1, 0).int(17, 1), in_oneof("g", 2, 0)]),
            "a proto3 optional field must be alone in its oneof",
        ),
        (
            m(&[in_oneof("f", 1, 0).int(17, 1), in_oneof("g", 2, 1)]).bytes(8, oneof("real")),
            "those made up for proto3 optional fields must come last",
        ),
    ] {
        let (text, kind) = refuse(&[with(&[bad])]);
        assert!(matches!(kind, Kind::InvalidOneof { what } if what == why), "{text}");
    }
}

#[test]
fn enums() {
    let (text, kind) = refuse(&[file("a.proto").bytes(5, enum_("E", &[]))]);
    assert!(matches!(kind, Kind::InvalidEnum { .. }));
    assert_eq!(text, "a.proto: p.E: invalid enum: it has no values");
    let (text, _) = refuse(&[proto3("a.proto").bytes(5, enum_("E", &[("ONE", 1)]))]);
    assert_eq!(text, "a.proto: p.E: invalid enum: the first value of an open enum must be zero");
    assert!(link(&[file("a.proto").bytes(5, enum_("E", &[("ONE", 1)]))]).is_ok());
}

#[test]
fn extensions() {
    let extension = |name: &str, number, kind| field(name, number, kind).bytes(2, ".p.M");
    let open = || message("M").bytes(5, range(100, 200));
    refused!(
        [with(&[open()]).bytes(7, extension("x", 200, INT32))],
        Kind::NotInExtensionRange { number: 200, .. },
        "a.proto: p.x: p.M has no extension range that holds 200"
    );
    refused!(
        [with(&[open()]).bytes(7, extension("x", 100, INT32)).bytes(7, extension("y", 100, INT32))],
        Kind::DuplicateNumber { number: 100, .. },
        "a.proto: p.y: the number 100 is also used by p.x"
    );
    refused!(
        [with(&[open()]).bytes(7, extension("x", 100, INT32).int(4, 2))],
        Kind::InvalidField { .. },
        "a.proto: p.x: invalid field: an extension cannot be required"
    );
    refused!(
        [with(&[open()]).bytes(7, field("x", 100, INT32).bytes(2, ".p.Nope"))],
        Kind::Unresolved { .. },
        "a.proto: p.x: \".p.Nope\" is not defined"
    );
    refused!(
        [with(&[open()]).bytes(7, field("x", 100, INT32))],
        Kind::Unresolved { .. },
        "a.proto: p.x: \"\" is not defined"
    );
    refused!(
        [with(&[open()]).bytes(7, field("x", 100, INT32).bytes(2, ".p.x"))],
        Kind::WrongType { .. },
        "a.proto: p.x: \".p.x\" is not a message"
    );
    refused!(
        [with(&[open()]).bytes(7, extension("x", 100, INT32).int(9, 0))],
        Kind::InvalidOneof { .. },
        "a.proto: p.x: invalid oneof: an extension cannot be a member"
    );
}

#[test]
fn message_sets() {
    let options = || raw().int(1, 1);
    let max = i64::from(i32::MAX);
    let open = || message("M").bytes(5, range(4, max)).bytes(7, options());
    let extension = |number, kind, label| {
        let x = raw().bytes(1, "x").bytes(2, ".p.M").int(3, number).int(4, label).int(5, kind);
        if kind == INT32 { x } else { x.bytes(6, ".p.N") }
    };
    let all = |x: Raw| [with(&[open(), message("N")]).bytes(7, x)];
    assert!(link(&all(extension(max - 1, MESSAGE, 1))).is_ok());
    let (_, kind) = refuse(&all(extension(max, MESSAGE, 1)));
    assert_eq!(kind, Kind::InvalidNumber { number: i32::MAX });
    for bad in [extension(5, INT32, 1), extension(5, MESSAGE, 3), extension(5, GROUP, 1)] {
        let (_, kind) = refuse(&all(bad));
        assert!(matches!(kind, Kind::InvalidMessageSet { .. }), "{kind:?}");
    }
    refused!(
        [with(&[fields(&[field("f", 1, INT32)]).bytes(7, options())])],
        Kind::InvalidMessageSet { .. },
        "a.proto: p.M: invalid MessageSet: it cannot have fields of its own"
    );
}

#[test]
fn defaults() {
    let default = |field: Raw, text: &str| fields(&[field.bytes(7, text)]);
    for (bad, why) in [
        (default(field("f", 1, INT32), "x"), "\"x\": not an integer"),
        (default(field("f", 1, INT32), "2147483648"), "\"2147483648\": out of the type's range"),
        (default(field("f", 1, 8), "TRUE"), "\"TRUE\": neither true nor false"),
        (default(field("f", 1, 1), "1,5"), "\"1,5\": not a number"),
        (default(field("f", 1, 12), "\\"), "\"\\\\\": ends inside an escape"),
        (default(repeated("f", 1, INT32), "1"), "\"1\": repeated fields have none"),
        (default(field("f", 1, MESSAGE).bytes(6, ".p.M"), "1"), "\"1\": messages have none"),
        (default(field("f", 1, ENUM).bytes(6, ".p.E"), "B"), "\"B\": no such enum value"),
    ] {
        let (text, kind) = refuse(&[with(&[bad]).bytes(5, enum_("E", &[("A", 0)]))]);
        assert!(matches!(kind, Kind::InvalidDefault { .. }));
        assert_eq!(text, format!("a.proto: p.M.f: invalid default {why}"));
    }
    let (text, _) = refuse(&[proto3("a.proto").bytes(4, default(field("f", 1, INT32), "1"))]);
    assert_eq!(text, "a.proto: p.M.f: invalid default \"1\": fields of implicit presence have none");
    let not_utf8 = fields(&[field("f", 1, STRING).bytes(7, b"\xff")]);
    assert!(link(&[with(std::slice::from_ref(&not_utf8))]).is_ok());
    let (text, _) = refuse(&[edition("a.proto", 1000).bytes(4, not_utf8)]);
    assert_eq!(text, "a.proto: p.M.f: invalid default \"\u{fffd}\": not UTF-8");
}

#[test]
fn services() {
    let service = |input: &str| {
        let method = raw().bytes(1, "Get").bytes(2, input).bytes(3, ".p.M");
        with(&[message("M")]).bytes(5, enum_("E", &[("A", 0)])).bytes(6, raw().bytes(1, "S").bytes(2, method))
    };
    assert!(link(&[service("M")]).is_ok());
    refused!([service("")], Kind::Unresolved { .. }, "a.proto: p.S.Get: \"\" is not defined");
    refused!([service(".p.E")], Kind::WrongType { .. }, "a.proto: p.S.Get: \".p.E\" is not a message");
}

#[test]
fn limits() {
    let nested = message("A").bytes(3, message("B").bytes(3, message("C")));
    let big = with(&[nested, fields(&[field("f", 1, INT32), field("g", 2, INT32)])])
        .bytes(5, enum_("E", &[("X", 0), ("Y", 1)]));
    let files = [big, file("b.proto")];
    assert!(link_with(&files, |_| {}).is_ok());
    type Change = fn(&mut protojit_core::schema::SchemaLimits);
    let changes: [(Change, &str); 9] = [
        (|l| l.max_bytes = 10, "max_bytes"),
        (|l| l.max_files = 1, "max_files"),
        (|l| l.max_messages = 3, "max_messages"),
        (|l| l.max_fields_total = 1, "max_fields_total"),
        (|l| l.max_fields_per_message = 1, "max_fields_per_message"),
        (|l| l.max_items_total = 2, "max_items_total"),
        (|l| l.max_nesting_depth = 2, "max_nesting_depth"),
        (|l| l.max_name_bytes = 4, "max_name_bytes"),
        (|l| l.max_names_total_bytes = 20, "max_names_total_bytes"),
    ];
    for (change, name) in changes {
        let error = link_with(&files, change).unwrap_err();
        match error.kind() {
            Kind::LimitExceeded { limit, .. } => assert_eq!(*limit, name),
            kind => panic!("{name}: {kind:?}"),
        }
    }
}
