//! What is done with bytes from a fuzzer: every input is a valid case, and what must not happen panics.
//!
//! The first three bytes of all but descriptor sets choose the schema, the message and the options (`Choice`); the rest is the input
//! of that message type. So mutated inputs stay inputs of the same type, and a corpus can be made by hand.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use protojit::json::{self, JsonReadOptions, JsonWriteOptions};
use protojit::text::{self, TextReadOptions, TextWriteOptions};
use protojit::{
    Arena, DecodeOptions, EncodeBuffer, EncodeErrorKind, EncodeOptions, Limits, MessageMut, MessageRef, MessageType,
    Runtime,
};
use protojit_core::message::{KeyRef, SetError, Value};
use protojit_core::program::FieldSlot;
use protojit_core::schema::SchemaLimits;
use protojit_core::schema::model::FieldKind;

use crate::dump::dump;
use crate::inputs::Inputs;
use crate::pair::{Checker, Pair, Types};
use crate::rng::Rng;
use crate::schema_gen::{Dialect, random_set};
use crate::schemas;
use crate::wire_gen::{Style, WireGen};

/// A body: it takes any bytes.
pub type Body = fn(&[u8]);

/// All of them, by the name of their target.
pub const ALL: [(&str, Body); 5] = [
    ("decode", decode as Body),
    ("encode", encode as Body),
    ("json", json_text as Body),
    ("text", text_format as Body),
    ("descriptors", descriptors as Body),
];

/// Schemas beside the committed ones.
const WELL_KNOWN: &str = r#"syntax = "proto3";
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/empty.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
package well.known;
message All {
  google.protobuf.Any any = 1;
  google.protobuf.Duration duration = 2;
  google.protobuf.FieldMask mask = 3;
  google.protobuf.Struct object = 4;
  google.protobuf.Value value = 5;
  google.protobuf.ListValue list = 6;
  google.protobuf.Timestamp time = 7;
  google.protobuf.Int64Value long = 8;
  google.protobuf.StringValue string = 9;
  google.protobuf.BytesValue bytes = 10;
  google.protobuf.DoubleValue double = 11;
  google.protobuf.BoolValue bool = 12;
  google.protobuf.Empty empty = 13;
  google.protobuf.NullValue null = 14;
  repeated google.protobuf.Value values = 15;
  map<string, google.protobuf.Any> anys = 16;
  All all = 17;
}
"#;

/// The first three bytes of an input.
#[derive(Clone, Copy, Debug)]
struct Choice {
    schema: u8,
    message: u8,
    options: u8,
}

impl Choice {
    fn of(data: &[u8]) -> Option<(Choice, &[u8])> {
        let (&[schema, message, options], rest) = data.split_first_chunk()?;
        // Enough of them: each is compiled, by each process.
        Some((Choice { schema: schema % 20, message, options }, rest))
    }

    fn bit(self, bit: u32) -> bool {
        self.options >> bit & 1 != 0
    }
}

struct Subject {
    pair: Pair,
    messages: Vec<String>,
}

/// What a process keeps from one input to the next: schemas are compiled once.
struct State {
    subjects: HashMap<(u8, bool), Rc<Subject>>,
    types: HashMap<(u8, bool, usize, DecodeOptions, EncodeOptions), Rc<Types>>,
    checker: Checker,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::new(State {
        subjects: HashMap::new(),
        types: HashMap::new(),
        checker: Checker::new(),
    });
}

impl State {
    fn set(number: u8) -> Vec<u8> {
        match number {
            0..6 => schemas::descriptor_set(schemas::ALL[usize::from(number)]),
            6 => schemas::descriptor_set_of(WELL_KNOWN),
            _ => {
                let mut rng = Rng::new(u64::from(number));
                let dialect = [Dialect::Proto2, Dialect::Proto3, Dialect::Edition][usize::from(number) % 3];
                random_set(&mut rng, dialect)
            }
        }
    }

