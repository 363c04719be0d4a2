//! Compiled code is what runs, and it stays the size it is. Over thousands of decodes and encodes of each construct on its own, of
//! each message of the examples, of the conformance suite and of the tests' schemas, whole and projected, no call is the interpreter's; and blocks, helper
//! call sites and bytes of the code stay near those of `tests/snapshots`. The gate is also seen to fail: with the engine
//! off, in an arena too small, and when one construct alone is made to fall back.
//!
//! `PROTOJIT_UPDATE_SNAPSHOTS=1 cargo test -p protojit --test trace_stability` writes the snapshots anew; look at the
//! difference before it is committed. `PROTOJIT_CONFORMANCE=required` makes missing conformance messages a failure
//! (`conformance/fetch.sh` fetches them).

#![cfg(feature = "jit")]

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use protojit::{
    Arena, Cpu, DecodeOptions, Direction, EncodeBuffer, EncodeOptions, Engine, EngineUsed, MessageType, ProgramTrace,
    Rest, Runtime, RuntimeBuilder, Schema,
};
use protojit_core::schema::model::{FieldDef, FieldKind, MessageId, Presence};
use protojit_core::wire::{WireType, push_varint, tag};
use protojit_interp::decode::{SLACK, SMALL_INPUT};
use protojit_testing::rng::Rng;
use protojit_testing::wire_gen::{Style, WireGen};
use protojit_testing::{constructs, schemas};

/// Calls per payload and direction.
const CALLS: u64 = 400;

/// What each message must have been through, at least.
const LEAST_CALLS: u64 = 2000;

/// Payloads that are files: schema, message, names.
const EXAMPLES: [(&str, &str, &[&str]); 3] = [
    ("hello.proto", "hello.Person", &["person_10", "person_100", "person_1k", "person_10k"]),
    ("proto2_basic.proto", "basic.BenchPayload", &["bench_min", "bench_mid", "bench_unknown"]),
    ("google/protobuf/descriptor.proto", "google.protobuf.FileDescriptorSet", &["descriptor"]),
];

/// A schema that the gate goes through.
struct Subject {
    /// Also the name of its snapshot.
    name: String,
    set: Vec<u8>,
}

impl Subject {
    fn committed(name: &str) -> Subject {
        Subject { name: name.to_owned(), set: schemas::descriptor_set(name) }
    }

    fn constructs() -> Vec<Subject> {
        let sources = constructs::sources().into_iter();
        sources.map(|(name, text)| Subject { name: name.to_owned(), set: schemas::descriptor_set_of(&text) }).collect()
    }

    /// The messages of the official suite, editions included, where they were fetched.
    fn conformance() -> Option<Subject> {
        let tools = std::env::var_os("PROTOJIT_TOOLS").map(PathBuf::from);
        let tools = tools.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/conformance"));
        match std::fs::read(tools.join("test_messages.binpb")) {
            Ok(set) => Some(Subject { name: "conformance".to_owned(), set }),
            Err(error) => {
                let required = std::env::var_os("PROTOJIT_CONFORMANCE").is_some_and(|value| value == "required");
                assert!(!required, "conformance/fetch.sh has not been run: {error}");
                println!("skipped: the conformance messages; conformance/fetch.sh fetches them");
                None
            }
        }
    }

    fn all() -> Vec<Subject> {
        let committed = schemas::ALL.iter().map(|name| Subject::committed(name));
        committed.chain(Subject::constructs()).chain(Subject::conformance()).collect()
    }
}

