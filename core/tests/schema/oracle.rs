//! prost-reflect links the same sets; where both can, they must agree.

use prost_reflect::{Cardinality, DescriptorPool, Kind as TheirKind, Value};
use protojit_core::schema::{
    FieldDescriptor, Kind, Schema,
    model::{DefaultValue, Presence},
};

use super::compile;

const PROTO2: &str = r#"
syntax = "proto2";
package old;
import public "new.proto";
import "google/protobuf/descriptor.proto";
enum Shade { DARK = 0; LIGHT = 9; }
enum Color { option allow_alias = true; RED = 3; GREEN = 1; CRIMSON = 3; NEG = -5; }
message All {
  optional double d = 1 [default = -1.5e300];
  optional float f = 2 [default = inf];
  optional int64 i64 = 3 [default = -9223372036854775808];
  optional uint64 u64 = 4 [default = 18446744073709551615];
  optional int32 i32 = 5 [default = -0x10];
  optional fixed64 fx64 = 6 [default = 017];
  required fixed32 fx32 = 7;
  optional bool b = 8 [default = true];
  optional string s = 9 [default = "h\"i\n\303\266"];
  optional group Grp = 10 { optional int32 a = 1; repeated group Deep = 2 { optional All up = 1; } }
  optional bytes by = 12 [default = "\000\001\xfe\"\\'x?"];
  optional uint32 u32 = 13 [default = 7];
  optional Color color = 14 [default = CRIMSON];
  optional sfixed32 sf32 = 15;
  optional sfixed64 sf64 = 16 [default = 0];
  optional sint32 s32 = 17;
  optional sint64 s64 = 18 [default = -3];
  repeated int32 plain = 19;
  repeated int32 packed_list = 20 [packed = true];
  repeated Color colors = 21 [packed = true];
  map<string, All> map_of_all = 22;
  map<sint32, Shade> mapOfShades = 23;
  oneof choice { string x_y_z = 24; group Chosen = 25 { } bytes empty = 26 [default = ""]; }
  optional string renamed = 27 [json_name = "@other"];
  optional float nan = 28 [default = nan];
  optional .fresh.Msg fresh = 29;
  reserved 30, 40 to 50;
  reserved "gone";
  extensions 100 to 199, 1000 to max;
  extend All { repeated sint64 inside = 1000 [packed = true]; }
}
message Set { option message_set_wire_format = true; extensions 4 to max; }
message InSet { extend Set { optional InSet in_set = 1234567; } optional int32 a = 1; }
extend All { optional All again = 100; optional group Ext = 101 { optional int32 q = 1; } optional Color hue = 102 [default = GREEN]; }
extend google.protobuf.FieldOptions { optional string note = 50001; }
"#;

const PROTO3: &str = r#"
syntax = "proto3";
package fresh;
import "google/protobuf/any.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
enum State { UNKNOWN = 0; ON = 1; }
message Msg {
  message Address { string street = 1; optional string zip_code = 2; }
  int32 id = 1;
  optional int32 maybe = 2;
  repeated State states = 3;
  repeated State loose = 4 [packed = false];
  repeated double doubles = 5;
  repeated string names = 6;
  map<int64, Address> addresses = 7;
  oneof who { Address person = 8; string firm = 9; }
  google.protobuf.Any any = 10;
  google.protobuf.Struct json = 11;
  repeated google.protobuf.Timestamp times = 12;
  google.protobuf.Int32Value wrapped = 13;
  State state = 14;
  bytes blob = 15;
  optional State maybe_state = 16;
}
service Svc { rpc Get(Msg) returns (Msg.Address); rpc Chat(stream Msg) returns (stream Msg); }
"#;

fn set() -> Vec<u8> {
    compile(&[("new.proto", PROTO3), ("old.proto", PROTO2)])
}

