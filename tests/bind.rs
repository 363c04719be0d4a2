//! Binding another version's message to a reader's shape: what goes together does for every record, what does not is
//! an error before the first; handles are made once.

use protojit::{Arena, DecodeOptions, Engine, MessageType, Rest, Runtime};
use protojit_testing::schemas::descriptor_set_of;

const ENGINES: [Engine; 2] = [Engine::Auto, Engine::Interp];

/// `message M` of a proto3 file with this text.
fn message(runtime: &Runtime, text: &str) -> MessageType {
    syntax(runtime, "proto3", text)
}

fn syntax(runtime: &Runtime, syntax: &str, text: &str) -> MessageType {
    let set = descriptor_set_of(&format!("syntax = \"{syntax}\"; {text}"));
    runtime.register(&set).unwrap().message("M").unwrap()
}

const READER: &str = "
    message M {
        string name = 1; int64 count = 2; repeated string tags = 3; Inner inner = 4; map<int64, Inner> by_id = 5;
        oneof choice { int32 number = 6; string text = 7; }
        Color color = 8; optional uint64 size = 9; bytes raw = 10; repeated Inner list = 11; sint64 delta = 12;
    }
    message Inner { int64 x = 1; string label = 2; }
    enum Color { RED = 0; GREEN = 1; }";

/// The same message as other versions have it: renamed, widened since, added to, reordered, moved in and out of oneofs.
const WRITERS: [&str; 4] = [
    READER,
    "message M {
        sint32 delta = 12; repeated In list = 11; M2 raw = 10; bool size = 9; Farbe farbe = 8; string worte = 7; int32 zahl = 6;
        map<int32, In> by_id = 5; In inner = 4; string tags = 3; int32 count = 2; string title = 1;
    }
    message In { int32 x = 1; }
    message M2 { string s = 1; }
    enum Farbe { ROT = 0; GRUEN = 1; BLAU = 2; }",
    "message M {
        string before = 100; string name = 1; uint32 count = 2; repeated string tags = 3;
        oneof moved { Inner inner = 4; uint32 size = 9; bytes raw = 10; } map<int32, Inner> by_id = 5;
        optional int32 number = 6; optional string text = 7; int32 color = 8;
        repeated Inner list = 11; sint64 delta = 12; repeated Inner more = 13;
    }
    message Inner { string label = 2; repeated int32 others = 3; int64 x = 1; }",
    "message M { string name = 1; }",
];

#[test]
fn versions_that_go_together() {
    for engine in ENGINES {
        let runtime = Runtime::builder().engine(engine).build();
        let reader = message(&runtime, READER);
        let shape = reader.shape();
        let (name, count, tags) =
            (shape.str("name").unwrap(), shape.i64("count").unwrap(), shape.list_str("tags").unwrap());
        let (x, size, color) =
            (shape.i64("inner.x").unwrap(), shape.opt_u64("size").unwrap(), shape.enum_("color").unwrap());
        let (raw, delta) = (shape.bytes("raw").unwrap(), shape.i64("delta").unwrap());
        let by_id = shape.map::<i64, protojit_core::message::Msg>("by_id").unwrap();
        let (number, text) = (shape.opt_i32("number").unwrap(), shape.opt_str("text").unwrap());
        let list = shape.list_message("list").unwrap();
        for (at, writer) in WRITERS.into_iter().enumerate() {
            let writer = message(&runtime, writer);
            let bound = writer.bind(shape).unwrap_or_else(|error| panic!("version {at}: {error}"));
            if engine == Engine::Auto && cfg!(feature = "jit") {
                bound.is_compiled().unwrap();
            }
            assert_eq!(bound.shape().id, shape.id);
            let json = match at {
                0 => {
                    r#"{"name":"n","count":"-2","tags":["a","b"],"inner":{"x":"-5"},"byId":{"7":{"x":"8"}},"text":"t",
                       "color":1,"size":"1","raw":"CgFz","list":[{"x":"1"},{}],"delta":"-9"}"#
                }
                1 => {
                    r#"{"title":"n","count":-2,"tags":"a","inner":{"x":-5},"byId":{"7":{"x":8}},"worte":"t","farbe":1,
                       "size":true,"raw":{"s":"s"},"list":[{"x":1},{}],"delta":-9}"#
                }
                2 => {
                    r#"{"before":"b","name":"n","count":4294967294,"tags":["a","b"],"inner":{"x":-5,"others":[1]},
                        "byId":{"7":{"x":8}},"text":"t","color":1,"list":[{"x":1},{}],"delta":-9,"more":[{}]}"#
                }
                _ => r#"{"name":"n"}"#,
            };
            let mut record = writer.new_message();
            let options = protojit::json::JsonReadOptions::default();
            protojit::json::read(json.as_bytes(), &mut record.as_mut(), &options, writer.schema()).unwrap();
            let bytes = writer.encode_to_vec(record.as_ref()).unwrap();

            let arena = Arena::new();
            let m = bound.decode(&bytes, &arena).unwrap();
            assert_eq!(m.get(name), "n");
            if at == 3 {
                assert_eq!((m.get(count), m.get(tags).len(), m.get(x), m.get(size)), (0, 0, 0, None));
                assert_eq!(m.set_fields().count(), 1);
                continue;
            }
            assert_eq!(m.get(count), if at == 2 { 4_294_967_294 } else { -2 });
            assert_eq!(m.get(tags).len(), if at == 1 { 1 } else { 2 });
            assert_eq!((m.get(x), m.get(color), m.get(delta)), (-5, 1, -9));
            assert_eq!((m.get(number), m.get(text).unwrap().to_str().unwrap()), (None, "t"));
            assert_eq!(m.get(size), if at == 2 { None } else { Some(1) });
            if at != 2 {
                assert_eq!(m.get(raw), b"\x0a\x01s");
            }
            let value = m.get(by_id).get(7i64).unwrap();
            assert_eq!(value.get_by_number(1).unwrap().as_i64(), Some(8));
            assert_eq!(m.get(list).len(), 2);
            // What only the writer has is kept, and written again.
            let again = bound.encode_to_vec(m).unwrap();
            let m2 = reader.decode(&again, &arena).unwrap();
            assert_eq!(m2.get(count), m.get(count));
            assert_eq!(m.unknown_fields().iter().count(), if at == 2 { 2 } else { 0 });
        }
    }
}