    /// Schemas 0 to 5 are the committed ones, 6 has all well-known types, all others are random.
    fn subject(&mut self, number: u8, narrow: bool) -> Rc<Subject> {
        let subject = self.subjects.entry((number, narrow)).or_insert_with(|| {
            let set = State::set(number);
            let mut builder = Runtime::builder().verify(false);
            if narrow {
                builder = builder.limits(Limits {
                    max_depth: 4,
                    max_unknown_fields: 6,
                    max_unknown_bytes: 40,
                    max_message_bytes: 2000,
                    ..Limits::default()
                });
            }
            let pair = Pair::with(format!("schema {number}"), &set, builder);
            let messages = pair.messages().into_iter().map(|(_, name)| name).collect();
            Rc::new(Subject { pair, messages })
        });
        subject.clone()
    }

    fn types(&mut self, choice: Choice, decode: DecodeOptions, encode: EncodeOptions) -> Rc<Types> {
        let narrow = choice.bit(3);
        let subject = self.subject(choice.schema, narrow);
        let at = usize::from(choice.message) % subject.messages.len();
        let types = self.types.entry((choice.schema, narrow, at, decode, encode)).or_insert_with(|| {
            let types = subject.pair.types(&subject.messages[at]);
            Rc::new(types.map(|ty| ty.with_decode_options(decode).with_encode_options(encode)))
        });
        types.clone()
    }
}

/// Wire bytes, by both engines: the same value, error and bytes. Options: bit 0 unknown fields are dropped and strings not checked, 1 required fields may be missing, 3 narrow limits,
/// 5 read in place, amid so many unknown bytes, 6 also in an arena whose limit the last byte says.
pub fn decode(data: &[u8]) {
    let Some((choice, input)) = Choice::of(data) else { return };
    STATE.with_borrow_mut(|state| {
        // Each combination is compiled anew: a few must do.
        let other = choice.bit(0);
        let decode = DecodeOptions { keep_unknown: !other, check_utf8: !other, check_required: !choice.bit(1) };
        let encode = EncodeOptions { check_required: decode.check_required, ..EncodeOptions::default() };
        let types = state.types(choice, decode, encode);
        let mut long = Vec::new();
        let input = match choice.bit(5) {
            true => {
                // An unknown field of 600 bytes before it.
                long.extend([0xfa, 0xff, 0xff, 0xff, 0x0f, 0xd8, 0x04]);
                long.resize(long.len() + 600, 0);
                long.extend(input);
                &long
            }
            false => input,
        };
        state.checker.check(&types, input);
        if let (true, Some(&last)) = (choice.bit(6), input.last()) {
            let limit = state.checker.last_used() * usize::from(last) / 200;
            state.checker.check_in_memory(&types, input, limit);
        }
    });
}

/// A message decoded from the first bytes (the fourth one says how many) and edited as the rest says, then written by both engines by
/// every way out. Options: bit 2 required fields are checked, 3 narrow limits, 4 in deterministic order.
pub fn encode(data: &[u8]) {
    let Some((choice, input)) = Choice::of(data) else { return };
    let Some((&split, input)) = input.split_first() else { return };
    STATE.with_borrow_mut(|state| {
        let decode = DecodeOptions { check_required: false, ..DecodeOptions::default() };
        let encode = EncodeOptions { check_required: choice.bit(2), deterministic: choice.bit(4) };
        let types = state.types(choice, decode, encode);
        let (wire, edits) = input.split_at(usize::from(split).min(input.len()));
        let [interp, jit] = [&types.interp, &types.jit].map(|ty| {
            let mut message = ty.decode_owned(wire).unwrap_or_else(|_| ty.new_message());
            let mut edits = Edits(edits);
            for _ in 0..64 {
                if edits.edit(&mut message.as_mut(), 0).is_none() {
                    break;
                }
            }
            (dump(message.as_ref()), written(ty, message.as_ref()))
        });
        assert_eq!(interp, jit, "{}", types.context);
        read_again(&types, choice.bit(4), &interp.0, &interp.1);
    });
}