fn their_default(value: &Value) -> Option<DefaultValue> {
    Some(match value {
        Value::Bool(b) => DefaultValue::Bits((*b).into()),
        Value::I32(n) | Value::EnumNumber(n) => DefaultValue::Bits(i64::from(*n) as u64),
        Value::I64(n) => DefaultValue::Bits(*n as u64),
        Value::U32(n) => DefaultValue::Bits((*n).into()),
        Value::U64(n) => DefaultValue::Bits(*n),
        Value::F32(x) => DefaultValue::Bits(x.to_bits().into()),
        Value::F64(x) => DefaultValue::Bits(x.to_bits()),
        Value::String(s) => DefaultValue::Bytes(s.as_bytes().into()),
        Value::Bytes(b) => DefaultValue::Bytes(b[..].into()),
        _ => return None,
    })
}

fn same_kind(ours: &Kind, theirs: &TheirKind) -> bool {
    match (ours, theirs) {
        (Kind::Message(a), TheirKind::Message(b)) => a.full_name() == b.full_name(),
        (Kind::Enum(a), TheirKind::Enum(b)) => a.full_name() == b.full_name(),
        _ => format!("{ours:?}").eq_ignore_ascii_case(&format!("{theirs:?}")),
    }
}

/// What both a field and an extension of theirs can tell.
macro_rules! same_field {
    ($ours:expr, $theirs:expr) => {{
        let (ours, theirs): (&FieldDescriptor, _) = ($ours, $theirs);
        let name = theirs.full_name();
        assert_eq!(ours.full_name(), name);
        assert_eq!(ours.name(), theirs.name());
        assert_eq!(ours.number(), theirs.number(), "{name}");
        assert!(same_kind(&ours.kind(), &theirs.kind()), "{name}");
        assert_eq!(ours.is_packed(), theirs.is_packed(), "{name}");
        assert_eq!(ours.is_list(), theirs.is_list(), "{name}");
        assert_eq!(ours.is_map(), theirs.is_map(), "{name}");
        assert_eq!(ours.is_delimited(), theirs.is_group(), "{name}");
        assert_eq!(ours.is_required(), theirs.cardinality() == Cardinality::Required, "{name}");
        if !matches!(ours.presence(), Presence::Repeated) {
            assert_eq!(ours.has_presence(), theirs.supports_presence(), "{name}");
        }
        let their_default = their_default(&theirs.default_value());
        match ours.default_value() {
            Some(default) => assert_eq!(Some(default), their_default.as_ref(), "{name}"),
            None => {
                let zero = match (&their_default, ours.enum_()) {
                    (Some(DefaultValue::Bits(bits)), Some(def)) => *bits as i32 == def.default_value().number(),
                    (Some(DefaultValue::Bits(bits)), None) => *bits == 0,
                    (Some(DefaultValue::Bytes(bytes)), _) => bytes.is_empty(),
                    (None, _) => true,
                };
                assert!(zero, "{name}: {their_default:?}");
            }
        }
    }};
}