#[test]
fn oneofs_follow_the_reader() {
    for engine in ENGINES {
        let runtime = Runtime::builder().engine(engine).build();
        let apart = message(&runtime, "message M { int32 a = 1; int32 b = 2; }");
        let together = message(&runtime, "message M { oneof o { int32 a = 1; int32 b = 2; } }");
        let arena = Arena::new();
        let both = b"\x08\x01\x10\x02";
        let m = apart.bind(together.shape()).unwrap().decode(both, &arena).unwrap();
        assert_eq!(m.which_oneof(0).map(|slot| slot.number), Some(2));
        assert_eq!(m.get(together.shape().opt_i32("a").unwrap()), None);
        let m = together.bind(apart.shape()).unwrap().decode(both, &arena).unwrap();
        assert_eq!((m.get(apart.shape().i32("a").unwrap()), m.get(apart.shape().i32("b").unwrap())), (1, 2));
    }
}

#[test]
fn enums_that_grew() {
    for engine in ENGINES {
        let runtime = Runtime::builder().engine(engine).build();
        let old = "enum E { A = 0; B = 1; } message M { optional E e = 1; repeated E list = 2; }";
        let new = "enum E { A = 0; B = 1; C = 2; } message M { optional E e = 1; repeated E list = 2; }";
        let (closed, grown) = (syntax(&runtime, "proto2", old), syntax(&runtime, "proto2", new));
        let e = closed.shape().opt_enum("e").unwrap();
        let list = closed.shape().list_enum("list").unwrap();
        let arena = Arena::new();
        let bound = grown.bind(closed.shape()).unwrap();
        let m = bound.decode(b"\x08\x02\x10\x01\x10\x02\x10\x00", &arena).unwrap();
        // A number that the reader does not know never fails the record, and is not lost.
        assert_eq!((m.get(e), m.get(list)), (None, &[1, 0][..]));
        assert_eq!(bound.encode_to_vec(m).unwrap(), b"\x10\x01\x10\x00\x08\x02\x10\x02");
        let open = syntax(&runtime, "proto3", &old.replace("optional", ""));
        let m = grown.bind(open.shape()).unwrap().decode(b"\x08\x02", &arena).unwrap();
        assert_eq!(m.get(open.shape().enum_("e").unwrap()), 2);
    }
}

#[test]
fn packed_lists_and_groups_are_read_as_they_were_written() {
    for engine in ENGINES {
        let runtime = Runtime::builder().engine(engine).build();
        let plain = syntax(
            &runtime,
            "proto2",
            "message M { repeated int32 n = 1; optional G g = 2; } message G { optional int32 x = 1; }",
        );
        let other = syntax(
            &runtime,
            "proto2",
            "message M { repeated int32 n = 1 [packed = true]; optional group G = 2 { optional int32 x = 1; } }",
        );
        let arena = Arena::new();
        let (n, x) = (plain.shape().list_i32("n").unwrap(), plain.shape().i32("g.x").unwrap());
        let bound = other.bind(plain.shape()).unwrap();
        let m = bound.decode(b"\x0a\x03\x01\x02\x03\x13\x08\x07\x14", &arena).unwrap();
        assert_eq!((m.get(n), m.get(x)), (&[1, 2, 3][..], 7));
        // Encoded as the reader's schema writes.
        assert_eq!(bound.encode_to_vec(m).unwrap(), b"\x08\x01\x08\x02\x08\x03\x12\x02\x08\x07");
        // A length-prefixed message is no group, hence unknown to this writer.
        let m = bound.decode(b"\x12\x02\x08\x07", &arena).unwrap();
        assert_eq!((m.get(x), m.unknown_fields().byte_len()), (0, 4));
    }
}

