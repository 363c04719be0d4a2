//! Names, scopes, imports, well-known types, raw bytes.

use protojit_core::schema::{
    Kind, Schema, SchemaErrorKind,
    model::{Symbol, WellKnown},
};

use super::{build::*, compile, schema_of};

#[test]
fn empty() {
    let schema = Schema::from_descriptor_set(&[][..]).unwrap();
    assert!(schema.root_file().is_none());
    assert!(schema.message_at(&[0]).is_none());
    assert_eq!(schema.messages().count(), 0);
}

#[test]
fn index_paths() {
    let set = compile(&[
        ("dep.proto", "syntax = \"proto3\"; package d; message D0 {} message D1 {}"),
        (
            "root.proto",
            "syntax = \"proto3\"; package r; import \"dep.proto\";
             message A { message B {} message C { message E { d.D0 d = 1; } } }
             message F { map<int32, int32> m = 1; message G {} }",
        ),
    ]);
    let schema = Schema::from_descriptor_set(set.clone()).unwrap();
    let name = |path: &[u32]| schema.message_at(path).map(|m| m.full_name().to_owned());
    assert_eq!(name(&[0]).as_deref(), Some("r.A"));
    assert_eq!(name(&[0, 1, 0]).as_deref(), Some("r.A.C.E"));
    assert_eq!(name(&[1, 1]).as_deref(), Some("r.F.G"));
    assert_eq!(name(&[1, 0]).as_deref(), Some("r.F.MEntry"));
    assert_eq!(name(&[2]), None);
    assert_eq!(name(&[0, 2]), None);
    assert_eq!(name(&[]), None);
    assert_eq!(schema.message_in("dep.proto", &[1]).unwrap().full_name(), "d.D1");
    assert_eq!(schema.message("r.A.C.E").unwrap().index_path(), [0, 1, 0]);
    assert_eq!(schema.descriptor_set(), set);
    let order: Vec<_> = schema.messages().map(|m| m.full_name().to_owned()).collect();
    assert_eq!(order, ["d.D0", "d.D1", "r.A", "r.A.B", "r.A.C", "r.A.C.E", "r.F", "r.F.MEntry", "r.F.G"]);
}

#[test]
fn single_files() {
    let long = "x".repeat(300);
    let files = [proto3("a.proto").bytes(3, "b.proto").bytes(4, message(&long)), proto3("b.proto")];
    let schema = Schema::from_file_descriptors(&files).unwrap();
    assert_eq!(schema.descriptor_set(), set(&files));
    assert_eq!(schema.root_file().unwrap().name(), "b.proto");
}

#[test]
fn handles() {
    let source = "syntax = \"proto3\"; package a.b; message M { enum E { Z = 0; } oneof o { E e = 1; } }";
    let (one, two) = (schema_of(source), schema_of(source));
    let m = one.message("a.b.M").unwrap();
    assert_eq!(m, one.clone().message("a.b.M").unwrap());
    assert_ne!(m, two.message("a.b.M").unwrap());
    assert_eq!(m.name(), "M");
    assert_eq!(format!("{m:?}"), "MessageDescriptor(a.b.M)");
    assert_eq!(one.symbol("a"), Some(Symbol::Package));
    assert_eq!(one.symbol("a.b"), Some(Symbol::Package));
    assert_eq!(one.symbol("a.b.M.o"), Some(Symbol::Oneof(m.id(), 0)));
    assert_eq!(one.symbol("a.b.M.e"), Some(Symbol::Field(m.id(), 0)));
    assert!(matches!(one.symbol("a.b.M.Z"), Some(Symbol::EnumValue(_, 0))));
    assert!(one.message(".a.b.M").is_none());
    assert!(one.message("a.b").is_none());
    assert!(one.enum_("a.b.M.E").is_some_and(|e| e.parent() == Some(m.clone()) && e.name() == "E"));
    assert!(one.enum_("a.b.M").is_none());
    assert_eq!(m.oneof("o").unwrap().fields().next().unwrap().oneof(), m.oneof("o"));
    fn portable<T: Send + Sync + 'static>(_: &T) {}
    portable(&m);
    portable(&one);
    assert_eq!(Schema::from(one.shared().clone()), one);
}

