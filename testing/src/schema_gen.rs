//! Random schemas: all constructs of proto2, proto3 and edition 2023.

use std::collections::BTreeSet;

use prost::Message as _;
use prost_types::descriptor_proto::ExtensionRange;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumOptions, EnumValueDescriptorProto, FieldDescriptorProto, FieldOptions,
    FileDescriptorProto, MessageOptions, OneofDescriptorProto,
};
use protojit_core::wire::push_varint;

use crate::feature_gen::with_features;
use crate::rng::Rng;

/// What a schema is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// `syntax = "proto2"`
    Proto2,
    /// `syntax = "proto3"`
    Proto3,
    /// `edition = "2023"`, with random features of files, messages, enums, oneofs and fields.
    Edition,
}

const SCALARS: [Type; 15] = [
    Type::Double,
    Type::Float,
    Type::Int64,
    Type::Uint64,
    Type::Int32,
    Type::Fixed64,
    Type::Fixed32,
    Type::Bool,
    Type::String,
    Type::Bytes,
    Type::Uint32,
    Type::Sfixed32,
    Type::Sfixed64,
    Type::Sint32,
    Type::Sint64,
];
const KEYS: [Type; 12] = [
    Type::Int64,
    Type::Uint64,
    Type::Int32,
    Type::Fixed64,
    Type::Fixed32,
    Type::Bool,
    Type::String,
    Type::Uint32,
    Type::Sfixed32,
    Type::Sfixed64,
    Type::Sint32,
    Type::Sint64,
];

/// A serialized descriptor set of one file, whose messages are `t.M0` and so on.
pub fn random_set(rng: &mut Rng, dialect: Dialect) -> Vec<u8> {
    let mut generator = Generator { rng, dialect, enums: 0, messages: 0, extensible: Vec::new() };
    let file = generator.file();
    let mut bytes = file.encode_to_vec();
    if dialect == Dialect::Edition {
        bytes = with_features(rng, &bytes);
    }
    let mut set = vec![0x0a];
    push_varint(bytes.len() as u64, &mut set);
    set.extend_from_slice(&bytes);
    set
}

struct Generator<'r> {
    rng: &'r mut Rng,
    dialect: Dialect,
    enums: usize,
    messages: usize,
    /// Messages with extension ranges: position, whether a MessageSet, numbers that are taken.
    extensible: Vec<(usize, bool, BTreeSet<i32>)>,
}