/// Payloads of a message: each field alone, with lengths of one to three bytes, all together, small and large, and the example's.
fn payloads(name: &str, schema: &Schema, id: MessageId, rng: &mut Rng) -> Vec<Vec<u8>> {
    let data = schema.descriptors().data();
    let mut wire = WireGen::new(data, rng.fork());
    let all: Vec<&FieldDef> = data.fields_of(id).into_iter().map(|(_, field)| field).collect();
    let fields = all.len();
    // Of messages with hundreds of fields some.
    let mut payloads: Vec<Vec<u8>> = (0..fields).step_by(1 + fields / 80).map(|field| wire.single(id, field)).collect();
    payloads.extend((0..8).map(|_| wire.message(id, Style::PLAIN, 60)));
    if let [field] = all[..]
        && !data.message(id).is_message_set
        && matches!(field.kind, FieldKind::String | FieldKind::Bytes)
    {
        payloads.extend([127, 128, 16_383, 16_384].map(|length| {
            let mut out = Vec::new();
            push_varint(tag(field.number, WireType::Len).into(), &mut out);
            push_varint(length as u64, &mut out);
            out.resize(out.len() + length, b'x');
            out
        }));
    }
    let mut large = Vec::new();
    while large.len() <= SMALL_INPUT && fields != 0 {
        large.extend(wire.message(id, Style::PLAIN, 60));
        // A field that no message has: 60,001, sixty bytes.
        large.extend([0x8a, 0xa6, 0x1d, 60]);
        large.extend([7; 60]);
    }
    payloads.push(large);
    let examples = EXAMPLES.iter().filter(|example| example.0 == name && example.1 == &*data.message(id).full_name);
    for file in examples.flat_map(|example| example.2) {
        let file = format!("{}/examples/payloads/{file}.binpb", env!("CARGO_MANIFEST_DIR"));
        payloads.push(std::fs::read(file).unwrap());
    }
    payloads
}

/// What one message went through.
#[derive(Default)]
struct Done {
    decodes: u64,
    encodes: u64,
    /// Bytes that the interpreter may finish: the ends of large inputs that are borrowed, on every level that ends there.
    may_finish: u64,
}

/// Decodes each payload, and encodes it again untouched, over and over.
fn exercise(ty: &MessageType, payloads: &[Vec<u8>]) -> Result<Done, String> {
    let (mut arena, mut buffer, mut done) = (Arena::new(), EncodeBuffer::new(), Done::default());
    let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", ty.full_name());
    let mut left = payloads.len();
    for payload in payloads.iter().cycle() {
        if left == 0 && done.decodes >= LEAST_CALLS {
            break;
        }
        left = left.saturating_sub(1);
        let mut first: Option<Vec<u8>> = None;
        // Large ones are for their variety, not their number.
        let calls = if payload.len() > 4096 { CALLS / 4 } else { CALLS };
        for turn in 0..calls {
            arena.reset();
            let copied = turn % 2 == 0;
            let decoded = match copied {
                true => ty.decode_copied(payload, &arena),
                false => ty.decode(payload, &arena),
            };
            let decoded = decoded.map_err(|error| fail(&error))?;
            done.decodes += 1;
            if !copied && payload.len() > SMALL_INPUT {
                done.may_finish += 50 * SLACK as u64;
            }
            let encoded = ty.encode_into(decoded, &mut buffer).map_err(|error| fail(&error))?;
            done.encodes += 1;
            match &first {
                None => first = Some(encoded.to_vec()),
                Some(first) if first != encoded => return Err(fail(&"encodes differ from turn to turn")),
                Some(_) => {}
            }
        }
    }
    Ok(done)
}

/// Whether the message requires itself, at whatever depth: then none is complete.
fn is_endless(schema: &Schema, id: MessageId) -> bool {
    let data = schema.descriptors().data();
    let (mut seen, mut pending) = (HashSet::new(), vec![id]);
    while let Some(at) = pending.pop() {
        for (_, field) in data.fields_of(at) {
            match field.kind {
                FieldKind::Message(child) if field.presence == Presence::Required && child == id => return true,
                FieldKind::Message(child) if field.presence == Presence::Required && seen.insert(child) => {
                    pending.push(child);
                }
                _ => {}
            }
        }
    }
    false
}

