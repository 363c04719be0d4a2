//! Protobuf descriptors compiled at run time to native decode and encode functions.
//!
//! A [`Runtime`] holds what is shared: the engine choice, the machine-code arena, limits and the trace. Descriptors are
//! registered with it and become a [`Schema`]; a [`MessageType`] of the schema decodes bytes into an [`Arena`] and
//! encodes messages. The same tables drive two engines, compiled code and an interpreter, which give the same
//! results; the interpreter takes over where no code can be compiled, and [`Runtime::trace`] says where and why.
//!
//! * [`Runtime`], [`RuntimeBuilder`]: engine, memory, limits.
//! * [`Schema`], [`MessageType`]: from descriptors to messages; [`Registry`]: schemas under names that can be replaced.
//! * [`Arena`], [`MessageRef`], [`Message`]: where messages live, and how they are read and changed.
//! * [`message`], [`Field`]: field handles, values, lists, maps, unknown fields.
//! * [`MessageType::project`], [`MessageType::bind`]: some fields only, and records of other versions of a schema.
//! * [`Batch`], [`stream`]: many records.
//! * [`json`], [`text`]: messages as JSON and in the text format, both ways.
//!
//! # Features
//!
//! * `jit` (default): the compiler. Without it everything is interpreted, and Cranelift is not in the dependency tree.
//! * `codec`: `DelimitedCodec`, delimited streams for `tokio_util`.

#![warn(clippy::undocumented_unsafe_blocks)]

#[cfg(feature = "jit")]
mod background;
mod batch;
#[cfg(feature = "jit")]
mod code_cache;
mod code_text;
#[cfg(feature = "codec")]
mod codec;
mod coder;
mod convert;
mod counts;
mod engine;
pub mod json;
mod message_type;
mod options;
mod owned;
mod projection;
mod registry;
mod runtime;
mod schema;
mod shadow;
pub mod stream;
pub mod text;
mod trace;
mod transcode;

pub use batch::{Batch, BatchIter};
pub use code_text::CodeForm;
#[cfg(feature = "codec")]
pub use codec::{DelimitedCodec, SendError};
pub use engine::{CompileMode, Cpu, Engine, Fallback, UnknownCpu};
pub use message_type::MessageType;
pub use options::OptionsOf;
pub use owned::MessageEdit;
pub use protojit_core::error::{DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind, FieldPath};
pub use protojit_core::limits::Limits;
pub use protojit_core::memory::{Arena, ArenaFull};
pub use protojit_core::message::{self, Field, KeyRef, Message, MessageMut, MessageRef, StrRef, Value, ValueRef};
pub use protojit_core::program::{BindError, DecodeOptions, EncodeOptions, Mismatch, ProjectError, Rest, Shape};
pub use protojit_core::schema as descriptors;
pub use protojit_interp::encode::EncodeBuffer;
#[cfg(feature = "jit")]
#[doc(hidden)]
pub use protojit_jit::mcode::{FaultPlan, Step};
pub use registry::Registry;
pub use runtime::{Runtime, RuntimeBuilder};
pub use schema::{RegisterError, Schema};
pub use shadow::Disagreement;
pub use trace::{ArenaTrace, Direction, EngineUsed, ProgramTrace, SchemaTrace, SlowExit, Trace};
pub use transcode::TranscodeError;