/// What was written can be read, and is the same message: where no unknown field among the edits means something to the schema. Sorted
/// maps have another order then, so that only the bytes are compared.
fn read_again(types: &Types, sorted: bool, before: &str, written: &Written) {
    let (false, Ok(bytes)) = (before.contains('?'), written) else { return };
    for ty in [&types.interp, &types.jit] {
        let arena = Arena::new();
        let again = ty.decode(bytes, &arena).unwrap_or_else(|error| panic!("{}: {error}, {before}", types.context));
        if !sorted {
            assert_eq!(dump(again), before, "{}", types.context);
        }
        assert_eq!(ty.encode_to_vec(again).as_ref().ok(), Some(bytes), "{}", types.context);
    }
}

type Written = Result<Vec<u8>, EncodeErrorKind>;

/// The bytes of a message by one engine; all ways out must agree.
fn written(ty: &MessageType, message: MessageRef<'_>) -> Written {
    let mut buffer = EncodeBuffer::with_capacity(message.set_fields().count() * 7);
    let first = ty.encode_into(message, &mut buffer).map(<[u8]>::to_vec).map_err(|error| error.kind());
    let mut appended = vec![1];
    let second = ty.append_to(message, &mut appended).map(<[u8]>::to_vec).map_err(|error| error.kind());
    assert_eq!(second, first);
    if let Ok(bytes) = &first {
        assert_eq!(ty.encoded_len(message).map_err(|error| error.kind()), Ok(bytes.len()));
        let mut exact = vec![0; bytes.len()];
        assert_eq!(ty.encode_to_slice(message, &mut exact).map(|out| out == bytes).ok(), Some(true));
        if let Some(short) = bytes.len().checked_sub(1) {
            let error = ty.encode_to_slice(message, &mut exact[..short]).map(<[u8]>::len).unwrap_err();
            assert_eq!(error.kind(), EncodeErrorKind::BufferTooSmall { needed: bytes.len() });
        }
    }
    first
}

/// Bytes that say what to change.
struct Edits<'e>(&'e [u8]);