/// Runs a schema for thousands of calls, and gives the first reason to doubt that compiled code served them.
fn gate(builder: RuntimeBuilder, subject: &Subject, only: Option<&str>) -> Result<u64, String> {
    let runtime = builder.build();
    let schema = runtime.register(&subject.set).unwrap();
    let mut rng = Rng::new(21);
    let mut all = 0;
    for message in schema.descriptors().messages() {
        if message.is_map_entry() || only.is_some_and(|only| only != message.full_name()) {
            continue;
        }
        let mut ty = schema.message_type(&message);
        if is_endless(&schema, message.id()) {
            let decode = DecodeOptions { check_required: false, ..DecodeOptions::default() };
            let encode = EncodeOptions { check_required: false, ..EncodeOptions::default() };
            ty = ty.with_decode_options(decode).with_encode_options(encode);
        }
        let payloads = payloads(&subject.name, &schema, message.id(), &mut rng);
        let mut done = exercise(&ty, &payloads)?;
        // Every other field, with the rest skipped and with the rest kept.
        let some = schema.descriptors().data().fields_of(message.id()).into_iter().step_by(2);
        let some: Vec<String> = some.map(|(_, field)| field.number.to_string()).collect();
        // Counts are gone with the type they are of.
        let mut kept = Vec::new();
        for rest in [Rest::Drop, Rest::Keep] {
            let shape = ty.project_with(&some, rest).map_err(|error| error.to_string())?;
            let projected = ty.bind(&shape).map_err(|error| error.to_string())?;
            let more = exercise(&projected, &payloads[payloads.len().saturating_sub(4)..])?;
            done.decodes += more.decodes;
            done.encodes += more.encodes;
            done.may_finish += more.may_finish;
            kept.push(projected);
        }
        if done.decodes < LEAST_CALLS || done.encodes < LEAST_CALLS {
            return Err(format!("{}: {} calls prove too little", message.full_name(), done.decodes));
        }
        let rows = runtime.trace().programs;
        let interpreted =
            |row: &&ProgramTrace| row.engine != EngineUsed::Jit || row.reason.is_some() || row.code_bytes == 0;
        if let Some(row) = rows.iter().find(interpreted) {
            return Err(format!("{} is not compiled: {:?}", row.message, row.reason));
        }
        for (direction, wanted, finish) in
            [(Direction::Decode, done.decodes, done.may_finish), (Direction::Encode, done.encodes, 0)]
        {
            // Of all options: with those that were not run there were no calls.
            let is_it = |row: &&ProgramTrace| row.message == message.full_name() && row.direction == direction;
            let sum = |of: fn(&ProgramTrace) -> u64| rows.iter().filter(is_it).map(of).sum::<u64>();
            let found = (sum(|row| row.compiled_calls), sum(|row| row.interpreted_calls), sum(|row| row.disagreements));
            let finished = sum(|row| row.finished_bytes);
            if found != (wanted, 0, 0) || finished > finish {
                let what = format!("{direction:?} of {}: of {wanted} calls", message.full_name());
                return Err(format!(
                    "{what} {} compiled, {} interpreted, {} disagreements, {finished} bytes finished",
                    found.0, found.1, found.2
                ));
            }
        }
        all += done.decodes + done.encodes;
    }
    Ok(all)
}

fn jit() -> RuntimeBuilder {
    Runtime::builder().engine(Engine::Jit)
}

#[test]
fn every_call_is_served_by_compiled_code() {
    for subject in Subject::all() {
        let calls = gate(jit(), &subject, None).unwrap_or_else(|error| panic!("{}: {error}", subject.name));
        println!("{}: {calls} calls", subject.name);
        assert!(calls > 2 * LEAST_CALLS);
    }
}

#[test]
fn the_gate_fails_where_the_engine_is_off() {
    let off = Runtime::builder().engine(Engine::Interp);
    let error = gate(off, &Subject::committed("hello.proto"), None).unwrap_err();
    assert!(error.contains("engine-off"), "{error}");
}

