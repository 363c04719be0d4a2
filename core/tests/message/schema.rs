//! The schema under test.

#[cfg(not(miri))]
use std::fmt::Write;
use std::sync::LazyLock;

use protojit_core::memory::Arena;
use protojit_core::message::{MessageMut, Value};
use protojit_core::program::{FieldSlot, Layout, Programs, Shape};
use protojit_core::schema::Schema;

/// All scalar kinds, two values of each that are not its default, and what the schema declares as default.
pub const SCALARS: [(&str, [Value<'static>; 2], &str, Value<'static>); 15] = [
    ("double", [Value::F64(1.5), Value::F64(-1e300)], "-2.25", Value::F64(-2.25)),
    ("float", [Value::F32(1.5), Value::F32(f32::INFINITY)], "inf", Value::F32(f32::INFINITY)),
    ("int64", [Value::I64(-1), Value::I64(i64::MAX)], "-9000000000", Value::I64(-9_000_000_000)),
    ("uint64", [Value::U64(1), Value::U64(u64::MAX)], "18446744073709551615", Value::U64(u64::MAX)),
    ("int32", [Value::I32(-1), Value::I32(i32::MAX)], "-7", Value::I32(-7)),
    ("fixed64", [Value::U64(2), Value::U64(1 << 63)], "64", Value::U64(64)),
    ("fixed32", [Value::U32(2), Value::U32(1 << 31)], "32", Value::U32(32)),
    ("bool", [Value::Bool(true), Value::Bool(true)], "true", Value::Bool(true)),
    ("string", [Value::Str("é"), Value::Str("a longer string than before")], "\"d\u{e9}j\u{e0}\"", Value::Str("déjà")),
    ("bytes", [Value::Bytes(b"\xff"), Value::Bytes(b"\0\0")], "\"\\001\\377\"", Value::Bytes(b"\x01\xff")),
    ("uint32", [Value::U32(1), Value::U32(u32::MAX)], "4294967295", Value::U32(u32::MAX)),
    ("sfixed32", [Value::I32(-2), Value::I32(i32::MIN)], "-32", Value::I32(-32)),
    ("sfixed64", [Value::I64(-2), Value::I64(i64::MIN)], "-64", Value::I64(-64)),
    ("sint32", [Value::I32(3), Value::I32(i32::MIN)], "-3", Value::I32(-3)),
    ("sint64", [Value::I64(3), Value::I64(i64::MIN)], "-4", Value::I64(-4)),
];

/// The proto2 file.
#[cfg(not(miri))]
pub fn proto2() -> String {
    let mut text = String::from("syntax = \"proto2\";\npackage t;\nenum Closed { TWO = 2; ZERO = 0; MINUS = -1; }\n");
    for (name, label) in [("Optional", "optional"), ("Repeated", "repeated"), ("Cases", "")] {
        writeln!(text, "message {name} {{").unwrap();
        if label.is_empty() {
            text.push_str("oneof choice {\n");
        }
        for (at, (kind, ..)) in SCALARS.iter().enumerate() {
            writeln!(text, "{label} {kind} f_{kind} = {};", at + 1).unwrap();
        }
        writeln!(text, "{label} Closed f_enum = 16; {label} {name} f_message = 17;").unwrap();
        if label.is_empty() {
            text.push('}');
        }
        text.push_str("}\n");
    }
    text.push_str("message Defaults {\n");
    for (at, (kind, _, default, _)) in SCALARS.iter().enumerate() {
        writeln!(text, "optional {kind} f_{kind} = {} [default = {default}];", at + 1).unwrap();
    }
    text.push_str("optional Closed f_enum = 16 [default = MINUS];\n}\n");
    text.push_str("message Wide {\n");
    for at in 1..=100 {
        let kind = ["int32", "string", "bool", "Small", "fixed64"][at % 5];
        writeln!(text, "{} {kind} f{at} = {at};", if at % 7 == 0 { "repeated" } else { "optional" }).unwrap();
    }
    text.push_str("extensions 1000 to max;\noneof late { int64 late_number = 200; string late_text = 201; }\n}\n");
    text.push_str("message Small { optional int32 x = 1; }\n");
    text.push_str(
        "extend Wide { optional int32 ext_number = 1000 [default = 9]; repeated string ext_texts = 1001; \
         optional Small ext_small = 1002; repeated sint64 ext_far = 500000000; }\n",
    );
    text.push_str(
        "message Needy { required int32 must = 1; optional Needy next = 2; repeated Needy all = 3; \
         map<string, Needy> by_name = 4; optional Small small = 5; oneof one { Needy either = 6; int32 or = 7; } }\n",
    );
    text
}

/// The proto3 file.
#[cfg(not(miri))]
pub fn proto3() -> String {
    let mut text =
        String::from("syntax = \"proto3\";\npackage t;\nenum Open { NONE = 0; ONE = 1; }\nmessage Implicit {\n");
    for (at, (kind, ..)) in SCALARS.iter().enumerate() {
        writeln!(text, "{kind} f_{kind} = {};", at + 1).unwrap();
    }
    text.push_str("Open f_enum = 16; Implicit f_message = 17;\n}\nmessage Maps {\n");
    for (at, (kind, ..)) in SCALARS.iter().enumerate() {
        if !["double", "float", "bytes"].contains(kind) {
            writeln!(text, "map<{kind}, int32> by_{kind} = {};", at + 1).unwrap();
        }
        writeln!(text, "map<int32, {kind}> to_{kind} = {};", at + 21).unwrap();
    }
    text.push_str("map<string, Open> to_enum = 36; map<string, Maps> to_message = 37;\n}\n");
    text.push_str(
        "message Person { string name = 1; int32 id = 2; optional int32 age = 3; Address address = 4; \
         repeated string emails = 5; repeated int32 scores = 6; map<string, string> labels = 7; \
         oneof contact { string phone = 8; Address office = 9; } Open level = 10; \
         message Address { string street = 1; optional int32 zip = 2; Geo geo = 3; \
         message Geo { double lat = 1; repeated Tag tags = 2; message Tag { bytes key = 1; } } } }\n",
    );
    text
}

static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| Schema::from_descriptor_set(&include_bytes!("../fixtures/message.binpb")[..]).unwrap());

