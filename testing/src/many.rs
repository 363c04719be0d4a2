//! Descriptor sets with many messages, and one that comes in many versions.

use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet};

const TYPES: [Type; 11] = [
    Type::Int32,
    Type::Int64,
    Type::Uint32,
    Type::Uint64,
    Type::Sint32,
    Type::Bool,
    Type::String,
    Type::Bytes,
    Type::Double,
    Type::Fixed32,
    Type::String,
];

fn field(name: &str, number: usize, ty: Type, label: Label) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number as i32),
        label: Some(label.into()),
        r#type: Some(ty.into()),
        ..Default::default()
    }
}

fn set(package: &str, message_type: Vec<DescriptorProto>) -> Vec<u8> {
    let file = FileDescriptorProto {
        name: Some(format!("{package}.proto")),
        package: Some(package.to_owned()),
        syntax: Some("proto3".to_owned()),
        message_type,
        ..Default::default()
    };
    FileDescriptorSet { file: vec![file] }.encode_to_vec()
}

/// `many.M0` and so on, of twelve fields each; the twelfth is a message, half as far from the first.
pub fn descriptor_set(messages: usize) -> Vec<u8> {
    let message = |number: usize| {
        let scalar = |(at, ty): (usize, &Type)| {
            let label = if at % 4 == 3 { Label::Repeated } else { Label::Optional };
            field(&format!("field_{}", at + 1), at + 1, *ty, label)
        };
        let mut fields: Vec<_> = TYPES.iter().enumerate().map(scalar).collect();
        let mut child = field("child", 12, Type::Message, Label::Optional);
        child.type_name = Some(format!(".many.M{}", number / 2));
        fields.push(child);
        DescriptorProto { name: Some(format!("M{number}")), field: fields, ..Default::default() }
    };
    set("many", (0..messages).map(message).collect())
}

/// Version `number` of `order.Order`: `id` and `text` as in all of them, and a field that only this version has.
pub fn version(number: usize) -> Vec<u8> {
    let fields = vec![
        field("id", 1, Type::Uint64, Label::Optional),
        field("text", 2, Type::String, Label::Optional),
        field(&format!("only_{number}"), 3 + number % 10_000, Type::Sint64, Label::Repeated),
    ];
    set("order", vec![DescriptorProto { name: Some("Order".to_owned()), field: fields, ..Default::default() }])
}

fn message_field(name: &str, number: usize, of: &str, label: Label) -> FieldDescriptorProto {
    FieldDescriptorProto { type_name: Some(of.to_owned()), ..field(name, number, Type::Message, label) }
}

/// Version `number` of `shop.Order`, which has a `shop.Address` and a `shop.Part`, which refers to itself and to the
/// address. All versions agree in these two. `zip` is the name of a field of `shop.Address`.
pub fn shop(number: usize, zip: &str) -> Vec<u8> {
    let message =
        |name: &str, fields| DescriptorProto { name: Some(name.to_owned()), field: fields, ..Default::default() };
    let (one, many) = (Label::Optional, Label::Repeated);
    let address = vec![field("street", 1, Type::String, one), field(zip, 2, Type::Uint32, one)];
    let part = vec![
        field("count", 1, Type::Int32, one),
        message_field("parts", 2, ".shop.Part", many),
        message_field("from", 3, ".shop.Address", one),
    ];
    let order = vec![
        field("id", 1, Type::Uint64, one),
        message_field("to", 2, ".shop.Address", one),
        message_field("part", 3, ".shop.Part", one),
        field(&format!("only_{number}"), 4 + number, Type::Sint64, many),
    ];
    // The numbers of messages and files are other ones in each version.
    let mut messages: Vec<_> = (0..number % 3).map(|at| message(&format!("Filler{at}"), vec![])).collect();
    messages.extend([message("Order", order), message("Part", part), message("Address", address)]);
    set("shop", messages)
}