impl Generator<'_> {
    fn file(&mut self) -> FileDescriptorProto {
        (self.enums, self.messages) = (1 + self.rng.below(4), 1 + self.rng.below(7));
        let mut file = FileDescriptorProto {
            name: Some("t.proto".to_owned()),
            package: Some("t".to_owned()),
            syntax: Some(
                match self.dialect {
                    Dialect::Proto2 => "proto2",
                    Dialect::Proto3 => "proto3",
                    Dialect::Edition => "editions",
                }
                .to_owned(),
            ),
            enum_type: (0..self.enums).map(|at| self.enum_type(at)).collect(),
            ..Default::default()
        };
        file.message_type = (0..self.messages).map(|at| self.message(at)).collect();
        for (target, message_set, mut taken) in std::mem::take(&mut self.extensible) {
            for at in 0..self.rng.below(6) {
                let bits = 1 + self.rng.below(28);
                let number = match message_set {
                    true if self.rng.chance(50) => 1 << 29 | (4 + self.rng.below(1000) as i32),
                    true => 4 + self.rng.below(1 << 20) as i32,
                    false => 1000 + self.rng.below(1 << bits) as i32,
                };
                if (19_000..20_000).contains(&number) || !taken.insert(number) {
                    continue;
                }
                let mut field = self.field(format!("x{target}_{at}"), number, !message_set, None);
                if message_set {
                    self.set_type(&mut field, Type::Message);
                    field.label = Some(Label::Optional as i32);
                    (field.options, field.default_value) = (None, None);
                }
                field.extendee = Some(format!(".t.M{target}"));
                file.extension.push(field);
            }
        }
        file
    }

    fn enum_type(&mut self, at: usize) -> EnumDescriptorProto {
        // Open enums and values of maps begin with zero.
        let any_first = self.dialect == Dialect::Proto2 && at > 0;
        let mut numbers = vec![if any_first { self.rng.below(5) as i32 } else { 0 }];
        let mut number = numbers[0];
        for _ in 0..self.rng.below(12) {
            number = match self.rng.below(6) {
                0 => self.rng.bits() as i32,
                1 => -(self.rng.below(200) as i32),
                2 => *self.rng.pick(&[i32::MIN, i32::MAX, 127, 128, -1]),
                _ => number.wrapping_add(1),
            };
            numbers.push(number);
        }
        let distinct = numbers.iter().collect::<BTreeSet<_>>().len() == numbers.len();
        EnumDescriptorProto {
            name: Some(format!("E{at}")),
            value: (0..)
                .zip(&numbers)
                .map(|(value, &number)| EnumValueDescriptorProto {
                    name: Some(format!("E{at}_V{value}")),
                    number: Some(number),
                    options: None,
                })
                .collect(),
            options: (!distinct).then(|| EnumOptions { allow_alias: Some(true), ..Default::default() }),
            ..Default::default()
        }
    }

    fn message(&mut self, at: usize) -> DescriptorProto {
        let mut message = DescriptorProto { name: Some(format!("M{at}")), ..Default::default() };
        if self.dialect == Dialect::Proto2 && self.rng.chance(8) {
            message.options = Some(MessageOptions { message_set_wire_format: Some(true), ..Default::default() });
            message.extension_range = vec![ExtensionRange { start: Some(4), end: Some(i32::MAX), options: None }];
            self.extensible.push((at, true, BTreeSet::new()));
            return message;
        }
        let count = match self.rng.below(10) {
            0 => self.rng.below(3),
            1 => 60 + self.rng.below(80),
            _ => 1 + self.rng.below(24),
        };
        let (numbers, extensible) = self.numbers(count);
        if extensible {
            message.extension_range = vec![ExtensionRange { start: Some(1000), end: Some(1 << 29), options: None }];
            self.extensible.push((at, false, BTreeSet::new()));
        }
        let oneofs = self.rng.below(4);
        let mut used = BTreeSet::new();
        for (index, number) in numbers.into_iter().enumerate() {
            let name = format!("f{index}");
            let kind = self.rng.below(12);
            if kind == 0 {
                let field = self.map(at, &name, number, &mut message);
                message.field.push(field);
                continue;
            }
            if oneofs > 0 && kind < 4 {
                let oneof = self.rng.below(oneofs);
                used.insert(oneof);
                let mut field = self.field(name, number, false, Some((at, &mut message)));
                field.label = Some(Label::Optional as i32);
                field.options = None;
                field.oneof_index = Some(oneof as i32);
                message.field.push(field);
                continue;
            }
            let field = self.field(name, number, true, Some((at, &mut message)));
            message.field.push(field);
        }
        // Only oneofs that have members, numbered anew; those that `optional` makes up come behind.
        let order: Vec<usize> = used.into_iter().collect();
        for field in &mut message.field {
            if let Some(oneof) = field.oneof_index {
                field.oneof_index = order.iter().position(|&other| other == oneof as usize).map(|at| at as i32);
            }
        }
        message.oneof_decl = order.iter().map(|at| oneof(format!("o{at}"))).collect();
        for field in &mut message.field {
            if field.proto3_optional == Some(true) {
                field.oneof_index = Some(message.oneof_decl.len() as i32);
                message.oneof_decl.push(oneof(format!("_{}", field.name())));
            }
        }
        message
    }

    /// Numbers of fields, and whether those from 1000 on are for extensions.
    fn numbers(&mut self, count: usize) -> (Vec<i32>, bool) {
        let extensible = self.dialect != Dialect::Proto3 && self.rng.chance(25);
        let style = self.rng.below(3);
        let mut numbers = BTreeSet::new();
        let mut next = 1 + self.rng.below(20) as i32;
        while numbers.len() < count {
            let number = match style {
                0 => next,
                1 => next + self.rng.below(40) as i32,
                _ => 1 + (self.rng.bits() as u32 >> 3 >> self.rng.below(29)).min((1 << 29) - 2) as i32,
            };
            next = number.min(5_000_000) + 1;
            if (19_000..20_000).contains(&number) || (extensible && number >= 1000) {
                next = 1 + self.rng.below(990) as i32;
                continue;
            }
            numbers.insert(number);
        }
        let mut numbers: Vec<i32> = numbers.into_iter().collect();
        if self.rng.chance(30) {
            for at in 1..numbers.len() {
                let other = self.rng.below(at + 1);
                numbers.swap(at, other);
            }
        }
        (numbers, extensible)
    }

    /// A field of any type; `home` is where the type of a group can be declared.
    fn field(
        &mut self,
        name: String,
        number: i32,
        any_label: bool,
        home: Option<(usize, &mut DescriptorProto)>,
    ) -> FieldDescriptorProto {
        let mut field = FieldDescriptorProto { name: Some(name), number: Some(number), ..Default::default() };
        let label = match self.rng.below(10) {
            0..4 if any_label => Label::Repeated,
            4 if any_label && self.dialect == Dialect::Proto2 && home.is_some() => Label::Required,
            _ => Label::Optional,
        };
        field.label = Some(label as i32);
        match self.rng.below(20) {
            0..3 => self.set_type(&mut field, Type::Message),
            3..6 => self.set_type(&mut field, Type::Enum),
            6 if self.dialect == Dialect::Proto2 && home.is_some() => {
                let Some((at, message)) = home else { return field };
                self.group(at, &mut field, message);
            }
            _ => {
                let scalar = *self.rng.pick(&SCALARS);
                self.set_type(&mut field, scalar);
            }
        }
        let packable = !matches!(field.r#type(), Type::String | Type::Bytes | Type::Message | Type::Group);
        if label == Label::Repeated && packable && self.dialect != Dialect::Edition && self.rng.chance(50) {
            field.options = Some(FieldOptions { packed: Some(self.rng.chance(60)), ..Default::default() });
        }
        let optional = self.dialect == Dialect::Proto3 && label == Label::Optional && any_label;
        if optional && self.rng.chance(30) {
            field.proto3_optional = Some(true);
        }
        if self.dialect == Dialect::Proto2 && label != Label::Repeated && self.rng.chance(15) {
            field.default_value = default_of(field.r#type());
        }
        field
    }

    fn set_type(&mut self, field: &mut FieldDescriptorProto, ty: Type) {
        field.r#type = Some(ty as i32);
        field.type_name = match ty {
            Type::Message => Some(format!(".t.M{}", self.rng.below(self.messages))),
            Type::Enum => Some(format!(".t.E{}", self.rng.below(self.enums))),
            _ => None,
        };
    }

    fn group(&mut self, at: usize, field: &mut FieldDescriptorProto, message: &mut DescriptorProto) {
        let name = format!("G{}", field.name());
        field.r#type = Some(Type::Group as i32);
        field.type_name = Some(format!(".t.M{at}.{name}"));
        field.name = Some(name.to_lowercase());
        let mut group = DescriptorProto { name: Some(name), ..Default::default() };
        for (index, number) in (0..self.rng.below(6)).zip(1..) {
            let inner = self.field(format!("f{index}"), number, true, None);
            group.field.push(inner);
        }
        message.nested_type.push(group);
    }

    fn map(&mut self, at: usize, name: &str, number: i32, message: &mut DescriptorProto) -> FieldDescriptorProto {
        let entry = format!("{}Entry", name.to_uppercase());
        let part = |name: &str, number| FieldDescriptorProto {
            name: Some(name.to_owned()),
            number: Some(number),
            label: Some(Label::Optional as i32),
            ..Default::default()
        };
        let (mut key, mut value) = (part("key", 1), part("value", 2));
        let key_type = *self.rng.pick(&KEYS);
        self.set_type(&mut key, key_type);
        let value_type = match self.rng.below(6) {
            0 | 1 => Type::Message,
            2 => Type::Enum,
            _ => *self.rng.pick(&SCALARS),
        };
        self.set_type(&mut value, value_type);
        if value_type == Type::Enum {
            value.type_name = Some(".t.E0".to_owned());
        }
        message.nested_type.push(DescriptorProto {
            name: Some(entry.clone()),
            field: vec![key, value],
            options: Some(MessageOptions { map_entry: Some(true), ..Default::default() }),
            ..Default::default()
        });
        FieldDescriptorProto {
            label: Some(Label::Repeated as i32),
            r#type: Some(Type::Message as i32),
            type_name: Some(format!(".t.M{at}.{entry}")),
            ..part(name, number)
        }
    }
}

/// A default, as descriptors write it; enums have theirs by name, which nobody knows here.
fn default_of(ty: Type) -> Option<String> {
    let text = match ty {
        Type::Message | Type::Group | Type::Enum => return None,
        Type::Bool => "true",
        Type::Bytes => r"\xff\000a",
        Type::String => "é",
        Type::Double | Type::Float => "-inf",
        _ => "77",
    };
    Some(text.to_owned())
}

fn oneof(name: String) -> OneofDescriptorProto {
    OneofDescriptorProto { name: Some(name), options: None }
}
