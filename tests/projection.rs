//! A projection reads what a full decode reads, whatever the bytes; both engines agree on it; and what is kept of the
//! rest makes the whole message again.

#![cfg(feature = "jit")]

use protojit::{Arena, DecodeErrorKind, MessageRef, MessageType, Rest};
use protojit_core::message::ValueRef;
use protojit_core::schema::model::{FieldKey, MessageId, SchemaData};
use protojit_testing::dump::dump;
use protojit_testing::mutate::mutate;
use protojit_testing::pair::{Checker, Pair};
use protojit_testing::rng::Rng;
use protojit_testing::schema_gen::{Dialect, random_set};
use protojit_testing::schemas;
use protojit_testing::wire_gen::{Style, WireGen};

/// Asserts that all that `part` has is what `whole` has, recursively.
fn assert_part(whole: MessageRef<'_>, part: MessageRef<'_>, context: &str) {
    for slot in &part.layout().fields {
        let own = whole.layout().slot(slot.number).expect("a field of the whole message");
        match (whole.get_set(own), part.get_set(slot)) {
            (None, None) => {}
            (Some(whole), Some(part)) => assert_value(whole, part, context),
            (whole, part) => panic!("{context}: field {}: {whole:?} and {part:?}", slot.number),
        }
    }
}

fn assert_value(whole: ValueRef<'_>, part: ValueRef<'_>, context: &str) {
    match (whole, part) {
        (ValueRef::Message(whole), ValueRef::Message(part)) => assert_part(whole, part, context),
        (ValueRef::List(whole), ValueRef::List(part)) => {
            assert_eq!(whole.len(), part.len(), "{context}");
            whole.iter().zip(part).for_each(|(whole, part)| assert_value(whole, part, context));
        }
        (ValueRef::Map(whole), ValueRef::Map(part)) => {
            assert_eq!(whole.len(), part.len(), "{context}");
            for ((key, whole), (same, part)) in whole.into_iter().zip(part) {
                assert_eq!(key, same, "{context}");
                assert_value(whole, part, context);
            }
        }
        (ValueRef::F32(whole), ValueRef::F32(part)) => assert_eq!(whole.to_bits(), part.to_bits(), "{context}"),
        (ValueRef::F64(whole), ValueRef::F64(part)) => assert_eq!(whole.to_bits(), part.to_bits(), "{context}"),
        (whole, part) => assert_eq!(whole, part, "{context}"),
    }
}

/// Random paths from a message down.
fn random_paths(data: &SchemaData, message: MessageId, rng: &mut Rng) -> Vec<String> {
    let mut paths = Vec::new();
    for _ in 0..rng.below(5) {
        let (mut message, mut path) = (message, String::new());
        loop {
            let fields = data.fields_of(message);
            if fields.is_empty() {
                break;
            }
            let (key, field) = fields[rng.below(fields.len())];
            if !path.is_empty() {
                path.push('.');
            }
            match (key, rng.below(3)) {
                (FieldKey::Extension(id), 0) => path.push_str(&format!("[{}]", data.extensions[id.index()].full_name)),
                (FieldKey::Field(..), 0) => path.push_str(&field.name),
                (FieldKey::Field(..), 1) => path.push_str(&field.json_name),
                _ => path.push_str(&field.number.to_string()),
            }
            let next = match field.kind {
                protojit_core::schema::model::FieldKind::Message(id) if field.is_map => {
                    match data.message(id).fields[1].kind {
                        protojit_core::schema::model::FieldKind::Message(value) => value,
                        _ => break,
                    }
                }
                protojit_core::schema::model::FieldKind::Message(id) => id,
                _ => break,
            };
            if rng.chance(30) {
                break;
            }
            message = next;
        }
        if !path.is_empty() {
            paths.push(path);
        }
    }
    paths
}

fn check_pair(pair: &Pair, checker: &mut Checker, rng: &mut Rng, cases: usize) {
    let data = pair.interp.descriptors().data();
    for (id, name) in pair.messages() {
        let whole = pair.types(&name);
        let mut wire = WireGen::new(data, rng.fork());
        for _ in 0..3 {
            let paths = random_paths(data, id, rng);
            let context = format!("{}, {name}, {paths:?}", pair.name);
            let project = |ty: MessageType, rest| ty.bind(&ty.project_with(&paths, rest).unwrap()).unwrap();
            let [dropping, keeping] = [Rest::Drop, Rest::Keep].map(|rest| {
                let types = pair.types(&name).map(|ty| project(ty, rest));
                protojit_testing::pair::Types { context: format!("{context}, {rest:?}"), ..types }
            });
            let mut last = Vec::new();
            for _ in 0..cases {
                let style = *rng.pick(&[Style::PLAIN, Style::ODD, Style::MIXED]);
                let mut bytes = wire.message(id, style, *rng.pick(&[10, 40, 200]));
                if rng.chance(30) {
                    let mutated = mutate(rng, &bytes, &last);
                    last = std::mem::replace(&mut bytes, mutated);
                }
                checker.check(&dropping, &bytes);
                checker.check(&keeping, &bytes);
                against_whole(&whole.interp, &dropping.interp, &keeping.interp, &bytes, &context);
            }
        }
    }
}

fn against_whole(whole: &MessageType, dropping: &MessageType, keeping: &MessageType, bytes: &[u8], context: &str) {
    let arena = Arena::new();
    let context = format!("{context}: {bytes:02x?}");
    let Ok(message) = whole.decode(bytes, &arena) else { return };
    let part = dropping.decode(bytes, &arena).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_part(message, part, &context);
    assert!(part.unknown_fields().is_empty());
    let part = keeping.decode(bytes, &arena).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_part(message, part, &context);
    let passed_on = keeping.encode_to_vec(part).unwrap_or_else(|error| panic!("{context}: {error}"));
    let again = whole.decode(&passed_on, &arena).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_eq!(dump(again), dump(message), "{context}");
}

