//! Reading, building and changing messages in memory.
//!
//! A [`MessageRef`] is an address and a layout; it reads. A [`MessageMut`] also has the arena and changes. A
//! [`Message`] owns its arena. All three address fields by the [`FieldSlot`](crate::program::FieldSlot)s of the
//! message's [`Layout`](crate::program::Layout): look a slot up once, use it on every message.
//!
//! Reading borrows: a [`ValueRef`] is a number, or points into the message. Nothing is allocated, no count is
//! touched. Fields that are not set read as their default; a message that is not set reads as an empty one.
//! What is set is told by [`MessageRef::has`], and by [`MessageRef::get_set`], which gives `None` otherwise.
//!
//! Nothing here panics on data. Using a slot on a message of another layout is a mistake in the program and panics;
//! a value of the wrong kind is an error.

mod cells;
mod change;
mod checked;
mod copy;
mod debug;
mod equal;
mod field;
mod list;
mod list_mut;
mod map;
mod map_mut;
mod owned;
mod read;
mod required;
mod resolve;
mod strings;
mod types;
mod unknown;
mod value;

pub use change::MessageMut;
pub use checked::SetError;
pub use field::{Field, FieldType, MOST_HOPS};
pub use list::{ByteStrings, ByteStringsIter, ListIter, ListRef, Messages, MessagesIter, Strings, StringsIter};
pub use list_mut::ListMut;
pub use map::{MapIter, MapRef};
pub use map_mut::MapMut;
pub use owned::Message;
pub use read::{MessageRef, SetFields};
pub use resolve::HandleError;
pub use strings::StrRef;
pub use types::{Bytes, Enum, List, Map, Msg, Settable, Str, TypedMap, TypedMapIter};
pub use unknown::{UnknownField, UnknownFields, UnknownIter, UnknownValue, read_unknown};
pub use value::{KeyRef, Value, ValueRef};