static PROGRAMS: LazyLock<Programs> = LazyLock::new(|| Programs::new(SCHEMA.shared().clone()));

/// The shape of all fields of a message.
pub fn shape(name: &str) -> Shape {
    PROGRAMS.shape(SCHEMA.message(&format!("t.{name}")).unwrap().id())
}

/// A new message in an arena.
pub fn new<'a>(shape: &'a Shape, arena: &'a Arena) -> MessageMut<'a> {
    MessageMut::new(shape, arena).unwrap()
}

pub fn slot<'l>(layout: &'l Layout, name: &str) -> &'l FieldSlot {
    layout.slot_named(name).unwrap_or_else(|| panic!("no field {name}"))
}

/// The fixture is what protox makes of the sources. `BLESS=1` writes it.
#[test]
#[cfg(not(miri))]
fn the_fixture_is_up_to_date() {
    use protox::file::{ChainFileResolver, File, FileResolver};

    struct Sources;
    impl FileResolver for Sources {
        fn open_file(&self, name: &str) -> Result<File, protox::Error> {
            match name {
                "two.proto" => File::from_source(name, &proto2()),
                "three.proto" => File::from_source(name, &proto3()),
                _ => Err(protox::Error::file_not_found(name)),
            }
        }
    }
    let mut resolver = ChainFileResolver::new();
    resolver.add(Sources);
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.include_source_info(false);
    compiler.open_files(["two.proto", "three.proto"]).unwrap_or_else(|error| panic!("{error:?}"));
    let set = compiler.encode_file_descriptor_set();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/message.binpb");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &set).unwrap();
    }
    assert!(set == std::fs::read(path).unwrap(), "run this test with BLESS=1");
}
