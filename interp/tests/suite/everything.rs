//! A schema with every kind of field, and random messages of it.

use std::fmt::Write as _;

use prost_reflect::{Cardinality, DynamicMessage, Kind, MapKey, MessageDescriptor, SetFieldError, Value};

use crate::support::Fixture;

const SCALARS: [&str; 15] = [
    "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32",
    "sfixed64", "bool", "string", "bytes",
];
const KEYS: [&str; 12] = [
    "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64", "bool",
    "string",
];

/// proto2: `All` has every kind, singular, repeated, packed, in a oneof, in maps and as an extension, and groups. `Required` has
/// required ones.
pub fn proto2() -> Fixture {
    let mut all = String::new();
    let mut ext = String::new();
    let mut required = String::new();
    for (at, kind) in SCALARS.iter().chain(&["Closed", "All"]).enumerate() {
        let n = at + 1;
        writeln!(all, "optional {kind} one_{n} = {n};").unwrap();
        writeln!(all, "repeated {kind} list_{n} = {};", 100 + n).unwrap();
        if at < 13 || *kind == "Closed" {
            writeln!(all, "repeated {kind} packed_{n} = {} [packed = true];", 200 + n).unwrap();
        }
        writeln!(ext, "optional {kind} ext_{n} = {};", 3000 + n * 700_000).unwrap();
        writeln!(ext, "repeated {kind} ext_list_{n} = {};", 40_000_000 + n).unwrap();
        if *kind != "All" {
            writeln!(required, "required {kind} r_{n} = {n};").unwrap();
        }
    }
    writeln!(all, "oneof choice {{").unwrap();
    for (at, kind) in SCALARS.iter().chain(&["Closed", "All"]).enumerate() {
        writeln!(all, "{kind} choice_{at} = {};", 300 + at).unwrap();
    }
    writeln!(all, "group InChoice = 330 {{ optional int32 a = 1; }} }}").unwrap();
    for (at, key) in KEYS.iter().enumerate() {
        let value = SCALARS[at];
        writeln!(all, "map<{key}, {value}> map_{at} = {};", 400 + at).unwrap();
    }
    let source = format!(
        r#"syntax = "proto2"; package t;
        enum Closed {{ ZERO = 0; ONE = 1; TWO = 2; FAR = 1000; MINUS = -1; }}
        message All {{ {all}
            optional group One = 500 {{ optional int32 a = 1; optional All all = 2; }}
            repeated group Many = 501 {{ optional string a = 16; optional group Deeper = 17 {{ optional int64 b = 1; }} }}
            map<string, All> messages = 502; map<int32, Closed> enums = 503; map<bool, bytes> blobs = 504;
            map<string, string> texts = 505;
            optional int32 last = 536870911;
            extensions 1000 to 100000000;
        }}
        extend All {{ {ext} }}
        message Required {{ {required} optional Required next = 90; repeated Required all = 91; map<int32, Required> map = 92;
            required Inner inner = 93; message Inner {{ required int32 a = 1; required group G = 2 {{ required int32 b = 1; }} }} }}
        message Holder {{ optional Required one = 1; optional int32 id = 2; }}
        "#
    );
    Fixture::new(&[("all.proto", &source)])
}

/// proto3: every kind, implicit and explicit, repeated (packed where it can be), in a oneof and in maps; no closed enums.
pub fn proto3() -> Fixture {
    proto3_with(true)
}

/// As [`proto3`], with maps or without.
pub fn proto3_with(maps: bool) -> Fixture {
    let mut all = String::new();
    for (at, kind) in SCALARS.iter().chain(&["Open", "All"]).enumerate() {
        let n = at + 1;
        writeln!(all, "{kind} one_{n} = {n};").unwrap();
        writeln!(all, "optional {kind} opt_{n} = {};", 20 + n).unwrap();
        writeln!(all, "repeated {kind} list_{n} = {};", 100 + n).unwrap();
    }
    writeln!(all, "oneof choice {{").unwrap();
    for (at, kind) in SCALARS.iter().chain(&["Open", "All"]).enumerate() {
        writeln!(all, "{kind} choice_{at} = {};", 300 + at).unwrap();
    }
    writeln!(all, "}}").unwrap();
    for (at, key) in KEYS.iter().enumerate().filter(|_| maps) {
        writeln!(all, "map<{key}, {}> map_{at} = {};", SCALARS[(at + 7) % SCALARS.len()], 400 + at).unwrap();
    }
    let source = format!(
        r#"syntax = "proto3"; package t;
        enum Open {{ ZERO = 0; ONE = 1; }}
        message All {{ {all} {} }}"#,
        if maps { "map<string, All> messages = 502; map<int32, Open> enums = 503;" } else { "" }
    );
    Fixture::new(&[("all.proto", &source)])
}