#[test]
fn every_mismatch_is_told_at_once_and_by_path() {
    let runtime = Runtime::builder().engine(Engine::Interp).build();
    let reader = message(
        &runtime,
        "message M { int32 a = 1; string b = 2; N n = 3; repeated N list = 4; map<string, int32> map = 5; int32 one = 6;
            uint32 u = 7; double d = 8; sint32 z = 9; N m = 10; }
         message N { fixed32 f = 1; N again = 2; }",
    );
    let writer = message(
        &runtime,
        "message M { int64 a = 1; bytes b = 2; N n = 3; repeated N list = 4; map<int32, int32> map = 5;
            repeated int32 one = 6; int32 u = 7; float d = 8; int32 z = 9; string m = 10; }
         message N { sfixed32 f = 1; N again = 2; }",
    );
    let error = writer.bind(reader.shape()).unwrap_err();
    let mut told: Vec<String> = error.mismatches().iter().map(ToString::to_string).collect();
    told.sort();
    assert_eq!(
        told,
        [
            "M.a (number 1) is int64, which cannot be read as int32",
            "M.b (number 2) is bytes, which cannot be read as string",
            "M.d (number 8) is float, which cannot be read as double",
            "M.m (number 10) is string, which cannot be read as N",
            "M.map (number 5) is map<int32, int32>, which cannot be read as map<string, int32>",
            "M.n.f (number 1) is sfixed32, which cannot be read as fixed32",
            "M.one (number 6) is repeated int32, which cannot be read as int32",
            "M.u (number 7) is int32, which cannot be read as uint32",
            "M.z (number 9) is int32, which cannot be read as sint32",
        ]
    );
    // What a projection leaves out need not fit.
    writer.bind(&reader.project(["n.again", "list.again"]).unwrap()).unwrap_err();
    writer.bind(&reader.project::<&str>([]).unwrap()).unwrap();
    assert!(error.to_string().starts_with("M does not fit the reader's shape: M."));
}

#[test]
fn a_required_field_must_be_known_to_the_writer() {
    let runtime = Runtime::builder().engine(Engine::Interp).build();
    let reader = syntax(&runtime, "proto2", "message M { required int32 id = 1; optional int32 x = 2; }");
    let writer = message(&runtime, "message M { int32 x = 2; }");
    let error = writer.bind(reader.shape()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "M does not fit the reader's shape: M.id (number 1) is required by the reader and unknown to the writer"
    );
    let partial = DecodeOptions { check_required: false, ..DecodeOptions::default() };
    let bound = writer.with_decode_options(partial).bind(reader.shape()).unwrap();
    assert!(bound.decode(b"\x10\x01", &Arena::new()).is_ok());
    // With the check back on records fail instead; they do not become something else.
    assert!(bound.with_decode_options(DecodeOptions::default()).decode(b"\x10\x01", &Arena::new()).is_err());
}

#[test]
fn a_projection_binds_other_versions_and_outlives_its_schema() {
    let runtime = Runtime::new();
    let shape = {
        let reader = message(&runtime, READER);
        reader.project_with(["name", "inner.x", "by_id.label"], Rest::Keep).unwrap()
    };
    let (name, x) = (shape.str("name").unwrap(), shape.i64("inner.x").unwrap());
    let bound = message(&runtime, WRITERS[1]).bind(&shape).unwrap();
    let bytes = b"\x0a\x01n\x12\x00\x22\x02\x08\x05\x2a\x06\x08\x01\x12\x02\x08\x02\x32\x00";
    let owned = bound.decode_owned(bytes).unwrap();
    assert_eq!((owned.as_ref().get(name).to_str().unwrap(), owned.as_ref().get(x)), ("n", 5));
    drop(bound);
    let encoder = message(&runtime, WRITERS[0]).bind(&shape).unwrap();
    let again = encoder.encode_to_vec(owned.as_ref()).unwrap();
    assert_eq!(again.len(), bytes.len());
}

#[test]
fn a_schema_id_is_bound_by_index_path() {
    let runtime = Runtime::new();
    let set =
        descriptor_set_of("syntax = \"proto3\"; message A { message B { int32 x = 1; } } message C { int64 x = 1; }");
    let schema = runtime.register(&set).unwrap();
    let reader = schema.message_at(&[1]).unwrap();
    let bound = schema.message_at(&[0, 0]).unwrap().bind(reader.shape()).unwrap();
    assert_eq!(bound.full_name(), "A.B");
    let arena = Arena::new();
    assert_eq!(bound.decode(b"\x08\x07", &arena).unwrap().get(reader.shape().i64("x").unwrap()), 7);
    assert!(schema.message_at(&[0, 1]).is_err());
}