#[test]
fn raw_bytes() {
    let set = compile(&[(
        "o.proto",
        "syntax = \"proto2\"; option java_package = \"x\";
         message M { option deprecated = true; optional int32 f = 1 [deprecated = true]; optional int32 g = 2; }
         enum E { option deprecated = true; A = 0 [deprecated = true]; }
         service S { option deprecated = true; rpc R(M) returns (M) { option deprecated = true; } }",
    )]);
    let schema = Schema::from_descriptor_set(set).unwrap();
    let file = schema.root_file().unwrap();
    assert_eq!(file.options_bytes(), b"\x0a\x01x");
    let m = schema.message("M").unwrap();
    assert_eq!(m.options_bytes(), b"\x18\x01");
    assert_eq!(m.field("f").unwrap().options_bytes(), b"\x18\x01");
    assert_eq!(m.field("g").unwrap().options_bytes(), b"");
    assert_eq!(&m.descriptor_bytes()[..3], b"\x0a\x01M");
    assert_eq!(&m.field("g").unwrap().descriptor_bytes()[..3], b"\x0a\x01g");
    let e = schema.enum_("E").unwrap();
    assert_eq!(e.options_bytes(), b"\x18\x01");
    assert_eq!(e.default_value().options_bytes(), b"\x08\x01");
    let s = schema.service("S").unwrap();
    assert_eq!(s.options_bytes(), b"\x88\x02\x01");
    let r = s.method("R").unwrap();
    assert_eq!(r.options_bytes(), b"\x88\x02\x01");
    assert_eq!(r.grpc_path(), "/S/R");
    assert!(file.descriptor_bytes().starts_with(b"\x0a\x07o.proto"));
}

/// Relative names: the first part is found from the innermost scope outwards.
#[test]
fn relative_names() {
    let typed = |name: &str, number, type_name: &str| field(name, number, MESSAGE).bytes(6, type_name);
    let a = message("A")
        .bytes(2, typed("inner", 1, "B"))
        .bytes(2, typed("outer", 2, "Other"))
        .bytes(2, typed("dotted", 3, "B.C"))
        .bytes(2, typed("package", 4, "p.A"))
        // A field named like a type does not hide it.
        .bytes(2, typed("X", 5, "X"))
        .bytes(2, raw().bytes(1, "untyped").int(3, 6).bytes(6, "E"))
        .bytes(3, message("B").bytes(3, message("C")));
    let schema = link(&[file("a.proto")
        .bytes(4, a)
        .bytes(4, message("B"))
        .bytes(4, message("Other"))
        .bytes(4, message("X"))
        .bytes(5, enum_("E", &[("Z", 0)]))])
    .unwrap();
    let a = schema.message("p.A").unwrap();
    let target = |name| match a.field(name).unwrap().kind() {
        Kind::Message(m) => m.full_name().to_owned(),
        Kind::Enum(e) => e.full_name().to_owned(),
        kind => format!("{kind:?}"),
    };
    assert_eq!(target("inner"), "p.A.B");
    assert_eq!(target("outer"), "p.Other");
    assert_eq!(target("dotted"), "p.A.B.C");
    assert_eq!(target("package"), "p.A");
    assert_eq!(target("X"), "p.X");
    assert_eq!(target("untyped"), "p.E");
    // `B` is found inside `A`, and has no `D`, though the outer one does.
    let hidden = message("A").bytes(2, typed("f", 1, "B.D")).bytes(3, message("B"));
    let (text, _) = refuse(&[file("a.proto").bytes(4, hidden).bytes(4, message("B").bytes(3, message("D")))]);
    assert_eq!(text, "a.proto: p.A.f: \"B.D\" is not defined");
}

#[test]
fn any_order_and_twins() {
    let a = || file("a.proto").bytes(3, "b.proto").int(10, 0);
    let b = || file("b.proto").bytes(4, message("B"));
    let schema = link(&[a(), b(), a()]).unwrap();
    assert_eq!(schema.files().count(), 2);
    assert_eq!(schema.root_file().unwrap().name(), "a.proto");
    let imports: Vec<_> = schema.root_file().unwrap().public_dependencies().map(|f| f.name().to_owned()).collect();
    assert_eq!(imports, ["b.proto"]);
}

