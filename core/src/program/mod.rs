//! Shapes and programs.
//!
//! A [`Shape`] says which fields of a message a reader wants and at which offsets of message memory they lie
//! (its [`Layout`]). A [`DecodeProgram`] says how the wire bytes of one schema's message fill one shape, an
//! [`EncodeProgram`] how a shape is written. Programs are plain tables. Every rule about the wire is settled when
//! they are built; the engines only execute them.
//!
//! [`Programs`] builds and caches them for one schema, one strongly connected component of messages at a time.

mod bind;
mod build;
mod build_decode;
mod build_encode;
mod decode;
mod encode;
mod layout;
mod names;
mod numbers;
mod ops;
mod paths;
mod shared;
mod unit;
mod view;

pub use bind::{BindError, Mismatch};
pub use build::Programs;
pub use decode::{CompiledFrame, DecodeOp, DecodeOptions, DecodeProgram, MapOp};
pub use encode::{EncodeMapOp, EncodeOp, EncodeOptions, EncodeProgram, SetTest};
pub use layout::{
    COLD_OFFSET, FieldSlot, HOT_BYTES, Layout, LayoutId, PAGES_OFFSET, Shape, SlotPresence, UNKNOWN_OFFSET, storage_of,
};
pub use numbers::NumberTable;
pub use ops::{Access, Cardinality, EnumSet, Hasbit, NO_CASE, Route, ValueKind};
pub use paths::{Hop, Path};
pub use shared::SharedPrograms;
pub use unit::{Child, Linker, Unit, UnitRef, components};
pub(crate) use view::split;
pub use view::{ProjectError, Rest};

/// A decode program, and what keeps it alive.
pub type DecodeRef = UnitRef<DecodeProgram>;

/// An encode program, and what keeps it alive.
pub type EncodeRef = UnitRef<EncodeProgram>;

/// What tests can have a compiler do to a field, to see that it is found out.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sabotage {
    /// Nothing.
    None,
    /// Its value gets lost.
    Lose,
    /// The whole message fails.
    Fail,
}