#[test]
fn the_gate_fails_where_the_code_arena_is_too_small() {
    // For nothing, and for a part.
    let error = gate(jit().code_arena(4096), &Subject::committed("hello.proto"), None).unwrap_err();
    assert!(error.contains("arena"), "{error}");
    let error = gate(jit().code_arena(4 << 16), &Subject::committed("kinds2.proto"), None).unwrap_err();
    assert!(error.contains("arena"), "{error}");
}

#[test]
fn the_gate_fails_where_one_message_falls_back() {
    let wide = Subject::committed("wide.proto");
    let error = gate(jit().max_compiled_fields(499), &wide, None).unwrap_err();
    assert!(error.contains("wide.Wide") && error.contains("message-too-large"), "{error}");
    // Leaves are still compiled; what refers to a message that is not, says so too.
    let hello = Subject::committed("hello.proto");
    let error = gate(jit().max_compiled_fields(4), &hello, Some("hello.Person")).unwrap_err();
    assert!(error.contains("hello.Person") && error.contains("message-too-large"), "{error}");
    assert!(gate(jit().max_compiled_fields(4), &hello, Some("hello.Address")).is_ok());
    // A parent that is compiled, and a child that is not.
    let kinds = Subject::committed("kinds3.proto");
    let error = gate(jit().max_compiled_fields(7), &kinds, Some("kinds3.All")).unwrap_err();
    assert!(error.contains("message-too-large"), "{error}");
}

/// Whether a field is the one construct that is made to fall back.
type Refused = fn(&FieldDef) -> bool;

#[test]
fn the_gate_fails_where_one_construct_falls_back() {
    let [two, three] = <[Subject; 2]>::try_from(Subject::constructs()).ok().unwrap();
    let cases: [(&Subject, Refused, &str, &str); 8] = [
        (&three, |field| field.kind == FieldKind::Sint64 && field.packed, "c3.Repeated_sint64", "c3.Unpacked_sint64"),
        (&three, |field| field.kind == FieldKind::Bool && field.packed, "c3.Repeated_bool", "c3.Singular_bool"),
        (&three, |field| field.is_map, "c3.MapValue_double", "c3.Singular_double"),
        (&two, |field| field.delimited, "c2.Optional_group", "c2.Optional_M"),
        (&two, |field| field.presence == Presence::Required, "c2.Required_string", "c2.Optional_string"),
        (&two, |field| field.oneof.is_some(), "c2.Oneof_bytes", "c2.Optional_bytes"),
        (&two, |field| field.number == 100, "c2.Extended_M", "c2.Repeated_M"),
        (&two, |field| field.number == 2048, "c2.Tag2048_string", "c2.Tag2047_string"),
    ];
    for (subject, refuse, hit, spared) in cases {
        let error = gate(jit().refuse_fields(refuse), subject, Some(hit)).unwrap_err();
        assert!(error.contains(hit) && error.contains("refused"), "{error}");
        gate(jit().refuse_fields(refuse), subject, Some(spared)).unwrap();
        // Among all messages of the schema one is enough, too.
        assert!(gate(jit().refuse_fields(refuse), subject, None).unwrap_err().contains("refused"));
    }
}

/// Blocks, helper call sites and code bytes by message and direction.
type Sizes = BTreeMap<(String, &'static str), [usize; 3]>;

const MEASURES: [&str; 3] = ["blocks", "helper call sites", "code bytes"];

/// What the messages of a schema compile to, for the plainest processor of the architecture: the same everywhere.
fn sizes(subject: &Subject) -> Sizes {
    let runtime = jit().cpu(Cpu::Baseline).build();
    let schema = runtime.register(&subject.set).unwrap();
    let messages = schema.descriptors().messages().filter(|message| !message.is_map_entry());
    let types: Vec<MessageType> = messages.map(|message| schema.message_type(&message)).collect();
    types.iter().for_each(|ty| ty.is_encode_compiled().unwrap());
    let row = |row: ProgramTrace| {
        let way = if row.direction == Direction::Decode { "decode" } else { "encode" };
        ((row.message, way), [row.blocks, row.helper_calls, row.code_bytes])
    };
    runtime.trace().programs.into_iter().map(row).collect()
}

fn written(sizes: &Sizes) -> String {
    let mut out = "# message way blocks helper-call-sites code-bytes\n".to_owned();
    for ((message, way), [blocks, helpers, bytes]) in sizes {
        writeln!(out, "{message} {way} {blocks} {helpers} {bytes}").unwrap();
    }
    out
}

fn read(text: &str) -> Sizes {
    let rows = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let [message, way, numbers @ ..] = &words[..] else { panic!("{line:?}") };
        let numbers: Vec<usize> = numbers.iter().map(|number| number.parse().expect(line)).collect();
        ((message.to_string(), if *way == "decode" { "decode" } else { "encode" }), numbers.try_into().expect(line))
    });
    rows.collect()
}