#[test]
fn missing_weak_imports() {
    let user = |strong: bool| {
        let file = file("a.proto").bytes(3, "gone.proto").bytes(15, "options.proto").bytes(3, "b.proto").int(10, 1);
        let file = if strong { file } else { file.int(11, 0) };
        file.bytes(
            4,
            message("M")
                .bytes(2, field("f", 1, MESSAGE).bytes(6, ".gone.T"))
                .bytes(2, repeated("g", 2, MESSAGE).bytes(6, ".gone.T"))
                .bytes(2, field("e", 3, ENUM).bytes(6, ".gone.E").bytes(7, "SOME")),
        )
    };
    let b = || file("b.proto");
    let schema = link(&[b(), user(false)]).unwrap();
    let m = schema.message("p.M").unwrap();
    let t = m.field("f").unwrap().message().unwrap();
    assert!(t.is_placeholder());
    assert_eq!((t.full_name(), t.name()), ("gone.T", "T"));
    assert_eq!(t.fields().count(), 0);
    assert_eq!(m.field("g").unwrap().message().unwrap(), t);
    assert!(t.index_path().is_empty());
    let e = m.field("e").unwrap().enum_().unwrap();
    assert!(e.is_placeholder() && !e.is_closed());
    // They are nobody's declaration.
    assert!(schema.message("gone.T").is_none());
    assert_eq!(schema.messages().count(), 1);
    let root = schema.root_file().unwrap();
    assert_eq!(root.dependencies().count(), 1);
    assert_eq!(root.public_dependencies().next().unwrap().name(), "b.proto");
    assert!(matches!(refuse(&[b(), user(true)]).1, SchemaErrorKind::MissingImport { .. }));
    // Only who has the weak import gets the placeholder.
    let other = file("c.proto").bytes(4, message("N").bytes(2, field("f", 1, MESSAGE).bytes(6, ".gone.T")));
    assert!(matches!(refuse(&[b(), user(false), other]).1, SchemaErrorKind::Unresolved { .. }));
}

#[test]
fn well_known() {
    let imports: String = ["any", "timestamp", "duration", "field_mask", "struct", "empty", "wrappers"]
        .iter()
        .map(|name| format!("import \"google/protobuf/{name}.proto\";"))
        .collect();
    let schema = schema_of(&format!("syntax = \"proto3\"; {imports} message M {{}}"));
    let mark = |name: &str| schema.message(&format!("google.protobuf.{name}")).unwrap().well_known();
    for (name, expected) in [
        ("Any", WellKnown::Any),
        ("Timestamp", WellKnown::Timestamp),
        ("Duration", WellKnown::Duration),
        ("FieldMask", WellKnown::FieldMask),
        ("Struct", WellKnown::Struct),
        ("Value", WellKnown::Value),
        ("ListValue", WellKnown::ListValue),
        ("Empty", WellKnown::Empty),
    ] {
        assert_eq!(mark(name), Some(expected), "{name}");
    }
    for name in ["Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes"] {
        assert_eq!(mark(&format!("{name}Value")), Some(WellKnown::Wrapper));
    }
    assert_eq!(mark("Struct.FieldsEntry"), None);
    assert_eq!(schema.message("M").unwrap().well_known(), None);
}

/// A famous name with other fields is an ordinary message.
#[test]
fn impostors() {
    let google = || raw().bytes(1, "g.proto").bytes(2, "google.protobuf").bytes(12, "proto3");
    let seconds = |kind| field("seconds", 1, kind);
    for fields in [
        vec![],
        vec![seconds(INT32), field("nanos", 2, INT32)],
        vec![repeated("seconds", 1, 3), field("nanos", 2, INT32)],
        vec![seconds(3), field("nanos", 3, INT32)],
        vec![seconds(3), field("nanos", 2, INT32), field("zone", 3, INT32)],
    ] {
        let def = fields.iter().fold(message("Timestamp"), |message, field| message.bytes(2, field));
        let schema = link(&[google().bytes(4, def)]).unwrap();
        assert_eq!(schema.message("google.protobuf.Timestamp").unwrap().well_known(), None);
    }
    // ListValue is right, but Value is not, so neither counts.
    let list = message("ListValue").bytes(2, repeated("values", 1, MESSAGE).bytes(6, "Value"));
    let schema = link(&[google().bytes(4, list).bytes(4, message("Value")).bytes(4, message("Struct"))]).unwrap();
    assert_eq!(schema.message("google.protobuf.ListValue").unwrap().well_known(), None);
}

#[test]
fn json_names_may_collide() {
    let schema = link(&[proto3("a.proto")
        .bytes(4, message("M").bytes(2, field("fooBar", 1, INT32)).bytes(2, field("foo_bar", 2, INT32)))])
    .unwrap();
    let found = schema.message("p.M").unwrap().field_by_json_name("fooBar").unwrap();
    assert_eq!(found.name(), "fooBar");
}

#[test]
fn closed_enums_in_proto3() {
    let closed = raw().bytes(1, "e.proto").bytes(5, enum_("E", &[("ZERO", 0), ("ONE", 1)]));
    let user = proto3("a.proto").bytes(4, message("M").bytes(2, field("f", 1, ENUM).bytes(6, ".E")));
    let schema = link(&[closed, user]).unwrap();
    assert!(schema.message("p.M").unwrap().field("f").unwrap().enum_().unwrap().is_closed());
}
