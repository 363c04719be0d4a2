//! Features at every scope, as protoc 36 compiled them and by hand.

use protojit_core::schema::{
    Edition, FieldDescriptor, Schema, SchemaErrorKind,
    model::{DefaultValue, Presence},
};

use super::build::*;

fn fixture() -> Schema {
    Schema::from_descriptor_set(&include_bytes!("../fixtures/editions.binpb")[..]).unwrap()
}

#[track_caller]
fn get(schema: &Schema, message: &str, field: &str) -> FieldDescriptor {
    schema.message(message).unwrap().field(field).unwrap_or_else(|| panic!("{message}.{field}"))
}

#[test]
fn protoc_2023() {
    let schema = fixture();
    let file = schema.file("editions.proto").unwrap();
    assert_eq!(file.edition(), Edition::Edition2023);
    let all = |name| get(&schema, "fixture.All", name);

    assert_eq!(all("implicit").presence(), Presence::Implicit);
    assert_eq!(all("explicit").presence(), Presence::Explicit);
    assert_eq!(all("explicit").default_value(), Some(&DefaultValue::Bits(-7i64 as u64)));
    assert_eq!(all("required").presence(), Presence::Required);
    assert_eq!(all("open").presence(), Presence::Implicit);
    assert_eq!(all("child").presence(), Presence::Explicit);
    assert_eq!(all("text").presence(), Presence::Explicit);
    assert_eq!(all("delimited").presence(), Presence::Explicit);

    for (name, delimited) in [
        ("delimited", true),
        ("prefixed", false),
        ("children", false),
        ("list", true),
        ("child", true),
        ("inner", true),
        ("text", false),
    ] {
        assert_eq!(all(name).is_delimited(), delimited, "{name}");
    }
    let (key, value) = all("children").map_entry().unwrap();
    assert!(!value.is_delimited());
    assert!(key.validates_utf8());
    let (key, value) = all("unchecked_map").map_entry().unwrap();
    assert!(!key.validates_utf8() && !value.validates_utf8());
    assert!(all("checked").validates_utf8());
    assert!(!all("unchecked").validates_utf8());

    assert!(all("packed").is_packed());
    assert!(!all("expanded").is_packed());
    assert!(!all("list").is_packed());
    assert!(all("closed").enum_().unwrap().is_closed());
    assert_eq!(all("closed").default_value(), Some(&DefaultValue::Bits(2)));
    assert!(!all("open").enum_().unwrap().is_closed());
}

#[test]
fn protoc_2023_extensions() {
    let schema = fixture();
    let extension = |name: &str| schema.extension(&format!("fixture.{name}")).unwrap();
    assert!(extension("ext_child").is_delimited());
    assert!(!extension("ext_prefixed").is_delimited());
    assert!(extension("ext_list").is_packed());
    assert_eq!(extension("ext_list").presence(), Presence::Repeated);
    // Implicit presence is for fields of messages only.
    assert_eq!(extension("ext_scalar").presence(), Presence::Explicit);
}

#[test]
fn protoc_2024() {
    let schema = fixture();
    let root = schema.root_file().unwrap();
    assert_eq!((root.name(), root.edition()), ("editions_2024.proto", Edition::Edition2024));
    let later = |name| get(&schema, "fixture.y2024.Later", name);
    assert_eq!(later("explicit").presence(), Presence::Explicit);
    // The feature belongs to the file of the field, not to that of its type.
    assert!(!later("child").is_delimited());
    assert!(later("numbers").is_packed());
    assert!(later("text").validates_utf8());
    assert!(!later("state").enum_().unwrap().is_closed());
    assert_eq!(later("blob").default_value(), Some(&DefaultValue::Bytes(b"\x01\xff\"q"[..].into())));
    let inf = f32::NEG_INFINITY.to_bits().into();
    assert_eq!(later("ratio").default_value(), Some(&DefaultValue::Bits(inf)));
}

/// File, message, nested message, oneof, field: the innermost that speaks wins.
#[test]
fn scopes() {
    let presence = |value| features(&[(1, value)]);
    let oneof = raw().bytes(1, "choice").bytes(2, raw().bytes(1, features(&[(4, 3)])));
    let inner = message("Inner")
        .bytes(2, field("inherits", 1, INT32))
        .bytes(2, field("own", 2, INT32).bytes(8, raw().bytes(21, presence(3))))
        .bytes(2, field("chosen", 3, STRING).int(9, 0))
        .bytes(2, field("plain", 4, STRING))
        .bytes(8, oneof);
    let outer = message("Outer")
        .bytes(2, field("inherits", 1, INT32))
        .bytes(3, inner)
        .bytes(7, raw().bytes(12, presence(2)))
        .bytes(6, field("ext", 100, INT32).bytes(2, ".p.Wide").bytes(8, raw().bytes(21, features(&[(3, 2)]))));
    let wide = message("Wide").bytes(2, field("f", 1, INT32)).bytes(5, range(100, 200));
    let schema =
        link(&[edition("a.proto", 1000).bytes(4, outer).bytes(4, wide).bytes(8, raw().bytes(50, presence(1)))])
            .unwrap();
    assert_eq!(get(&schema, "p.Wide", "f").presence(), Presence::Explicit);
    assert_eq!(get(&schema, "p.Outer", "inherits").presence(), Presence::Implicit);
    assert_eq!(get(&schema, "p.Outer.Inner", "inherits").presence(), Presence::Implicit);
    assert_eq!(get(&schema, "p.Outer.Inner", "own").presence(), Presence::Required);
    assert!(!get(&schema, "p.Outer.Inner", "chosen").validates_utf8());
    assert!(get(&schema, "p.Outer.Inner", "plain").validates_utf8());
    assert_eq!(schema.extension("p.Outer.ext").unwrap().presence(), Presence::Explicit);
}

