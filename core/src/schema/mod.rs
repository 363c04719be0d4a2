//! Descriptors, linked.
//!
//! A schema arrives as the bytes of a `google.protobuf.FileDescriptorSet`: from a
//! compiler, a registry, a reflection service. Those bytes are kept, and what they say is
//! linked once into tables that never change again: names resolved, types checked,
//! editions features settled for every field, extensions filed under what they extend.
//!
//! * [`Schema`] is the way in, and the handles of [`reflect`] are how people look around.
//! * [`model`] is the same as plain tables with indices, for program builders and engines.
//! * [`features`] is where proto2, proto3 and editions become one thing.
//! * [`SchemaLimits`] bounds what a set may hold, and [`SchemaError`] says what is wrong.
//!
//! The set may come from anyone. Whatever its bytes are, linking ends, soon, with a
//! schema or an error. It is about as strict as `protoc` where codecs depend on it, and
//! lenient where they do not: files see each other's types whether they import them or
//! not, JSON names may collide, and checks of style and source are left to compilers.

mod descriptor;
mod error;
pub mod features;
mod limits;
mod link;
pub mod model;
pub mod reflect;

pub use error::{SchemaError, SchemaErrorKind};
pub use limits::SchemaLimits;
pub use model::Edition;
pub use reflect::{
    EnumDescriptor, EnumValueDescriptor, FieldDescriptor, FileDescriptor, Kind, MessageDescriptor, MethodDescriptor,
    OneofDescriptor, Schema, ServiceDescriptor,
};