#[test]
fn a_projection_is_a_part_of_the_whole() {
    let mut checker = Checker::new();
    let mut rng = Rng::new(0x9001);
    for name in schemas::ALL {
        let pair = Pair::new(name, &schemas::descriptor_set(name));
        check_pair(&pair, &mut checker, &mut rng, 8);
    }
    for (at, dialect) in [Dialect::Proto2, Dialect::Proto3, Dialect::Edition].into_iter().cycle().take(24).enumerate() {
        let pair = Pair::new(format!("random {at}"), &random_set(&mut rng, dialect));
        check_pair(&pair, &mut checker, &mut rng, 8);
    }
    assert!(checker.cases > 3_000, "{} cases", checker.cases);
}

fn person(engine: protojit::Engine) -> MessageType {
    let runtime = protojit::Runtime::builder().engine(engine).build();
    runtime.register(&schemas::descriptor_set("hello.proto")).unwrap().message("hello.Person").unwrap()
}

#[test]
fn equal_projections_are_one_shape_and_one_type() {
    let person = person(protojit::Engine::Auto);
    let a = person.project(["address.zip", "name"]).unwrap();
    let b = person.project(["1", "address.zip", "name"]).unwrap();
    assert_eq!(a.id, b.id);
    assert_ne!(a.id, person.project_with(["name", "address.zip"], Rest::Keep).unwrap().id);
    // All fields of a message are still a projection: new fields of the same message stay out of it.
    assert_ne!(person.project(["address"]).unwrap().id, a.id);
    assert!(person.project::<&str>([]).unwrap().fields.is_empty());
}

#[test]
fn what_cannot_be_projected_says_why() {
    let person = person(protojit::Engine::Auto);
    let error = |path: &str| person.project(["name", path]).unwrap_err().to_string();
    assert_eq!(error("address.zap"), "hello.Address has no field \"zap\" (in the path \"address.zap\")");
    assert_eq!(error(""), "hello.Person has no field \"\" (in the path \"\")");
    assert_eq!(error("name.first"), "\"name\" is no message: the path \"name.first\" cannot go through it");
    assert_eq!(error("99"), "hello.Person has no field \"99\" (in the path \"99\")");
    let long = vec!["friends"; 102].join(".");
    assert!(error(&long).ends_with("is too long"));
}

#[test]
fn what_is_skipped_is_framed() {
    for engine in [protojit::Engine::Auto, protojit::Engine::Interp] {
        let person = person(engine);
        let ty = person.bind(&person.project(["age"]).unwrap()).unwrap();
        let arena = Arena::new();
        // A name that is not UTF-8 and an address that is no message are not looked into.
        let message = ty.decode(b"\x0a\x01\xff\x10\x07\x2a\x01\xff", &arena).unwrap();
        assert_eq!(message.get(ty.shape().i32("age").unwrap()), 7);
        for (bytes, kind, offset) in [
            (&b"\x10\x07\x0a\x05abc"[..], DecodeErrorKind::LengthOutOfBounds, 3),
            (b"\x10\x07\x48", DecodeErrorKind::Truncated, 3),
            (b"\x49\x01\x02\x03", DecodeErrorKind::Truncated, 1),
            (b"\x10\x07\x0e\x00", DecodeErrorKind::InvalidTag, 2),
            (b"\x10\x07\x0c", DecodeErrorKind::UnmatchedEndGroup, 2),
            (b"\x10\x07\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", DecodeErrorKind::MalformedVarint, 3),
        ] {
            // Also where the end of the input is far away.
            for padding in [0, 700] {
                let mut long = b"\x0a\x00".repeat(padding / 2);
                long.extend_from_slice(bytes);
                let error = ty.decode(&long, &arena).unwrap_err();
                assert_eq!((error.kind(), error.offset()), (kind, padding + offset), "{bytes:02x?}");
            }
        }
    }
}

#[test]
fn a_sibling_that_is_left_out_still_clears() {
    let source = "syntax = \"proto3\"; message M { oneof o { string a = 1; int32 b = 2; N n = 3; } int32 rest = 4; }
                  message N { string x = 1; int32 y = 2; }";
    let set = schemas::descriptor_set_of(source);
    for engine in [protojit::Engine::Auto, protojit::Engine::Interp] {
        let whole = protojit::Runtime::builder().engine(engine).build().register(&set).unwrap().message("M").unwrap();
        for rest in [Rest::Drop, Rest::Keep] {
            let ty = whole.bind(&whole.project_with(["a"], rest).unwrap()).unwrap();
            let a = ty.shape().opt_str("a").unwrap();
            let arena = Arena::new();
            let (with_b, with_n) = (b"\x0a\x01x\x10\x05\x20\x09", b"\x0a\x01x\x1a\x03\x0a\x01z\x20\x09");
            for bytes in [&with_b[..], with_n] {
                let message = ty.decode(bytes, &arena).unwrap();
                assert!(message.get(a).is_none());
                if rest == Rest::Keep {
                    assert_eq!(ty.encode_to_vec(message).unwrap(), bytes[3..]);
                }
            }
            let n = ty.decode(with_n, &arena).unwrap().get_by_name("n").unwrap();
            assert_eq!(n.as_message().unwrap().set_fields().count(), 0, "only that it is there is known of it");
        }
    }
}