/// A small generator of random numbers (xorshift), the same in every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.bits();
        random
    }

    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() >> 11) as usize % n
    }

    /// Numbers of all magnitudes, and both signs.
    fn number(&mut self) -> u64 {
        let bits = self.bits() >> self.below(64);
        match self.below(5) {
            0 => 0,
            1 => bits.wrapping_neg(),
            2 => self.below(128) as u64,
            _ => bits,
        }
    }

    fn text(&mut self) -> String {
        let len = match self.below(6) {
            0 => 0,
            1 => self.below(200),
            _ => self.below(40),
        };
        let plain = self.below(3) != 0;
        let pick = ['a', 'Z', ' ', 'ä', '€', '😀', '\0', '\u{7f}', '\u{80}', '\u{7ff}', '\u{fffd}', '\u{10ffff}'];
        (0..len).map(|_| if plain { char::from(b'a' + self.below(26) as u8) } else { pick[self.below(12)] }).collect()
    }

    fn value(&mut self, kind: &Kind, depth: u32) -> Value {
        match kind {
            Kind::Double => Value::F64(f64::from_bits(self.number())),
            Kind::Float => Value::F32(f32::from_bits(self.number() as u32)),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(self.number() as i32),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(self.number() as i64),
            Kind::Uint32 | Kind::Fixed32 => Value::U32(self.number() as u32),
            Kind::Uint64 | Kind::Fixed64 => Value::U64(self.number()),
            Kind::Bool => Value::Bool(self.below(2) == 1),
            Kind::String => Value::String(self.text()),
            Kind::Bytes => {
                let len = self.below(60);
                Value::Bytes((0..len).map(|_| self.bits() as u8).collect::<Vec<u8>>().into())
            }
            Kind::Message(message) => Value::Message(self.message(message, depth.saturating_sub(1))),
            Kind::Enum(values) => {
                let at = self.below(values.values().len());
                Value::EnumNumber(values.values().nth(at).unwrap().number())
            }
        }
    }

    /// A random message, with sub-messages `depth` levels deep.
    pub fn message(&mut self, descriptor: &MessageDescriptor, depth: u32) -> DynamicMessage {
        let mut message = DynamicMessage::new(descriptor.clone());
        let dense = 2 + self.below(16);
        for field in descriptor.fields() {
            let is_message = matches!(field.kind(), Kind::Message(_)) && !field.is_map();
            if field.cardinality() != Cardinality::Required && (self.below(dense) != 0 || is_message && depth == 0) {
                continue;
            }
            let value = if field.is_map() {
                let Kind::Message(entry) = field.kind() else { unreachable!() };
                let (key, value) = (entry.map_entry_key_field().kind(), entry.map_entry_value_field().kind());
                if depth == 0 && matches!(value, Kind::Message(_)) {
                    continue;
                }
                let count = self.below(14);
                let entries = (0..count).map(|_| {
                    let key = match self.value(&key, 0) {
                        Value::Bool(key) => MapKey::Bool(key),
                        Value::I32(key) => MapKey::I32(key),
                        Value::I64(key) => MapKey::I64(key),
                        Value::U32(key) => MapKey::U32(key),
                        Value::U64(key) => MapKey::U64(key),
                        Value::String(key) => MapKey::String(key),
                        _ => unreachable!(),
                    };
                    (key, self.value(&value, depth))
                });
                Value::Map(entries.collect())
            } else if field.is_list() {
                let count = self.below(7);
                Value::List((0..count).map(|_| self.value(&field.kind(), depth)).collect())
            } else {
                self.value(&field.kind(), depth)
            };
            let set: Result<(), SetFieldError> = message.try_set_field(&field, value);
            set.unwrap();
        }
        for extension in descriptor.extensions() {
            let is_message = matches!(extension.kind(), Kind::Message(_));
            if self.below(dense * 2) != 0 || is_message && depth == 0 {
                continue;
            }
            let value = if extension.is_list() {
                Value::List((0..self.below(5)).map(|_| self.value(&extension.kind(), depth)).collect())
            } else {
                self.value(&extension.kind(), depth)
            };
            message.set_extension(&extension, value);
        }
        message
    }
}