impl Edits<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn number(&mut self) -> Option<u64> {
        let len = usize::from(self.byte()? % 9);
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        // Sign-extended: short ones are small numbers of either sign.
        let fill = if bytes.last().is_some_and(|&last| last >= 0x80) { 0xff } else { 0 };
        let mut wide = [fill; 8];
        wide[..len].copy_from_slice(bytes);
        Some(u64::from_le_bytes(wide))
    }

    fn bytes(&mut self) -> Option<&[u8]> {
        let len = usize::from(self.byte()?);
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Sets a value of this kind by `set`.
    fn value(&mut self, kind: FieldKind, set: impl FnOnce(Value<'_>) -> Result<(), SetError>) -> Option<()> {
        let outcome = match kind {
            FieldKind::String | FieldKind::Bytes => set(Value::Bytes(self.bytes()?)),
            kind => {
                let bits = self.number()?;
                set(match kind {
                    FieldKind::Bool => Value::Bool(bits & 1 != 0),
                    FieldKind::Int32 | FieldKind::Sint32 | FieldKind::Sfixed32 => Value::I32(bits as i32),
                    FieldKind::Int64 | FieldKind::Sint64 | FieldKind::Sfixed64 => Value::I64(bits as i64),
                    FieldKind::Uint32 | FieldKind::Fixed32 => Value::U32(bits as u32),
                    FieldKind::Uint64 | FieldKind::Fixed64 => Value::U64(bits),
                    FieldKind::Float => Value::F32(f32::from_bits(bits as u32)),
                    FieldKind::Double => Value::F64(f64::from_bits(bits)),
                    _ => Value::Enum(bits as i32),
                })
            }
        };
        match outcome {
            Ok(()) | Err(SetError::InvalidUtf8 | SetError::EnumNumber(_)) => Some(()),
            Err(error) => panic!("{error}"),
        }
    }

    /// One edit of a message, or of one below it. `None` at the end of the bytes.
    fn edit(&mut self, message: &mut MessageMut<'_>, depth: u32) -> Option<()> {
        let (what, which) = (self.byte()?, self.byte()?);
        let layout = message.layout();
        if what == 0xff {
            message.clear();
            return Some(());
        }
        if what == 0xfe {
            let bytes = self.bytes()?;
            return message.add_unknown(bytes).is_ok().then_some(());
        }
        if layout.fields.is_empty() {
            return Some(());
        }
        let slot = &layout.fields[usize::from(which) % layout.fields.len()];
        if what == 0xfd {
            message.clear_slot(slot);
            return Some(());
        }
        self.change(message, slot, what, depth)
    }

    fn change(&mut self, message: &mut MessageMut<'_>, slot: &FieldSlot, what: u8, depth: u32) -> Option<()> {
        let def = message.layout().field_def(slot);
        let is_message = matches!(def.kind, FieldKind::Message(_));
        let deep = depth >= 120;
        let full = "there is memory";
        if def.is_map {
            return self.entry(message, slot, what, depth);
        }
        if !slot.is_singular() {
            let mut list = message.list(slot).expect("a list");
            if what & 1 != 0 && !list.is_empty() {
                let at = usize::from(what >> 1) % list.len();
                match what % 5 {
                    0 => list.truncate(at),
                    1 => list.remove(at).expect("an element"),
                    _ if is_message && deep => {}
                    _ if is_message => return self.edit(&mut list.message(at).expect("an element"), depth + 1),
                    _ => return self.value(def.kind, |value| list.set(at, value)),
                }
                return Some(());
            }
            return match (is_message, deep) {
                (true, true) => Some(()),
                (true, false) => self.edit(&mut list.push_message().expect(full), depth + 1),
                (false, _) => self.value(def.kind, |value| list.push(value)),
            };
        }
        match (is_message, deep) {
            (true, true) => Some(()),
            (true, false) => self.edit(&mut message.mutable(slot).expect(full), depth + 1),
            (false, _) => self.value(def.kind, |value| message.set_slot(slot, value)),
        }
    }

    fn entry(&mut self, message: &mut MessageMut<'_>, slot: &FieldSlot, what: u8, depth: u32) -> Option<()> {
        let layout = message.layout();
        let FieldKind::Message(entry) = layout.field_def(slot).kind else { return None };
        let fields = message.as_ref().schema().fields_of(entry);
        let (key_kind, value_kind) = (fields[0].1.kind, fields[1].1.kind);
        let bits = self.number()?;
        let text = format!("{}", bits % 7);
        let key = match key_kind {
            FieldKind::String => KeyRef::Str(protojit_core::message::StrRef::new(text.as_bytes())),
            FieldKind::Bool => KeyRef::Bool(bits & 1 != 0),
            FieldKind::Int32 | FieldKind::Sint32 | FieldKind::Sfixed32 => KeyRef::I32(bits as i32),
            FieldKind::Int64 | FieldKind::Sint64 | FieldKind::Sfixed64 => KeyRef::I64(bits as i64),
            FieldKind::Uint32 | FieldKind::Fixed32 => KeyRef::U32(bits as u32),
            _ => KeyRef::U64(bits),
        };
        let mut map = message.map(slot).expect("a map");
        if what % 7 == 3 {
            map.remove(key);
            return Some(());
        }
        match (value_kind, depth >= 120) {
            (FieldKind::Message(_), true) => Some(()),
            (FieldKind::Message(_), false) => self.edit(&mut map.message(key).expect("there is memory"), depth + 2),
            (kind, _) => self.value(kind, |value| map.insert(key, value)),
        }
    }
}

/// What is read can be written, and that reads as the same again, by either engine's bytes.
fn round_trip(
    types: &Types,
    read: impl Fn(&mut MessageMut<'_>) -> Option<()>,
    write: impl Fn(MessageRef<'_>) -> Option<Vec<u8>>,
    read_written: impl Fn(&[u8], &mut MessageMut<'_>),
) {
    let mut message = types.interp.new_message();
    if read(&mut message.as_mut()).is_none() {
        return;
    }
    let before = dump(message.as_ref());
    if let Some(written) = write(message.as_ref()) {
        let mut again = types.interp.new_message();
        read_written(&written, &mut again.as_mut());
        let second = write(again.as_ref());
        assert!(
            second.as_deref() == Some(&written[..]),
            "{}: {}\n{:?}",
            types.context,
            String::from_utf8_lossy(&written),
            second.map(|text| String::from_utf8_lossy(&text).into_owned()),
        );
    }
    // And on the wire.
    let Ok(bytes) = types.interp.encode_to_vec(message.as_ref()) else { return };
    let arena = Arena::new();
    let decoded = types.jit.decode(&bytes, &arena).unwrap_or_else(|error| panic!("{}: {error}", types.context));
    assert_eq!(dump(decoded), before, "{}", types.context);
    assert_eq!(types.jit.encode_to_vec(decoded).ok(), Some(bytes));
}

fn partial(choice: Choice) -> (DecodeOptions, EncodeOptions) {
    let check_required = !choice.bit(0);
    let decode = DecodeOptions { check_required, ..DecodeOptions::default() };
    (decode, EncodeOptions { check_required, deterministic: false })
}

/// JSON. Options: bit 0 required fields may be missing, 1 unknown fields are skipped, 2 an `Any` of unknown type is its bytes, 4 field
/// names of the schema, 5 defaults, 6 enums as numbers and 64 bits too, 7 on many lines.
pub fn json_text(data: &[u8]) {
    let Some((choice, input)) = Choice::of(data) else { return };
    let choice = Choice { options: choice.options & !8, ..choice };
    STATE.with_borrow_mut(|state| {
        let (decode, encode) = partial(choice);
        let types = state.types(choice, decode, encode);
        let schema = types.interp.schema();
        let read = JsonReadOptions {
            ignore_unknown: choice.bit(1),
            allow_partial: choice.bit(0),
            unresolved_any_as_bytes: choice.bit(2),
            ..JsonReadOptions::default()
        };
        let write = JsonWriteOptions {
            proto_field_names: choice.bit(4),
            emit_defaults: choice.bit(5),
            enums_as_integers: choice.bit(6),
            int64_as_numbers: choice.bit(6),
            pretty: choice.bit(7),
            unresolved_any_as_bytes: choice.bit(2),
            ..JsonWriteOptions::default()
        };
        round_trip(
            &types,
            |message| json::read(input, message, &read, schema).ok(),
            |message| {
                let mut out = Vec::new();
                json::write(message, &write, schema, &mut out).ok().map(|()| out)
            },
            |written, message| {
                json::read(written, message, &read, schema)
                    .unwrap_or_else(|error| panic!("{}: {error}\n{}", types.context, String::from_utf8_lossy(written)));
            },
        );
    });
}

/// The text format. Options: bit 0 required fields may be missing, 1 unknown fields are skipped, 2 numbers stand for names, 4 one line,
/// 5 an `Any` stays closed, 6 ASCII.
pub fn text_format(data: &[u8]) {
    let Some((choice, input)) = Choice::of(data) else { return };
    let choice = Choice { options: choice.options & !8, ..choice };
    STATE.with_borrow_mut(|state| {
        let (decode, encode) = partial(choice);
        let types = state.types(choice, decode, encode);
        let schema = types.interp.schema();
        let read = TextReadOptions {
            ignore_unknown: choice.bit(1),
            field_numbers: choice.bit(2),
            allow_partial: choice.bit(0),
            ..TextReadOptions::default()
        };
        let write = TextWriteOptions {
            single_line: choice.bit(4),
            expand_any: !choice.bit(5),
            ascii: choice.bit(6),
            ..TextWriteOptions::default()
        };
        round_trip(
            &types,
            |message| text::read(input, message, &read, schema).ok(),
            |message| {
                let mut out = Vec::new();
                text::write(message, &write, schema, &mut out).ok().map(|()| out)
            },
            |written, message| {
                text::read(written, message, &read, schema)
                    .unwrap_or_else(|error| panic!("{}: {error}\n{}", types.context, String::from_utf8_lossy(written)));
            },
        );
    });
}

/// A descriptor set: an error, or types that work.
pub fn descriptors(set: &[u8]) {
    let limits = SchemaLimits::default();
    let [jit, interp] = [protojit::Engine::Jit, protojit::Engine::Interp].map(|engine| {
        let builder = Runtime::builder().engine(engine).verify(false).schema_limits(limits.clone());
        builder.code_arena(4 << 20).build().register(set)
    });
    let (jit, interp) = match (jit, interp) {
        (Ok(jit), Ok(interp)) => (jit, interp),
        (Err(jit), Err(interp)) => return assert_eq!(jit.to_string(), interp.to_string()),
        (jit, interp) => panic!("the engines see different schemas: {:?}, {:?}", jit.err(), interp.err()),
    };
    let mut rng = Rng::new(set.len() as u64);
    let pair = Pair { name: "fuzzed".to_owned(), jit, interp };
    for message in pair.interp.descriptors().messages() {
        let _ = pair.interp.options(&message);
        for field in message.fields() {
            let _ = (pair.interp.options(&field), field.json_name().len(), field.full_name().len());
        }
    }
    let messages = pair.messages();
    STATE.with_borrow_mut(|state| {
        for turn in 0..messages.len().min(3) {
            let (id, name) = &messages[(turn * messages.len() / 3 + turn) % messages.len()];
            let [jit, interp] = [&pair.jit, &pair.interp].map(|schema| schema.message(name).expect("a message"));
            let types = Types { context: name.clone(), jit, interp };
            let mut inputs = Inputs::new(pair.interp.descriptors().data(), *id, &mut rng);
            for _ in 0..6 {
                let input = inputs.fresh();
                state.checker.check(&types, &input);
            }
        }
    });
}

/// The first inputs of a target: for each committed schema some small messages in the target's form; for descriptors, small sets.
///
/// # Panics
/// There is no such target.
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    let (mut rng, mut out) = (Rng::new(61), Vec::new());
    if target == "descriptors" {
        out.extend([0, 1, 6].map(State::set));
        for at in 0..24 {
            let dialect = [Dialect::Proto2, Dialect::Proto3, Dialect::Edition][at % 3];
            out.push(random_set(&mut rng, dialect));
        }
        out.retain(|set| set.len() < 6000);
        return out;
    }
    assert!(ALL.iter().any(|(name, _)| *name == target), "{target}");
    STATE.with_borrow_mut(|state| {
        for schema in [0, 1, 2, 3, 4, 6, 7, 8, 9, 10] {
            let subject = state.subject(schema, false);
            for (message, name) in subject.messages.iter().enumerate() {
                let ty = subject.pair.interp.message(name).expect("a message");
                let mut wire = WireGen::new(subject.pair.interp.descriptors().data(), rng.fork());
                for budget in [2, 12] {
                    let options = rng.bits() as u8;
                    let bytes = wire.message(ty.descriptor().id(), Style::MIXED, budget);
                    let arena = Arena::new();
                    let content = match (target, ty.decode(&bytes, &arena)) {
                        ("encode", _) => [&[bytes.len().min(255) as u8][..], &bytes].concat(),
                        ("json", Ok(decoded)) => {
                            let mut text = Vec::new();
                            let _ = json::write(decoded, &JsonWriteOptions::default(), ty.schema(), &mut text);
                            text
                        }
                        ("text", Ok(decoded)) => {
                            let mut text = Vec::new();
                            let _ = text::write(decoded, &TextWriteOptions::default(), ty.schema(), &mut text);
                            text
                        }
                        _ => bytes,
                    };
                    if content.len() < 400 {
                        out.push([&[schema, message as u8, options][..], &content].concat());
                    }
                }
            }
        }
    });
    out
}
