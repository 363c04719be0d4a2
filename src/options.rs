//! Options as messages.
//!
//! Descriptors carry options as bytes of `google.protobuf.FileOptions`, `MessageOptions` and so on. Where a schema holds
//! these messages itself, because a file of it imports `google/protobuf/descriptor.proto`, they are decoded with what
//! the schema knows of them: custom options are then ordinary extension fields, and other messages their values. For
//! schemas without them, `descriptor.binpb` is built in: the serialized `FileDescriptorSet` that
//! `protoc --descriptor_set_out=src/descriptor.binpb google/protobuf/descriptor.proto` writes (protoc 36.2). What that
//! does not know is among the message's unknown fields.

use std::sync::OnceLock;

use protojit_core::error::DecodeError;
use protojit_core::memory::Arena;
use protojit_core::message::Message;
use protojit_core::program::{DecodeOptions, Programs};
use protojit_core::schema::{
    EnumDescriptor, EnumValueDescriptor, FieldDescriptor, FileDescriptor, MessageDescriptor, MethodDescriptor,
    OneofDescriptor, Schema as Descriptors, ServiceDescriptor,
};
use protojit_interp::decode::{self, Input};

use crate::schema::Schema;

/// A descriptor whose options are asked for; made from a reference to any descriptor. See [`Schema::options`].
#[derive(Clone, Copy, Debug)]
pub struct OptionsOf<'a> {
    message: &'static str,
    bytes: &'a [u8],
}

macro_rules! options_of {
    ($($descriptor:ty: $message:literal,)*) => {$(
        impl<'a> From<&'a $descriptor> for OptionsOf<'a> {
            fn from(descriptor: &'a $descriptor) -> Self {
                OptionsOf { message: concat!("google.protobuf.", $message), bytes: descriptor.options_bytes() }
            }
        }
    )*};
}

options_of! {
    FileDescriptor: "FileOptions",
    MessageDescriptor: "MessageOptions",
    FieldDescriptor: "FieldOptions",
    OneofDescriptor: "OneofOptions",
    EnumDescriptor: "EnumOptions",
    EnumValueDescriptor: "EnumValueOptions",
    ServiceDescriptor: "ServiceOptions",
    MethodDescriptor: "MethodOptions",
}

impl Schema {
    /// The options of a file, message, field, extension, oneof, enum, enum value, service or method, as a message:
    /// `google.protobuf.MethodOptions` for a method, and so on. Without options it is empty.
    ///
    /// Custom options that this schema knows are extension fields of the message, and found by number or by name
    /// (`[google.api.http]`). The descriptor may be one of another schema: its options are read as this schema knows
    /// them.
    ///
    /// ```
    /// // syntax = "proto3"; message Old { option deprecated = true; }
    /// let set = b"\x0a\x1e\x0a\x09old.proto\x22\x09\x0a\x03Old\x3a\x02\x18\x01\x62\x06proto3";
    /// let schema = protojit::Runtime::new().register(set)?;
    /// let old = schema.message("Old")?.descriptor();
    /// let options = schema.options(&old)?;
    /// assert_eq!(options.as_ref().get_by_name("deprecated").unwrap().as_bool(), Some(true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The bytes are no such options: linking reads only those that codecs depend on.
    pub fn options<'a>(&self, of: impl Into<OptionsOf<'a>>) -> Result<Message, DecodeError> {
        let OptionsOf { message, bytes } = of.into();
        let inner = self.inner();
        let (programs, id) = match inner.descriptors.message(message) {
            Some(own) => (&inner.programs, own.id()),
            None => {
                let (programs, descriptors) = built_in();
                let found = descriptors.message(message).expect("descriptor.proto has all kinds of options");
                (programs, found.id())
            }
        };
        // Options are read once, if at all: not worth compiling for.
        let program = programs.decode(id, DecodeOptions::default());
        let arena = Arena::with_capacity(bytes.len() * 2 + 512);
        let root = decode::decode(&program, bytes, &arena, self.runtime().limits(), Input::Copy)?;
        // SAFETY: the root lies in this arena, in this shape, and with `Input::Copy` borrows nothing else.
        Ok(unsafe { Message::from_parts(arena, root.as_ptr(), program.shape().clone()) })
    }

    /// The serialized `FileDescriptorSet` that was registered, byte for byte.
    pub fn descriptor_set(&self) -> &[u8] {
        self.inner().descriptors.descriptor_set()
    }
}

/// Google's own descriptors, linked on first use.
fn built_in() -> &'static (Programs, Descriptors) {
    static BUILT_IN: OnceLock<(Programs, Descriptors)> = OnceLock::new();
    BUILT_IN.get_or_init(|| {
        let set = &include_bytes!("descriptor.binpb")[..];
        let descriptors = Descriptors::from_descriptor_set(set).expect("a test links it");
        (Programs::new(descriptors.shared().clone()), descriptors)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_has_all_kinds() {
        let (_, descriptors) = built_in();
        for kind in ["File", "Message", "Field", "Oneof", "Enum", "EnumValue", "Service", "Method"] {
            let message = descriptors.message(&format!("google.protobuf.{kind}Options")).unwrap();
            assert!(message.field("uninterpreted_option").is_some() && message.field("features").is_some(), "{kind}");
        }
    }
}