#[test]
fn repeated_options_merge() {
    let twice = field("f", 1, STRING)
        .bytes(8, raw().bytes(21, features(&[(4, 3)])))
        .bytes(8, raw().bytes(21, features(&[(1, 2)])).bytes(21, features(&[(1, 3)])));
    let schema = link(&[edition("a.proto", 1000).bytes(4, message("M").bytes(2, twice))]).unwrap();
    let field = get(&schema, "p.M", "f");
    assert!(!field.validates_utf8());
    assert_eq!(field.presence(), Presence::Required);
}

/// A map field's utf8_validation reaches its entry even where no compiler copied it.
#[test]
fn map_features() {
    let map = |name: &str, number, entry: &str| {
        repeated(name, number, MESSAGE)
            .bytes(6, format!(".p.M.{entry}"))
            .bytes(8, raw().bytes(21, features(&[(4, 3), (5, 2)])))
    };
    let entry = |name: &str, key: Raw| {
        message(name).bytes(2, key).bytes(2, field("value", 2, STRING)).bytes(7, raw().int(7, 1))
    };
    let speaks = field("key", 1, STRING).bytes(8, raw().bytes(21, features(&[(4, 2)])));
    let def = message("M")
        .bytes(2, map("a", 1, "AEntry"))
        .bytes(2, map("b", 2, "BEntry"))
        .bytes(3, entry("AEntry", field("key", 1, STRING)))
        .bytes(3, entry("BEntry", speaks));
    let schema = link(&[edition("a.proto", 1000).bytes(4, def)]).unwrap();
    let utf8 = |name| {
        let field = get(&schema, "p.M", name);
        assert!(field.is_map() && !field.is_delimited());
        let (key, value) = field.map_entry().unwrap();
        (key.validates_utf8(), value.validates_utf8())
    };
    assert_eq!(utf8("a"), (false, false));
    assert_eq!(utf8("b"), (true, false));
}

#[test]
fn editions_and_syntaxes() {
    let with = |raw: Raw| link(&[raw]).map(|schema| schema.root_file().unwrap().edition());
    assert_eq!(with(file("a")).unwrap(), Edition::Proto2);
    assert_eq!(with(file("a").bytes(12, "proto2")).unwrap(), Edition::Proto2);
    assert_eq!(with(proto3("a")).unwrap(), Edition::Proto3);
    assert_eq!(with(proto3("a").int(14, 999)).unwrap(), Edition::Proto3);
    assert_eq!(with(edition("a", 900)).unwrap(), Edition::Proto2);
    assert_eq!(with(edition("a", 998)).unwrap(), Edition::Proto2);
    assert_eq!(with(edition("a", 1001)).unwrap(), Edition::Edition2024);
    assert_eq!(with(file("a").int(14, 1000)).unwrap(), Edition::Edition2023);
    for number in [-1, 1, 899, 997, 1002, 9999, 99997, i64::from(i32::MAX)] {
        let error = with(edition("a", number)).unwrap_err();
        let edition = number as i32;
        assert_eq!(*error.kind(), SchemaErrorKind::UnsupportedEdition { edition });
    }
    assert!(with(file("a").bytes(12, "editions")).is_err());
    assert!(with(proto3("a").int(14, 1000)).is_err());
    assert!(matches!(
        with(file("a").bytes(12, "proto4")).unwrap_err().kind(),
        SchemaErrorKind::UnsupportedSyntax { syntax } if &**syntax == "proto4"
    ));
}

#[test]
fn bad_features() {
    for (feature, value) in [(1, 0), (1, 4), (2, 3), (3, 3), (4, 1), (5, 3), (6, 9), (1, -1)] {
        let options = raw().bytes(50, features(&[(feature, value)]));
        let (text, kind) = refuse(&[edition("a.proto", 1000).bytes(8, options)]);
        assert!(matches!(kind, SchemaErrorKind::UnknownFeature { .. }), "{text}");
    }
    let (text, kind) = refuse(&[proto3("a.proto").bytes(8, raw().bytes(50, features(&[(1, 1)])))]);
    assert_eq!(kind, SchemaErrorKind::FeaturesOutsideEditions, "{text}");
    let options = raw().bytes(12, features(&[(1, 1)]));
    let (text, kind) = refuse(&[proto3("a.proto").bytes(4, message("M").bytes(7, options))]);
    assert_eq!(kind, SchemaErrorKind::FeaturesOutsideEditions);
    assert_eq!(text, "a.proto: p.M: features are only valid under editions");
}