#[test]
fn agrees_with_prost_reflect() {
    let set = set();
    let schema = Schema::from_descriptor_set(set.clone()).unwrap();
    let pool = DescriptorPool::decode(&set[..]).unwrap();

    assert_eq!(schema.messages().count(), pool.all_messages().count());
    for theirs in pool.all_messages() {
        let ours = schema.message(theirs.full_name()).unwrap();
        assert_eq!(ours.name(), theirs.name());
        assert_eq!(ours.file().name(), theirs.parent_file().name());
        assert_eq!(ours.is_map_entry(), theirs.is_map_entry());
        let parent = theirs.parent_message().map(|parent| parent.full_name().to_owned());
        assert_eq!(ours.parent().map(|parent| parent.full_name().to_owned()), parent);
        let at = ours.file().message_at(&ours.index_path()).unwrap();
        assert_eq!(at, ours);
        assert_eq!(ours.fields().count(), theirs.fields().count());
        for field in theirs.fields() {
            let mine = ours.field(field.name()).unwrap();
            same_field!(&mine, &field);
            assert_eq!(mine.json_name(), field.json_name());
            assert_eq!(ours.field_by_number(field.number()).unwrap(), mine);
            assert_eq!(ours.field_by_json_name(field.json_name()).unwrap(), mine);
            let oneof = field.containing_oneof().map(|oneof| oneof.full_name().to_owned());
            assert_eq!(mine.oneof().map(|oneof| oneof.full_name()), oneof);
        }
        for (mine, oneof) in ours.oneofs().zip(theirs.oneofs()) {
            assert_eq!(mine.name(), oneof.name());
            assert_eq!(mine.is_synthetic(), oneof.is_synthetic());
            assert_eq!(mine.fields().count(), oneof.fields().count());
        }
        let mut extensions: Vec<_> = theirs.extensions().map(|x| x.number()).collect();
        extensions.sort();
        assert_eq!(ours.extensions().map(|x| x.number()).collect::<Vec<_>>(), extensions);
    }
    assert_eq!(schema.extensions().count(), pool.all_extensions().count());
    for theirs in pool.all_extensions() {
        let mine = schema.extension(theirs.full_name()).unwrap();
        same_field!(&mine, &theirs);
        assert_eq!(mine.containing_message().full_name(), theirs.containing_message().full_name());
        assert_eq!(mine.file().name(), theirs.parent_file().name());
    }
    for theirs in pool.all_enums() {
        let ours = schema.enum_(theirs.full_name()).unwrap();
        assert_eq!(ours.default_value().number(), theirs.default_value().number());
        assert_eq!(ours.values().count(), theirs.values().count());
        for value in theirs.values() {
            let mine = ours.value(value.name()).unwrap();
            assert_eq!(mine.number(), value.number());
            assert_eq!(mine.full_name(), value.full_name());
            let first = ours.value_by_number(value.number()).unwrap();
            let declared = &theirs.enum_descriptor_proto().value;
            let declared_first = declared.iter().find(|v| v.number() == value.number()).unwrap();
            assert_eq!(first.name(), declared_first.name());
        }
    }
    for theirs in pool.services() {
        let ours = schema.service(theirs.full_name()).unwrap();
        assert_eq!(ours.methods().count(), theirs.methods().count());
        for method in theirs.methods() {
            let mine = ours.method(method.name()).unwrap();
            assert_eq!(mine.full_name(), method.full_name());
            assert_eq!(mine.input().full_name(), method.input().full_name());
            assert_eq!(mine.output().full_name(), method.output().full_name());
            assert_eq!(mine.is_client_streaming(), method.is_client_streaming());
            assert_eq!(mine.is_server_streaming(), method.is_server_streaming());
        }
    }
}

#[test]
fn presets() {
    let schema = Schema::from_descriptor_set(set()).unwrap();
    let old = |name| schema.message("old.All").unwrap().field(name).unwrap();
    let new = |name| schema.message("fresh.Msg").unwrap().field(name).unwrap();
    assert!(!old("s").validates_utf8());
    assert!(new("names").validates_utf8());
    assert!(old("color").enum_().unwrap().is_closed());
    assert!(!new("state").enum_().unwrap().is_closed());
    assert_eq!(new("id").presence(), Presence::Implicit);
    assert_eq!(new("maybe").presence(), Presence::Explicit);
    assert_eq!(old("i32").presence(), Presence::Explicit);
    let key = new("addresses").map_entry().unwrap().0;
    assert_eq!(key.presence(), Presence::Implicit);
    assert!(schema.message("old.Set").unwrap().is_message_set());
    assert_eq!(schema.message("old.Set").unwrap().extensions().next().unwrap().number(), 1_234_567);
}

/// Declared fields and extensions, together and in order.
#[test]
fn fields_of() {
    let schema = Schema::from_descriptor_set(set()).unwrap();
    for message in schema.messages() {
        let data = schema.data();
        let fields = data.fields_of(message.id());
        assert_eq!(fields.len(), message.fields().count() + message.extensions().count());
        assert!(fields.windows(2).all(|pair| pair[0].1.number < pair[1].1.number));
        for (key, field) in fields {
            assert!(std::ptr::eq(data.field(key), field));
            assert_eq!(data.field_by_number(message.id(), field.number), Some(key));
        }
        assert_eq!(data.field_by_number(message.id(), 99), None);
    }
}