/// All that grew by three quarters or more (a doubling at the latest), shrank below a half, came or went.
fn differences(before: &Sizes, after: &Sizes) -> Vec<String> {
    let mut out = Vec::new();
    for ((message, way), was) in before {
        let Some(is) = after.get(&(message.clone(), way)) else {
            out.push(format!("{message} {way}: is no longer compiled, or no longer there"));
            continue;
        };
        for (measure, (&was, &is)) in MEASURES.iter().zip(was.iter().zip(is)) {
            if is * 4 > was * 7 || is * 2 < was {
                out.push(format!("{message} {way}: {measure}: {was}, {is}, {:+}", is as i64 - was as i64));
            }
        }
    }
    let new = after.keys().filter(|key| !before.contains_key(key));
    out.extend(new.map(|(message, way)| format!("{message} {way}: is not in the snapshot")));
    out
}

#[test]
fn code_stays_the_size_it_is() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(std::env::consts::ARCH);
    let update = std::env::var_os("PROTOJIT_UPDATE_SNAPSHOTS").is_some_and(|value| value == "1");
    if !directory.is_dir() && !update {
        println!("skipped: there is no snapshot for {}", std::env::consts::ARCH);
        return;
    }
    let mut all = Vec::new();
    for subject in Subject::all() {
        let sizes = sizes(&subject);
        assert_eq!(read(&written(&sizes)), sizes);
        let file = directory.join(format!("{}.txt", subject.name.rsplit('/').next().unwrap()));
        if update {
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(&file, written(&sizes)).unwrap();
        }
        let before = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", subject.name));
        all.extend(differences(&read(&before), &sizes).into_iter().map(|line| format!("{}: {line}", subject.name)));
    }
    assert!(
        all.is_empty(),
        "name: measure: before, after, change\n{}\nIf this is meant: PROTOJIT_UPDATE_SNAPSHOTS=1 cargo test -p protojit --test \
         trace_stability",
        all.join("\n")
    );
}

#[test]
fn a_doubling_is_a_difference() {
    let subject = Subject::committed("hello.proto");
    let before = sizes(&subject);
    assert!(before.len() == 4 && before.values().all(|sizes| sizes[0] > 0 && sizes[2] > 0));
    assert_eq!(differences(&before, &before), Vec::<String>::new());
    for (key, measures) in &before {
        for (at, measure) in MEASURES.iter().enumerate().filter(|(at, _)| measures[*at] > 0) {
            for factor in [2, 3] {
                let mut after = before.clone();
                after.get_mut(key).unwrap()[at] *= factor;
                let found = differences(&before, &after);
                assert!(matches!(&found[..], [one] if one.contains(measure) && one.contains(&key.0)), "{found:?}");
                // A snapshot that says twice what is there would let the code double unnoticed, later.
                assert_eq!(differences(&after, &before).len(), usize::from(factor > 2));
            }
        }
        let mut less = before.clone();
        less.remove(key);
        assert!(differences(&before, &less)[0].contains("no longer"));
        assert!(differences(&less, &before)[0].contains("not in the snapshot"));
    }
}
