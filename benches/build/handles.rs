//! Reading protojit's messages through typed handles: what a program that knows the fields it wants would write by
//! hand, generated for every message as the code for the peers is.

use std::fmt::Write;

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};

/// A message with its full name.
struct Message<'a> {
    full_name: String,
    proto3: bool,
    definition: &'a DescriptorProto,
}

/// A struct of handles and a function for each message; `Handles`, which has them all; and `reader`, which finds the
/// function of a message's name.
pub fn generate(set: &FileDescriptorSet) -> String {
    let mut messages = Vec::new();
    for file in &set.file {
        for message in &file.message_type {
            collect(&mut messages, file.package(), file.syntax() == "proto3", message);
        }
    }
    let mut out = String::new();
    let (mut members, mut values, mut arms) = (String::new(), String::new(), String::new());
    for message in &messages {
        add(&mut out, message);
        let (name, name_in_code) = (&message.full_name, in_code(&message.full_name));
        let _ = writeln!(members, "    pub {name_in_code}: of::{name_in_code},");
        let _ = writeln!(values, "            {name_in_code}: of::{name_in_code}::new(&shape(\"{name}\")?)?,");
        let _ = writeln!(arms, "        \"{name}\" => read_{name_in_code},");
    }
    format!(
        "/// The handles of a message's fields.\n\
        pub mod of {{\n    use super::*;\n{out}}}\n\
        use of::*;\n\
        /// The handles of all messages.\n\
        pub struct Handles {{\n{members}}}\n\
        impl Handles {{\n    \
            /// Resolves them on the shapes of messages, found by full name.\n    \
            pub fn new<E: From<HandleError>>(shape: impl Fn(&str) -> Result<Shape, E>) -> Result<Handles, E> {{\n        \
                Ok(Handles {{\n{values}        }})\n    \
            }}\n\
        }}\n\
        /// Reads every field of a message, extensions excepted.\n\
        pub type Reader = fn(&Handles, MessageRef<'_>) -> u64;\n\
        /// The reader of the message of this name.\n\
        pub fn reader(full_name: &str) -> Option<Reader> {{\n    \
            Some(match full_name {{\n{arms}        _ => return None,\n    }})\n\
        }}\n"
    )
}

fn collect<'a>(to: &mut Vec<Message<'a>>, scope: &str, proto3: bool, definition: &'a DescriptorProto) {
    let full_name = format!("{scope}.{}", definition.name());
    for nested in definition.nested_type.iter().filter(|nested| !is_map_entry(nested)) {
        collect(to, &full_name, proto3, nested);
    }
    to.push(Message { full_name, proto3, definition });
}

fn is_map_entry(message: &DescriptorProto) -> bool {
    message.options.as_ref().is_some_and(|options| options.map_entry())
}

/// `hello.Person` to `hello_Person`.
fn in_code(full_name: &str) -> String {
    full_name.trim_start_matches('.').replace('.', "_")
}

fn add(out: &mut String, message: &Message<'_>) {
    let name = in_code(&message.full_name);
    let (mut members, mut values, mut reads) = (String::new(), String::new(), String::new());
    for field in &message.definition.field {
        let member = field.name();
        let (handle, read) = field_code(message, field);
        let _ = writeln!(members, "        {member}: Field<{handle}>,");
        let _ = writeln!(values, "                {member}: layout.field(\"{member}\")?,");
        let _ = writeln!(reads, "        sum = sum.wrapping_add({read}.wrapping_mul(weight({})));", field.number());
    }
    let _ = write!(
        out,
        "    pub struct {name} {{\n{members}    }}\n    \
        impl {name} {{\n        \
            pub fn new(layout: &Shape) -> Result<Self, HandleError> {{\n            \
                Ok({name} {{\n{values}            }})\n        \
            }}\n    \
        }}\n    \
        #[inline]\n    \
        pub fn read_{name}(all: &Handles, message: MessageRef<'_>) -> u64 {{\n        \
            let own = &all.{name};\n        let mut sum = MESSAGE;\n{reads}        sum\n    \
        }}\n"
    );
}

/// The type of a field's handle, and the expression for its sum.
fn field_code(message: &Message<'_>, field: &FieldDescriptorProto) -> (String, String) {
    let value = format!("message.get(own.{})", field.name());
    if field.label() == Label::Repeated {
        let entry = message.definition.nested_type.iter().find(|nested| {
            is_map_entry(nested) && field.type_name() == format!(".{}.{}", message.full_name, nested.name())
        });
        if let Some(entry) = entry {
            let (key_field, value_field) = (&entry.field[0], &entry.field[1]);
            let entry = format!("entry({}, {})", one(key_field, "key"), one(value_field, "value"));
            let handle = format!("Map<{}, {}>", handle(key_field), handle(value_field));
            return (handle, format!("{value}.iter().fold(0, |sum: u64, (key, value)| sum.wrapping_add({entry}))"));
        }
        let handle = format!("List<{}>", handle(field));
        return match field.r#type() {
            Type::String | Type::Bytes | Type::Message => {
                let one = one(field, "value");
                (handle, format!("{value}.iter().fold(0, |sum: u64, value| sum.wrapping_add({one}))"))
            }
            _ => (handle, format!("{value}.read()")),
        };
    }
    let explicit = field.oneof_index.is_some() || (!message.proto3 && field.label() == Label::Optional);
    match field.r#type() {
        Type::Message | Type::Group => {
            (handle(field).to_owned(), format!("{value}.map_or(0, |value| {})", one(field, "value")))
        }
        _ if explicit => {
            (format!("Option<{}>", handle(field)), format!("{value}.map_or(0, |value| {})", one(field, "value")))
        }
        _ => (handle(field).to_owned(), one(field, &value)),
    }
}

/// The type of a single value's handle.
fn handle(field: &FieldDescriptorProto) -> &'static str {
    match field.r#type() {
        Type::Int32 | Type::Sint32 | Type::Sfixed32 => "i32",
        Type::Int64 | Type::Sint64 | Type::Sfixed64 => "i64",
        Type::Uint32 | Type::Fixed32 => "u32",
        Type::Uint64 | Type::Fixed64 => "u64",
        Type::Float => "f32",
        Type::Double => "f64",
        Type::Bool => "bool",
        Type::String => "Str",
        Type::Bytes => "Bytes",
        Type::Enum => "Enum",
        Type::Message | Type::Group => "Msg",
    }
}

/// The sum of a single value.
fn one(field: &FieldDescriptorProto, value: &str) -> String {
    match field.r#type() {
        Type::String => format!("bytes({value}.as_bytes())"),
        Type::Bytes => format!("bytes({value})"),
        Type::Message | Type::Group => format!("read_{}(all, {value})", in_code(field.type_name())),
        _ => format!("{value}.read()"),
    }
}
